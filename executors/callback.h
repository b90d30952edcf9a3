/* Calling what a user has written. */
#ifndef DUET_CALLBACK_H
#define DUET_CALLBACK_H

#include "duet.h"

/* The body's status, with a message in any case: "`format` failed" where it left none. A body that
 * closes a scope which it has not opened fails; the scopes are as they were. `format` says who it
 * is, with `name` as its %s. */
duet_status duet_call_body(duet_callback body, duet_tensor **out, duet_tensor *const *in,
                           void *user, const char *format, const char *name);

#endif
