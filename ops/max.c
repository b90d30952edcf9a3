#include "core/grad.h"
#include "kernels/reduce.h"
#include "ops_elementwise.h"

extern const duet_op duet_op_max;

#define NAME max_code
#define EXPR ((x > y) | (x != x)) ? x : y
#define IDENTITY -__builtin_inff()
#define IDENTITY_I32 INT32_MIN
#include "kernels/reduce.inc"

static const duet_reduction reduction = {
    .text = "((x > y) | (x != x)) ? x : y", .code = max_code, .refuses_none = true};

duet_tensor *duet_max(duet_tensor *x, duet_ints axes, bool keepdims) {
    return duet_apply(&duet_op_max, DUET_REDUCE_ATTRS(axes, keepdims), &x, 1);
}

/* Elements that equal the maximum share its gradient evenly, as in PyTorch's amax. */
static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    duet_tensor *x = call->in[0], *g = call->out_grads[0];
    duet_ints axes = call->attrs[0].ints;
    bool keepdims = call->attrs[1].b;
    duet_ints missing = keepdims ? DUET_NO_AXES : axes;
    duet_tensor *maximum = duet_broadcast_like_axes(call->out[0], x, missing, false);
    duet_tensor *mask = duet_cast(duet_equal(x, maximum), duet_tensor_dtype(x));
    duet_tensor *share = duet_div(g, duet_sum(mask, axes, keepdims));
    duet_tensor *spread = duet_broadcast_like_axes(share, x, missing, false);
    return duet_grad_set(in_grads, 0, duet_mul(mask, spread));
}

const duet_op duet_op_max = {
    .name = "max",
    .doc = "the maximum over axes (none: all), NaN where one is; equal ones share the gradient",
    DUET_REDUCTION(&reduction),
    .grad = grad,
    .samples = {"f32[3,4]", "f32[3,4]; axes=[0]", "f64[3,67]; axes=[-1], keepdims=true",
                "f32[2,3,4,5]; axes=[0,2]", "i32[17]", "f32[0,3]; axes=[1]", "f32[]",
                "f32[2,5,67]; axes=[1]"},
};
