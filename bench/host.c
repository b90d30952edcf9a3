#define _GNU_SOURCE
#include "host.h"

#include "coretype.h"
#include "version.h"

#include "blas.h"
#include "cpu.h"
#include "pool.h"
#include "vector.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#if defined __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED true
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

/* "OpenBLAS 0.3.21 DYNAMIC_ARCH ..." -> "OpenBLAS 0.3.21" */
static void name_and_version(char *to, size_t room, const char *config) {
    const char *first = strchr(config, ' ');
    const char *second = first ? strchr(first + 1, ' ') : NULL;
    int length = (int)(second ? second - config : (long)strlen(config));
    snprintf(to, room, "%.*s", length, *config ? config : "a BLAS that is not OpenBLAS");
}

host host_describe(void) {
    host h = {
        .cpu = duet_cpu_name(),
        .compiler = COMPILER,
        .blas_core = duet_blas_corename(),
        .cpus = duet_cpu_count(),
        .threads = duet_pool_threads(),
        .vector_floats = DUET_VL,
        .blas_bits = duet_blas_vector_bits(),
        .possible_bits = duet_blas_possible_bits(),
        .restarted = restarted_with_coretype(),
        .sanitized = SANITIZED,
    };
    struct utsname about;
    if (uname(&about) == 0)
        snprintf(h.system, sizeof h.system, "%.30s %.60s %.30s", about.sysname, about.release,
                 about.machine);
    name_and_version(h.blas, sizeof h.blas, duet_blas_config());
    coretype_notice(h.notice, sizeof h.notice);
    return h;
}

void host_print(const host *h) {
    printf("duet %s on %s, %d CPU%s, %d thread%s, %d floats a vector\n", DUET_VERSION,
           *h->cpu ? h->cpu : "an unnamed processor", h->cpus, h->cpus == 1 ? "" : "s", h->threads,
           h->threads == 1 ? "" : "s", h->vector_floats);
    printf("%s with %s kernels%s, %s, %s\n", h->blas, *h->blas_core ? h->blas_core : "unknown",
           h->restarted ? " (restarted to get them)" : "", h->compiler, h->system);
    if (*h->notice) printf("note: %s\n", h->notice);
    if (h->sanitized) printf("note: built with a sanitizer; times mean nothing\n");
}
