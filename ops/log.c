#include "core/grad.h"
#include "ops_elementwise.h"

#define NAME log
#define ARITY 1
#define EXPR LOG(x)
#define FLOAT_ONLY
#define WHOLE_VECTORS
#define COST 24
#include "kernels/elementwise.inc"

duet_tensor *duet_log(duet_tensor *x) { return duet_apply1(&duet_op_log, x); }

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    return duet_grad_set(in_grads, 0, duet_div(call->out_grads[0], call->in[0]));
}

const duet_op duet_op_log = {
    .name = "log",
    .doc = "natural logarithm of x, NaN below 0",
    .n_in = 1,
    .in_names = {"x"},
    DUET_ELEMENTWISE(log),
    .grad = grad,
    .domain = {0.1, 4},
    .samples = {"f32[3,4]", "f64[67]", "f32[]", "f32[0,3]"},
};
