/* Making tensors from host data and reading them back. Results belong to the innermost scope. */
#ifndef DUET_VALUE_H
#define DUET_VALUE_H

#include "scope.h"

/* Scalars (rank 0). Inside a function that is being traced the value is frozen into the graph. */
duet_tensor *duet_f32(float value);
duet_tensor *duet_f64(double value);
duet_tensor *duet_i32(int32_t value);
duet_tensor *duet_bool(bool value);

/* Literals: scalars whose dtype and bits are part of a function's signature. Passed as an argument,
 * each new value is a new trace, and the function may read it while it is traced. */
duet_tensor *duet_literal_f32(float value);
duet_tensor *duet_literal_f64(double value);
duet_tensor *duet_literal_i32(int32_t value);
duet_tensor *duet_literal_bool(bool value);

/* A copy of `data`: row-major elements of `dtype` (bool: one byte each, 0 or 1). NULL with a
 * message for a bad shape or when memory ends. */
duet_tensor *duet_from_data(duet_shape shape, duet_dtype dtype, const void *data);

/* Every element `value`, converted to `dtype` as the op `cast` does. */
duet_tensor *duet_full(duet_shape shape, duet_dtype dtype, double value);
duet_tensor *duet_zeros(duet_shape shape, duet_dtype dtype);

/* The elements, row-major, for reading; valid as long as the tensor (for a variable: until its next
 * write). NULL with DUET_STATUS_STATE for a value that is only being traced, NULL for NULL. */
const void *duet_data(const duet_tensor *tensor);

/* How often duet_data() and duet_item() have refused a traced value in this thread: a tracer that
 * sees it move knows that the body took a path which no value chose. */
uint64_t duet_refused_reads(void);

/* Element `index` as a double; NaN with a message where duet_data() fails or the index is out. */
double duet_item(const duet_tensor *tensor, int64_t index);

#endif
