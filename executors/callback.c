#include "callback.h"

#include "scope_inline.h"

#include <stdio.h>

duet_status duet_call_body(duet_callback body, duet_tensor **out, duet_tensor *const *in,
                           void *user, const char *format, const char *name) {
    unsigned long failures = duet_error_count();
    duet_scope_floor before = duet_scope_protect();
    duet_status status = body(out, in, user);
    bool broken = duet_scope_unprotect(before);
    if (status == DUET_OK && !broken) return DUET_OK;
    char who[256];
    snprintf(who, sizeof who, format, name);
    CHECK(status != DUET_OK, DUET_STATUS_STATE, "%s closed scopes that it had not opened", who);
    return duet_error_of_callback(status, failures, "%s failed", who);
}
