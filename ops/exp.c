#include "core/grad.h"
#include "ops_elementwise.h"

#define NAME exp
#define ARITY 1
#define EXPR EXP(x)
#define FLOAT_ONLY
#define WHOLE_VECTORS
#define COST 16
#include "kernels/elementwise.inc"

duet_tensor *duet_exp(duet_tensor *x) { return duet_apply1(&duet_op_exp, x); }

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    return duet_grad_set(in_grads, 0, duet_mul(call->out_grads[0], call->out[0]));
}

const duet_op duet_op_exp = {
    .name = "exp",
    .doc = "e to the x",
    .n_in = 1,
    .in_names = {"x"},
    DUET_ELEMENTWISE(exp),
    .grad = grad,
    .samples = {"f32[3,4]", "f64[67]", "f32[]", "f32[0,3]"},
};
