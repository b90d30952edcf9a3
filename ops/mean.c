#include "core/grad.h"
#include "kernels/reduce.h"
#include "ops_reduce.h"

extern const duet_op duet_op_mean;

static const duet_reduction reduction = {.text = "x + y", .code = duet_reduce_sum, .mean = true};

duet_tensor *duet_mean(duet_tensor *x, duet_ints axes, bool keepdims) {
    return duet_apply(&duet_op_mean, DUET_REDUCE_ATTRS(axes, keepdims), &x, 1);
}

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    duet_ints missing = call->attrs[1].b ? DUET_NO_AXES : call->attrs[0].ints;
    duet_tensor *g = call->out_grads[0];
    return duet_grad_set(in_grads, 0, duet_broadcast_like_axes(g, call->in[0], missing, true));
}

const duet_op duet_op_mean = {
    .name = "mean",
    .doc = "the mean over axes (none: all): the sum divided by the count; of nothing NaN",
    DUET_REDUCTION(&reduction),
    .grad = grad,
    .samples = {"f32[3,4]", "f32[3,4]; axes=[0]", "f64[3,67]; axes=[-1], keepdims=true",
                "f32[2,3,4,5]; axes=[0,2]", "f64[17]", "f32[0,3]; axes=[1]", "f32[]",
                "f32[2,5,67]; axes=[1]"},
};
