#include "core/grad.h"
#include "ops_elementwise.h"

#define NAME where
#define ARITY 3
#define EXPR x != 0 ? y : z
#define X_IS_BOOL
#include "kernels/elementwise.inc"

duet_tensor *duet_where(duet_tensor *x, duet_tensor *y, duet_tensor *z) {
    return duet_apply3(&duet_op_where, x, y, z);
}

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    duet_tensor *g = call->out_grads[0], *zero = duet_grad_scalar(g, 0), *chosen = call->in[0];
    if (duet_grad_needs(call, 1))
        TRY(duet_grad_set_broadcast(in_grads, call, 1, duet_where(chosen, g, zero)));
    if (duet_grad_needs(call, 2))
        TRY(duet_grad_set_broadcast(in_grads, call, 2, duet_where(chosen, zero, g)));
    return DUET_OK;
}

const duet_op duet_op_where = {
    .name = "where",
    .doc = "x ? y : z",
    .n_in = 3,
    .in_names = {"x", "y", "z"},
    DUET_ELEMENTWISE(where),
    .grad = grad,
    .samples = {"bool[3,4], f32[3,4], f32[3,4]", "bool[4], f64[3,1], f64[]",
                "bool[], f32[67], f32[67]", "bool[67], i32[67], i32[]", "bool[67], f32[], f32[]"},
};
