/* Scopes own intermediates, so that expressions nest without leaks (the idea of TensorFlow.js's
 * `tidy`). Every op result belongs to the innermost open scope of its thread; closing the scope
 * frees what it owns, except the survivors, which pass to the scope around it.
 *
 *     duet_scope_open();
 *     duet_tensor *y = duet_mul(duet_add(a, b), c);    // the sum is freed by ...
 *     y = duet_scope_close(y);                         // ... this; y now belongs to the outer
 * scope
 *
 * Below the first open scope lies the thread's root scope: it frees when the thread ends, or at
 * duet_scope_reset(). duet_keep() takes a reference that outlives every scope.
 *
 * The body of a function, cond or while closes what it opens: what was open before it stays open,
 * and a body that closes more fails. */
#ifndef DUET_SCOPE_H
#define DUET_SCOPE_H

#include "tensor.h"

/* Opens a scope in the calling thread. */
void duet_scope_open(void);

/* Closes the innermost scope; `survivor` (may be NULL, and is returned) passes to the next one.
 * Without an open scope it does nothing. */
duet_tensor *duet_scope_close(duet_tensor *survivor);

/* The same with `count` survivors (NULL entries are fine). */
void duet_scope_close_many(duet_tensor *const *survivors, int count);

/* Frees what the thread's root scope owns, when no scope is open. */
void duet_scope_reset(void);

/* How many scopes are open in this thread; for returning to a known depth after an error. */
int duet_scope_depth(void);

/* Gives the caller's reference of `tensor` to the innermost scope; returns `tensor`, or NULL (the
 * tensor released, DUET_STATUS_MEMORY set) when the scope cannot grow. */
duet_tensor *duet_scope_own(duet_tensor *tensor);

#endif
