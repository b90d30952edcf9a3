#include "core/grad.h"
#include "core/infer.h"
#include "kernels/reduce.h"
#include "ops_reduce.h"

extern const duet_op duet_op_sum_to_like;

duet_tensor *duet_sum_to_like_axes(duet_tensor *x, duet_tensor *like, duet_ints axes, bool mean) {
    return duet_apply(&duet_op_sum_to_like, (duet_attr[]){{.ints = axes}, {.b = mean}},
                      (duet_tensor *[]){x, like}, 2);
}

duet_tensor *duet_sum_to_like(duet_tensor *x, duet_tensor *like) {
    return duet_sum_to_like_axes(x, like, DUET_NO_AXES, false);
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    TRY(duet_infer_dtype(call, 0, call->attrs[1].b ? DUET_TYPES_FLOAT : DUET_TYPES_NUMBER));
    TRY(duet_reduce_check_align(call, 1, 0));
    *out = (duet_spec){.shape = call->in[1]->shape, .dtype = call->in[0]->dtype};
    return DUET_OK;
}

static duet_status run(const duet_kernel *kernel) {
    const duet_shape *x = &kernel->in[0].spec->shape, *out = &kernel->out[0].spec->shape;
    duet_shape aligned = duet_reduce_align(out, &kernel->attrs[0].ints, x->rank);
    int64_t added = x->rank - aligned.rank; /* axes in front that like does not have */
    unsigned axes = 0;
    for (int64_t i = 0; i < x->rank; i++)
        if (i < added || aligned.dims[i - added] == 1) axes |= 1u << i;
    duet_reduction reduction = {.code = duet_reduce_sum, .mean = kernel->attrs[1].b};
    return duet_reduce(&reduction, kernel->out, kernel->in, axes);
}

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    if (!duet_grad_needs(call, 0)) return DUET_OK;
    return duet_grad_set(in_grads, 0,
                         duet_broadcast_like_axes(call->out_grads[0], call->in[0],
                                                  call->attrs[0].ints, call->attrs[1].b));
}

const duet_op duet_op_sum_to_like = {
    .name = "sum_to_like",
    .doc = "x summed to like's shape; axes: those of x that like lacks; mean: divided by the count",
    .n_in = 2,
    .n_out = 1,
    .in_names = {"x", "like"},
    .traits = DUET_OP_SHAPE_ONLY | DUET_OP_REDUCTION,
    .attrs = {{.name = "axes", .kind = DUET_ATTR_INTS}, {.name = "mean", .kind = DUET_ATTR_BOOL}},
    .infer = infer,
    .run = run,
    .grad = grad,
    .cost = duet_reduce_cost,
    .samples = {"f32[2,3,4], f32[3,1]", "f64[67], f32[]", "f64[3,4], i32[4]; mean=true",
                "f32[2,3,4,5], f32[2,4]; axes=[1,-1]", "i32[3,4], f32[3,4]",
                "f32[3,2], f32[3]; axes=[1], mean=true", "f32[0,3], f32[3]",
                "f32[2,5,67], f32[67]"},
};
