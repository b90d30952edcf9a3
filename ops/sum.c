#include "core/grad.h"
#include "kernels/reduce.h"
#include "ops_reduce.h"

extern const duet_op duet_op_sum;

static const duet_reduction reduction = {.text = "x + y", .code = duet_reduce_sum};

duet_tensor *duet_sum(duet_tensor *x, duet_ints axes, bool keepdims) {
    return duet_apply(&duet_op_sum, DUET_REDUCE_ATTRS(axes, keepdims), &x, 1);
}

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    duet_ints missing = call->attrs[1].b ? DUET_NO_AXES : call->attrs[0].ints;
    duet_tensor *g = call->out_grads[0];
    return duet_grad_set(in_grads, 0, duet_broadcast_like_axes(g, call->in[0], missing, false));
}

const duet_op duet_op_sum = {
    .name = "sum",
    .doc = "the sum over axes (none: all), pairwise; of nothing 0",
    DUET_REDUCTION(&reduction),
    .grad = grad,
    .samples = {"f32[3,4]", "f32[3,4]; axes=[0]", "f64[3,67]; axes=[-1], keepdims=true",
                "f32[2,3,4,5]; axes=[0,2]", "i32[17]", "f32[0,3]; axes=[0]", "f32[]",
                "f32[2,5,67]; axes=[1]"},
};
