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
duet_status duet_infer_axes(unsigned *set, const duet_op_call *call, int input, const duet_ints *axes);

/* A value of `input` must be known now and is free: "reshape: x is f32[?,20]: ...". */
duet_status duet_infer_not_free(const duet_op_call *call, int input);

#endif
