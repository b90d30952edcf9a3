#include "core/grad.h"
#include "ops_elementwise.h"

#define NAME tanh
#define ARITY 1
#define EXPR TANH(x)
#define FLOAT_ONLY
#define WHOLE_VECTORS
#define COST 48
#include "kernels/elementwise.inc"

duet_tensor *duet_tanh(duet_tensor *x) { return duet_apply1(&duet_op_tanh, x); }

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    /* g (1 - y y) */
    duet_tensor *y = call->out[0], *one = duet_grad_scalar(y, 1);
    duet_tensor *slope = duet_sub(one, duet_square(y));
    return duet_grad_set(in_grads, 0, duet_mul(call->out_grads[0], slope));
}

const duet_op duet_op_tanh = {
    .name = "tanh",
    .doc = "hyperbolic tangent of x",
    .n_in = 1,
    .in_names = {"x"},
    DUET_ELEMENTWISE(tanh),
    .grad = grad,
    .samples = {"f32[3,4]", "f64[67]", "f32[]", "f32[0,3]"},
};
