#include "core/grad.h"
#include "ops_elementwise.h"

#define NAME square
#define ARITY 1
#define EXPR x *x
#include "kernels/elementwise.inc"

duet_tensor *duet_square(duet_tensor *x) { return duet_apply1(&duet_op_square, x); }

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    duet_tensor *x = call->in[0]; /* 2 x g */
    return duet_grad_set(in_grads, 0, duet_mul(call->out_grads[0], duet_add(x, x)));
}

const duet_op duet_op_square = {
    .name = "square",
    .doc = "x * x",
    .n_in = 1,
    .in_names = {"x"},
    DUET_ELEMENTWISE(square),
    .grad = grad,
    .samples = {"f32[3,4]", "f64[67]", "i32[5]", "f32[]", "f32[0,3]"},
};
