/* Compiled with -ffp-contract=fast: a * b + c is one multiply-add where the processor has it. */
#include "peak.h"

#include "harness.h"

#include "clock.h"
#include "pool.h"
#include "vector.h"

#include <stddef.h>

enum {
    CHAINS = 12, /* side by side: more than latency times units of any processor at hand */
    STEPS = 20000,
    TRIES = 12,
};

static void multiply_and_add(void *unused, int64_t begin, int64_t end) {
    (void)unused;
    duet_vf32 sum[CHAINS], factor = duet_vf32_all(0.999f), step = duet_vf32_all(0.001f);
    for (int c = 0; c < CHAINS; c++) sum[c] = duet_vf32_all((float)c);
    for (int64_t i = begin * STEPS; i < end * STEPS; i++) {
        DUET_UNROLL
        for (int c = 0; c < CHAINS; c++) sum[c] = sum[c] * factor + step;
    }
    for (int c = 0; c < CHAINS; c++) sink(&sum[c]);
}

static const double WORK = 2.0 * DUET_VL * CHAINS * STEPS; /* operations of an item */

double peak_work(void) {
    multiply_and_add(NULL, 0, 1);
    return WORK;
}

double peak_gflops(int threads) {
    int before = duet_pool_threads();
    if (threads != before) duet_pool_set_threads(threads);
    double best = 0, flops = WORK * threads;
    for (int i = 0; i < TRIES; i++) {
        uint64_t begin = duet_clock_ns();
        duet_parallel_for(threads, 1, multiply_and_add, 0);
        double gflops = flops / (double)(duet_clock_ns() - begin);
        if (gflops > best) best = gflops;
    }
    if (threads != before) duet_pool_set_threads(before);
    return best;
}
