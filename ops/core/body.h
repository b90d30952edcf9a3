/* Sub-graphs as ops see them: something of fixed arity that can be inferred, run and
 * differentiated. Ops such as cond and while hold them as attributes; executors implement them. */
#ifndef DUET_BODY_H
#define DUET_BODY_H

#include "op.h"

typedef struct duet_body_class {
    duet_status (*infer)(const duet_body *body, duet_spec *out, const duet_spec *const *in);
    /* Runs it on data. Outputs are allocated as inferred; they do not overlap the inputs. */
    duet_status (*run)(const duet_body *body, const duet_view *in, const duet_view *out);
    /* The body (inputs.., output gradients..) -> input gradients, a new reference; NULL with a
     * message where it has no gradient. */
    duet_body *(*gradient)(const duet_body *body);
    void (*free)(duet_body *body);
} duet_body_class;

struct duet_body {
    const duet_body_class *class;
    _Atomic uint32_t refs;
    int n_in, n_out;
    bool stateful; /* reads or writes variables, draws random numbers, prints */
};

static inline duet_body *duet_body_keep(duet_body *body) {
    if (body) atomic_fetch_add_explicit(&body->refs, 1, memory_order_relaxed);
    return body;
}

static inline void duet_body_release(duet_body *body) {
    if (body && atomic_fetch_sub_explicit(&body->refs, 1, memory_order_acq_rel) == 1)
        body->class->free(body);
}

#endif
