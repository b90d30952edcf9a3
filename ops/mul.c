#include "core/grad.h"
#include "ops_elementwise.h"

#define NAME mul
#define ARITY 2
#define EXPR x *y
#include "kernels/elementwise.inc"

duet_tensor *duet_mul(duet_tensor *x, duet_tensor *y) { return duet_apply2(&duet_op_mul, x, y); }

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    duet_tensor *g = call->out_grads[0];
    if (duet_grad_needs(call, 0))
        TRY(duet_grad_set_broadcast(in_grads, call, 0, duet_mul(g, call->in[1])));
    if (duet_grad_needs(call, 1))
        TRY(duet_grad_set_broadcast(in_grads, call, 1, duet_mul(g, call->in[0])));
    return DUET_OK;
}

const duet_op duet_op_mul = {
    .name = "mul",
    .doc = "x * y",
    .n_in = 2,
    .in_names = {"x", "y"},
    DUET_ELEMENTWISE(mul),
    .grad = grad,
    .neutral = {.left = true, .right = true, .value = 1},
    .samples = {"f32[3,4], f32[3,4]", "f32[3,4], f32[4]", "f64[2,1,5], f64[3,1]", "f32[67], f32[]",
                "f64[], f64[9]", "i32[17], i32[17]", "f32[0,3], f32[3]"},
};
