#include "core/grad.h"
#include "ops_elementwise.h"

#define NAME abs
#define ARITY 1
#define EXPR ABS(x)
#include "kernels/elementwise.inc"

duet_tensor *duet_abs(duet_tensor *x) { return duet_apply1(&duet_op_abs, x); }

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    /* g * sign(x), where sign(x) = (x > 0) - (0 > x) */
    duet_tensor *x = call->in[0], *zero = duet_grad_scalar(x, 0);
    duet_dtype dtype = duet_tensor_dtype(x);
    duet_tensor *positive = duet_cast(duet_greater(x, zero), dtype);
    duet_tensor *negative = duet_cast(duet_greater(zero, x), dtype);
    duet_tensor *sign = duet_sub(positive, negative);
    return duet_grad_set(in_grads, 0, duet_mul(call->out_grads[0], sign));
}

const duet_op duet_op_abs = {
    .name = "abs",
    .doc = "|x|; the gradient at 0 is 0",
    .n_in = 1,
    .in_names = {"x"},
    DUET_ELEMENTWISE_WITH(abs, DUET_OP_IDEMPOTENT),
    .grad = grad,
    .samples = {"f32[3,4]", "f64[67]", "i32[5]", "f32[]", "f32[0,3]"},
};
