/* Where in one arena each buffer lies: a pure function of sizes and lifetimes that knows no op. */
#ifndef DUET_PLAN_MEMORY_H
#define DUET_PLAN_MEMORY_H

#include "status.h"

#include <stdbool.h>
#include <stdint.h>

/* A buffer that is needed from step `first` to step `last`, both included. */
typedef struct duet_lifetime {
    int64_t bytes;
    int32_t first, last;
} duet_lifetime;

/* Sets offsets[i], multiples of DUET_ALIGNMENT, so that buffers alive at the same step never
 * overlap, and *arena_bytes. Greedy by size, largest first, each into the smallest gap that takes
 * it (Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020).
 * `shuffle` other than 0 seeds a random order instead, for tests: valid, but not small. */
duet_status duet_plan_offsets(int64_t *offsets, int64_t *arena_bytes,
                              const duet_lifetime *lifetimes, int32_t count, uint64_t shuffle);

/* Bytes of the largest set of buffers alive at one step: no plan can be smaller. */
int64_t duet_plan_lower_bound(const duet_lifetime *lifetimes, int32_t count);

#endif
