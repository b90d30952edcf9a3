#include "core/grad.h"
#include "ops_elementwise.h"

#define NAME relu_grad
#define ARITY 2
#define EXPR y > 0 ? x : 0
#include "kernels/elementwise.inc"

duet_tensor *duet_relu_grad(duet_tensor *g, duet_tensor *y) {
    return duet_apply2(&duet_op_relu_grad, g, y);
}

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    /* linear in g; constant in y wherever it has a slope */
    if (!duet_grad_needs(call, 0)) return DUET_OK;
    duet_tensor *g = duet_relu_grad(call->out_grads[0], call->in[1]);
    return duet_grad_set_broadcast(in_grads, call, 0, g);
}

const duet_op duet_op_relu_grad = {
    .name = "relu_grad",
    .doc = "g where y > 0, else 0: the gradient of y = relu(x)",
    .n_in = 2,
    .in_names = {"g", "y"},
    DUET_ELEMENTWISE(relu_grad),
    .grad = grad,
    .samples = {"f32[3,4], f32[3,4]", "f32[3,4], f32[4]", "f64[2,1,5], f64[3,1]", "f32[67], f32[]",
                "f64[], f64[9]", "i32[17], i32[17]", "f32[0,3], f32[3]"},
};
