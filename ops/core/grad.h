/* What gradient rules share. */
#ifndef DUET_GRAD_H
#define DUET_GRAD_H

#include "op.h"

/* Whether the gradient of input `i` is wanted. */
static inline bool duet_grad_needs(const duet_grad *call, int i) { return call->needs >> i & 1; }

/* in_grads[i] = g; fails with g's own message where computing it did. */
duet_status duet_grad_set(duet_tensor **in_grads, int i, duet_tensor *g);

/* The same for an input that may have been broadcast: g is summed over what was repeated. */
duet_status duet_grad_set_broadcast(duet_tensor **in_grads, const duet_grad *call, int i,
                                    duet_tensor *g);

/* A scalar of x's dtype. */
duet_tensor *duet_grad_scalar(const duet_tensor *x, double value);

#endif
