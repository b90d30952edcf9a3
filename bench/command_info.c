#define _GNU_SOURCE
#include "command.h"
#include "host.h"
#include "options.h"
#include "version.h"

#include "blas.h"
#include "clock.h"
#include "cpu.h"
#include "memory.h"
#include "op.h"
#include "pool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void print_environment(void) {
    int found = 0;
    for (char **entry = environ; entry && *entry; entry++)
        if (strncmp(*entry, "DUET_", 5) == 0 || strncmp(*entry, "OPENBLAS_", 9) == 0)
            printf("  %-12s %s\n", found++ ? "" : "environment", *entry);
    if (!found) printf("  %-12s no DUET_... or OPENBLAS_... is set\n", "environment");
}

static duet_status run(command_result *result, int argc, char **argv) {
    (void)result;
    TRY(options_parse((option[]){{0}}, NULL, "info", argc, argv));
    host h = host_describe();
    duet_memory_stats memory = duet_memory_get_stats();
    printf("  %-12s %s\n", "version", DUET_VERSION);
    printf("  %-12s %s%s\n", "compiler", h.compiler, h.sanitized ? ", sanitized" : "");
    printf("  %-12s %s, %d that this process may use\n", "processor", h.cpu, h.cpus);
    printf("  %-12s compiled for %d floats; the processor has AVX2 %s, AVX-512 %s\n", "vectors",
           h.vector_floats, duet_cpu_has_avx2() ? "yes" : "no",
           duet_cpu_has_avx512() ? "yes" : "no");
    printf("  %-12s %d, %.2f us to hand work over\n", "threads", h.threads,
           duet_pool_handover_ns() / 1000);
    printf("  %-12s %s\n", "blas", *duet_blas_config() ? duet_blas_config() : h.blas);
    printf("  %-12s %s, %d bits of %d%s\n", "blas kernels", *h.blas_core ? h.blas_core : "unknown",
           h.blas_bits, h.possible_bits, h.restarted ? " (restarted to get them)" : "");
    if (*h.notice) printf("  %-12s %s\n", "notice", h.notice);
    printf("  %-12s %" PRId64 " bytes live, %" PRId64 " cached\n", "memory", memory.live_bytes,
           memory.cached_bytes);
    printf("  %-12s %.0f ns a reading\n", "clock", duet_clock_overhead_ns());
    printf("  %-12s %d\n", "ops", duet_op_count());
    printf("  %-12s %s\n", "system", h.system);
    print_environment();
    return DUET_OK;
}

const command command_info = {
    .name = "info",
    .usage = "",
    .summary = "Version, processor, threads, BLAS, memory and settings",
    .help = "Settings are environment variables: DUET_THREADS is the number of threads,\n"
            "OPENBLAS_CORETYPE the kernels that OpenBLAS runs.\n",
    .run = run,
};
