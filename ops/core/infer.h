/* Checks that most ops' `infer` needs; each fails with a message that names the op, the argument,
 * what was expected and what came. */
#ifndef DUET_INFER_H
#define DUET_INFER_H

#include "op.h"

/* Which dtypes an input may have: a set of DUET_TYPE bits. */
#define DUET_TYPE(dtype) (1u << (dtype))
enum {
    DUET_TYPES_FLOAT = DUET_TYPE(DUET_F32) | DUET_TYPE(DUET_F64),
    DUET_TYPES_NUMBER = DUET_TYPES_FLOAT | DUET_TYPE(DUET_I32),
    DUET_TYPES_ANY = DUET_TYPES_NUMBER | DUET_TYPE(DUET_BOOL),
};
duet_status duet_infer_dtype(const duet_op_call *call, int input, unsigned types);

/* Inputs `first` .. `last` have one dtype. */
duet_status duet_infer_same_dtype(const duet_op_call *call, int first, int last);

/* out[0] has the shapes of all inputs from `first` on broadcast together. */
duet_status duet_infer_broadcast(duet_spec *out, const duet_op_call *call, int first);

/* Turns an axis of -rank .. rank-1 into 0 .. rank-1. */
duet_status duet_infer_axis(int64_t *axis, const duet_op_call *call, int input, int64_t given);

/* The set of axes named by `axes` (empty: all of them), bit per axis; refuses repeats. */
duet_status duet_infer_axes(unsigned *set, const duet_op_call *call, int input,
                            const duet_ints *axes);

/* The dimension that two of them make where they must be equal: a free one takes the other's value.
 * False where both are known and differ. */
bool duet_infer_meet(int64_t *out, int64_t a, int64_t b);

/* Inputs a and b have equal shapes, free dimensions aside; *out is what both together tell. */
duet_status duet_infer_same_shape(duet_shape *out, const duet_op_call *call, int a, int b);

/* `spec`, which may have free dimensions, is one that a tensor can have: rank, size, no overflow.
 * For ops whose output may be larger than their inputs. */
duet_status duet_infer_fits(const duet_op_call *call, const duet_spec *spec);

#endif
