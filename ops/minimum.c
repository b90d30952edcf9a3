#include "core/grad.h"
#include "ops_elementwise.h"

#define NAME minimum
#define ARITY 2
#define EXPR ((x < y) | (x != x)) ? x : y
#include "kernels/elementwise.inc"

duet_tensor *duet_minimum(duet_tensor *x, duet_tensor *y) {
    return duet_apply2(&duet_op_minimum, x, y);
}

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    duet_tensor *g = call->out_grads[0], *x = call->in[0], *y = call->in[1];
    duet_tensor *takes_x = duet_greater(y, x), *zero = duet_grad_scalar(x, 0);
    if (duet_grad_needs(call, 0))
        TRY(duet_grad_set_broadcast(in_grads, call, 0, duet_where(takes_x, g, zero)));
    if (duet_grad_needs(call, 1))
        TRY(duet_grad_set_broadcast(in_grads, call, 1, duet_where(takes_x, zero, g)));
    return DUET_OK;
}

const duet_op duet_op_minimum = {
    .name = "minimum",
    .doc = "the smaller of x and y, NaN where one is; gradient to the one taken, y of equals",
    .n_in = 2,
    .in_names = {"x", "y"},
    DUET_ELEMENTWISE(minimum),
    .grad = grad,
    .samples = {"f32[3,4], f32[3,4]", "f32[3,4], f32[4]", "f64[2,1,5], f64[3,1]", "f32[67], f32[]",
                "f64[], f64[9]", "i32[17], i32[17]", "f32[0,3], f32[3]"},
};
