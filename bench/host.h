/* The machine and the build that figures belong to: for the header of a table and for JSON. */
#ifndef DUET_BENCH_HOST_H
#define DUET_BENCH_HOST_H

#include <stdbool.h>

typedef struct host {
    const char *cpu, *compiler, *blas_core;
    char system[128], blas[64], notice[256];
    int cpus, threads, vector_floats, blas_bits, possible_bits;
    bool restarted, sanitized;
} host;

host host_describe(void);

/* Two lines, and the notice where there is one. */
void host_print(const host *h);

#endif
