#include "clock.h"

#include <stdatomic.h>
#include <time.h>

uint64_t duet_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Mean of a run of readings; the best run is the one that nothing interrupted. */
static double measure_reading(void) {
    enum { RUNS = 64, READINGS = 256 };
    uint64_t best = UINT64_MAX;
    for (int run = 0; run < RUNS; run++) {
        uint64_t start = duet_clock_ns(), end = start;
        for (int i = 0; i < READINGS; i++) end = duet_clock_ns();
        if (end - start < best) best = end - start;
    }
    return (double)best / READINGS;
}

static double measure_step(void) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 64; i++) {
        uint64_t start = duet_clock_ns(), next = start;
        while (next == start) next = duet_clock_ns();
        if (next - start < best) best = next - start;
    }
    return (double)best;
}

double duet_clock_overhead_ns(void) {
    static _Atomic double measured; /* threads that race here measure the same thing */
    double result = atomic_load_explicit(&measured, memory_order_relaxed);
    if (result > 0) return result;
    double reading = measure_reading(), step = measure_step();
    result = reading > step ? reading : step;
    atomic_store_explicit(&measured, result, memory_order_relaxed);
    return result;
}
