#define _GNU_SOURCE
#include "coretype.h"

#include "blas.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char GUARD[] = "DUET_RESTARTED"; /* a second start would not help where one did not */

bool restarted_with_coretype(void) { return getenv(GUARD) != NULL; }

void restart_with_fitting_coretype(char **argv) {
    if (getenv("OPENBLAS_CORETYPE") || restarted_with_coretype()) return;
    const char *fitting = duet_blas_fitting_coretype();
    if (!fitting) return;
    setenv("OPENBLAS_CORETYPE", fitting, 1);
    setenv(GUARD, "1", 1);
    execv("/proc/self/exe", argv);
    execvp(argv[0], argv); /* no /proc; and where this fails too, the notice tells */
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv(GUARD);
}

const char *coretype_notice(char *chars, int room) {
    const char *fitting = duet_blas_fitting_coretype();
    chars[0] = '\0';
    if (fitting)
        snprintf(chars, (size_t)room,
                 "OpenBLAS runs its %s kernels (%d bits) on a processor that has %d bits: large "
                 "matmuls are slower than they could be; OPENBLAS_CORETYPE=%s would fit",
                 duet_blas_corename(), duet_blas_vector_bits(), duet_blas_possible_bits(), fitting);
    return chars;
}
