#include "core/grad.h"

#include "ops_reduce.h"
#include "value.h"

duet_status duet_grad_set(duet_tensor **in_grads, int i, duet_tensor *g) {
    in_grads[i] = g;
    return g ? DUET_OK : duet_error_code();
}

duet_status duet_grad_set_broadcast(duet_tensor **in_grads, const duet_grad *call, int i,
                                    duet_tensor *g) {
    /* Two free dimensions may still turn out to be n and 1, so they count as different. */
    const duet_shape *x = &call->in[i]->spec.shape;
    bool same = g && duet_shape_equal(&g->spec.shape, x) && !duet_shape_is_free(x);
    return duet_grad_set(in_grads, i, same ? g : duet_sum_to_like(g, call->in[i]));
}

duet_tensor *duet_grad_scalar(const duet_tensor *x, double value) {
    return duet_full(DUET_SCALAR, duet_tensor_dtype(x), value);
}
