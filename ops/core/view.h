/* What the ops that rename their input share. */
#ifndef DUET_VIEW_H
#define DUET_VIEW_H

#include "op.h"

/* out[0] has in[0]'s bytes: nothing where the executor lets them share storage, else a copy. */
static inline duet_status duet_run_view(const duet_kernel *kernel) {
    const duet_view *in = &kernel->in[0], *out = &kernel->out[0];
    if (out->data != in->data) memcpy(out->data, in->data, duet_spec_bytes(in->spec));
    return DUET_OK;
}

/* The gradient of an op that returns its first input as it is. */
static inline duet_status duet_grad_identity(duet_tensor **in_grads, const duet_grad *call) {
    in_grads[0] = call->out_grads[0];
    return DUET_OK;
}

#endif
