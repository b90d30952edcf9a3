#include "core/grad.h"
#include "ops_elementwise.h"

#define NAME sigmoid
#define ARITY 1
#define EXPR 1 / (1 + EXP(-x))
#define FLOAT_ONLY
#define WHOLE_VECTORS
#define COST 24
#include "kernels/elementwise.inc"

duet_tensor *duet_sigmoid(duet_tensor *x) { return duet_apply1(&duet_op_sigmoid, x); }

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    /* g y (1 - y) */
    duet_tensor *y = call->out[0], *one = duet_grad_scalar(y, 1);
    duet_tensor *slope = duet_mul(y, duet_sub(one, y));
    return duet_grad_set(in_grads, 0, duet_mul(call->out_grads[0], slope));
}

const duet_op duet_op_sigmoid = {
    .name = "sigmoid",
    .doc = "1 / (1 + exp(-x))",
    .n_in = 1,
    .in_names = {"x"},
    DUET_ELEMENTWISE(sigmoid),
    .grad = grad,
    .samples = {"f32[3,4]", "f64[67]", "f32[]", "f32[0,3]"},
};
