/* What the ops made of reductions share. */
#include "core/cost.h"
#include "core/infer.h"
#include "kernels/reduce.h"

static duet_status check_not_empty(const duet_op_call *call, unsigned axes, const duet_spec *out) {
    const duet_shape *x = &call->in[0]->shape;
    bool none = false;
    for (int64_t i = 0; i < x->rank; i++) none |= (axes >> i & 1) && x->dims[i] == 0;
    CHECK(!none || duet_shape_count(&out->shape) == 0, DUET_STATUS_SHAPE,
          "%s: expected at least one element in what is reduced, got x %s", call->op->name,
          DUET_SPEC_TEXT(call->in[0]));
    return DUET_OK;
}

duet_status duet_reduce_infer(duet_spec *out, const duet_op_call *call) {
    const duet_reduction *reduction = call->op->reduction;
    const duet_spec *x = call->in[0];
    bool keepdims = call->attrs[1].b;
    unsigned axes;
    TRY(duet_infer_dtype(call, 0, reduction->mean ? DUET_TYPES_FLOAT : DUET_TYPES_NUMBER));
    TRY(duet_infer_axes(&axes, call, 0, &call->attrs[0].ints));
    *out = (duet_spec){.dtype = x->dtype};
    for (int64_t i = 0; i < x->shape.rank; i++)
        if (!(axes >> i & 1))
            out->shape.dims[out->shape.rank++] = x->shape.dims[i];
        else if (keepdims)
            out->shape.dims[out->shape.rank++] = 1;
    return reduction->refuses_none ? check_not_empty(call, axes, out) : DUET_OK;
}

duet_status duet_reduce_run(const duet_kernel *kernel) {
    const duet_ints *ints = &kernel->attrs[0].ints;
    int64_t rank = kernel->in[0].spec->shape.rank;
    unsigned axes = ints->count ? 0 : (1u << rank) - 1;
    for (int64_t i = 0; i < ints->count; i++)
        axes |= 1u << (ints->at[i] < 0 ? ints->at[i] + rank : ints->at[i]);
    return duet_reduce(kernel->op->reduction, kernel->out, kernel->in, axes);
}

duet_cost duet_reduce_cost(const duet_op_call *call, const duet_spec *out) {
    return (duet_cost){.flops = duet_cost_elements(call->in[0]),
                       .bytes = duet_cost_bytes(call->in[0]) + duet_cost_bytes(out)};
}

duet_shape duet_reduce_align(const duet_shape *smaller, const duet_ints *axes, int64_t rank) {
    unsigned missing = 0;
    for (int64_t i = 0; i < axes->count; i++)
        missing |= 1u << (axes->at[i] < 0 ? axes->at[i] + rank : axes->at[i]);
    duet_shape aligned = {.rank = smaller->rank + axes->count};
    for (int64_t i = 0, from = 0; i < aligned.rank; i++)
        aligned.dims[i] = missing >> i & 1 ? 1 : smaller->dims[from++];
    return aligned;
}

duet_status duet_reduce_check_align(const duet_op_call *call, int smaller, int larger) {
    const duet_shape *small = &call->in[smaller]->shape, *large = &call->in[larger]->shape;
    const duet_ints *axes = &call->attrs[0].ints;
    unsigned missing;
    if (axes->count) TRY(duet_infer_axes(&missing, call, larger, axes));
    bool fits = axes->count ? small->rank + axes->count == large->rank : small->rank <= large->rank;
    if (fits) {
        duet_shape aligned = duet_reduce_align(small, axes, large->rank), both;
        bool known = !duet_shape_is_free(small) && !duet_shape_is_free(large);
        fits = duet_shape_broadcast(&both, &aligned, large) &&
               (!known || duet_shape_equal(&both, large));
    }
    CHECK(fits, DUET_STATUS_SHAPE, "%s: %s %s does not broadcast to %s %s", call->op->name,
          duet_op_input_name(call->op, smaller), DUET_SPEC_TEXT(call->in[smaller]),
          duet_op_input_name(call->op, larger), DUET_SPEC_TEXT(call->in[larger]));
    return DUET_OK;
}
