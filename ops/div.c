#include "core/grad.h"
#include "ops_elementwise.h"

#define NAME div
#define ARITY 2
#define EXPR x / y
#define EXPR_I32 y == 0 ? 0 : x / y
#define COST 4
#include "kernels/elementwise.inc"

duet_tensor *duet_div(duet_tensor *x, duet_tensor *y) { return duet_apply2(&duet_op_div, x, y); }

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    duet_tensor *g = call->out_grads[0], *dx = duet_div(g, call->in[1]);
    if (duet_grad_needs(call, 0)) TRY(duet_grad_set_broadcast(in_grads, call, 0, dx));
    if (duet_grad_needs(call, 1))
        TRY(duet_grad_set_broadcast(in_grads, call, 1, duet_neg(duet_mul(dx, call->out[0]))));
    return DUET_OK;
}

const duet_op duet_op_div = {
    .name = "div",
    .doc = "x / y; i32: towards zero, and x / 0 = 0",
    .n_in = 2,
    .in_names = {"x", "y"},
    DUET_ELEMENTWISE(div),
    .grad = grad,
    .neutral = {.right = true, .value = 1},
    .domain = {0.5, 2},
    .samples = {"f32[3,4], f32[3,4]", "f32[3,4], f32[4]", "f64[2,1,5], f64[3,1]", "f32[67], f32[]",
                "f64[], f64[9]", "i32[17], i32[17]", "f32[0,3], f32[3]"},
};
