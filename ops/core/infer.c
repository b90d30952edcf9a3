#include "core/infer.h"

#include <inttypes.h>
#include <stdio.h>

#define NAME(call, input) duet_op_input_name((call)->op, input)

duet_status duet_infer_dtype(const duet_op_call *call, int input, unsigned types) {
    unsigned dtype = (unsigned)call->in[input]->dtype;
    if (__builtin_expect(types >> dtype & 1, 1)) return DUET_OK;
    char expected[64] = "";
    for (int i = 0, used = 0; i < DUET_DTYPE_COUNT; i++)
        if (types >> i & 1)
            used += snprintf(expected + used, sizeof expected - (size_t)used, "%s%s",
                             used ? " or " : "", duet_dtype_name((duet_dtype)i));
    return duet_fail(DUET_STATUS_DTYPE, "%s: %s: expected %s, got %s", call->op->name,
                     NAME(call, input), expected, DUET_SPEC_TEXT(call->in[input]));
}

duet_status duet_infer_same_dtype(const duet_op_call *call, int first, int last) {
    for (int i = first + 1; i <= last; i++)
        CHECK(call->in[i]->dtype == call->in[first]->dtype, DUET_STATUS_DTYPE,
              "%s: dtypes differ: %s is %s, %s is %s (use cast)", call->op->name, NAME(call, first),
              DUET_SPEC_TEXT(call->in[first]), NAME(call, i), DUET_SPEC_TEXT(call->in[i]));
    return DUET_OK;
}

duet_status duet_infer_broadcast(duet_spec *out, const duet_op_call *call, int first) {
    duet_shape shape = call->in[first]->shape;
    for (int i = first + 1; i < call->n_in; i++) {
        if (duet_shape_equal(&shape, &call->in[i]->shape)) continue;
        CHECK(duet_shape_broadcast(&shape, &shape, &call->in[i]->shape), DUET_STATUS_SHAPE,
              "%s: shapes do not broadcast: %s is %s, %s is %s", call->op->name, NAME(call, first),
              DUET_SPEC_TEXT(call->in[first]), NAME(call, i), DUET_SPEC_TEXT(call->in[i]));
    }
    out->shape = shape;
    return DUET_OK;
}

duet_status duet_infer_axis(int64_t *axis, const duet_op_call *call, int input, int64_t given) {
    int64_t rank = call->in[input]->shape.rank;
    CHECK(given >= -rank && given < rank, DUET_STATUS_ARGUMENT,
          "%s: expected an axis from %" PRId64 " to %" PRId64 " for %s %s, got %" PRId64,
          call->op->name, -rank, rank - 1, NAME(call, input), DUET_SPEC_TEXT(call->in[input]),
          given);
    *axis = given < 0 ? given + rank : given;
    return DUET_OK;
}

duet_status duet_infer_axes(unsigned *set, const duet_op_call *call, int input,
                            const duet_ints *axes) {
    unsigned found = 0;
    for (int64_t i = 0; i < axes->count; i++) {
        int64_t axis = 0;
        TRY(duet_infer_axis(&axis, call, input, axes->at[i]));
        CHECK(!(found >> axis & 1), DUET_STATUS_ARGUMENT, "%s: axis %" PRId64 " is given twice",
              call->op->name, axis);
        found |= 1u << axis;
    }
    *set = axes->count ? found : (1u << call->in[input]->shape.rank) - 1;
    return DUET_OK;
}

bool duet_infer_meet(int64_t *out, int64_t a, int64_t b) {
    *out = a == DUET_FREE_DIM ? b : a;
    return a == b || a == DUET_FREE_DIM || b == DUET_FREE_DIM;
}

duet_status duet_infer_same_shape(duet_shape *out, const duet_op_call *call, int a, int b) {
    const duet_shape *x = &call->in[a]->shape, *y = &call->in[b]->shape;
    duet_shape both = *x;
    bool same = x->rank == y->rank;
    for (int64_t i = 0; same && i < x->rank; i++)
        same = duet_infer_meet(&both.dims[i], x->dims[i], y->dims[i]);
    CHECK(same, DUET_STATUS_SHAPE, "%s: shapes differ: %s is %s, %s is %s", call->op->name,
          NAME(call, a), DUET_SPEC_TEXT(call->in[a]), NAME(call, b), DUET_SPEC_TEXT(call->in[b]));
    *out = both;
    return DUET_OK;
}

duet_status duet_infer_fits(const duet_op_call *call, const duet_spec *spec) {
    duet_spec known = *spec;
    for (int64_t i = 0; i < known.shape.rank && i < DUET_MAX_RANK; i++)
        if (known.shape.dims[i] == DUET_FREE_DIM) known.shape.dims[i] = 1;
    return duet_spec_check(&known, call->op->name);
}
