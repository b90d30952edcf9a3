#include "core/grad.h"
#include "ops_elementwise.h"

#define NAME relu
#define ARITY 1
#define EXPR x < 0 ? 0 : x
#include "kernels/elementwise.inc"

duet_tensor *duet_relu(duet_tensor *x) { return duet_apply1(&duet_op_relu, x); }

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    return duet_grad_set(in_grads, 0, duet_relu_grad(call->out_grads[0], call->out[0]));
}

const duet_op duet_op_relu = {
    .name = "relu",
    .doc = "x < 0 ? 0 : x; keeps NaN and -0; the gradient at 0 is 0",
    .n_in = 1,
    .in_names = {"x"},
    DUET_ELEMENTWISE_WITH(relu, DUET_OP_IDEMPOTENT),
    .grad = grad,
    .samples = {"f32[3,4]", "f64[67]", "i32[5]", "f32[]", "f32[0,3]"},
};
