#include "core/grad.h"
#include "ops_elementwise.h"

#define NAME sqrt
#define ARITY 1
#define EXPR SQRT(x)
#define FLOAT_ONLY
#define COST 8
#include "kernels/elementwise.inc"

duet_tensor *duet_sqrt(duet_tensor *x) { return duet_apply1(&duet_op_sqrt, x); }

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    duet_tensor *y = call->out[0]; /* g / (2 y) */
    return duet_grad_set(in_grads, 0, duet_div(call->out_grads[0], duet_add(y, y)));
}

const duet_op duet_op_sqrt = {
    .name = "sqrt",
    .doc = "square root of x, NaN below 0; its slope at 0 is infinite",
    .n_in = 1,
    .in_names = {"x"},
    DUET_ELEMENTWISE(sqrt),
    .grad = grad,
    .domain = {0.1, 4},
    .samples = {"f32[3,4]", "f64[67]", "f32[]", "f32[0,3]"},
};
