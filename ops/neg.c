#include "core/grad.h"
#include "ops_elementwise.h"

#define NAME neg
#define ARITY 1
#define EXPR -x
#include "kernels/elementwise.inc"

duet_tensor *duet_neg(duet_tensor *x) { return duet_apply1(&duet_op_neg, x); }

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    return duet_grad_set(in_grads, 0, duet_neg(call->out_grads[0]));
}

const duet_op duet_op_neg = {
    .name = "neg",
    .doc = "-x",
    .n_in = 1,
    .in_names = {"x"},
    DUET_ELEMENTWISE_WITH(neg, DUET_OP_INVOLUTION),
    .grad = grad,
    .samples = {"f32[3,4]", "f64[67]", "i32[5]", "f32[]", "f32[0,3]"},
};
