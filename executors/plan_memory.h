/* Where in one arena each buffer lies: a pure function of sizes and lifetimes that knows no op. */
#ifndef DUET_PLAN_MEMORY_H
#define DUET_PLAN_MEMORY_H

#include "status.h"

#include <stdbool.h>
#include <stdint.h>

/* A buffer that is needed from step `first` to step `last`, both included. One that only a branch
 * of a fork needs names both; the branches of a fork run at the same time. */
typedef struct duet_lifetime {
    int64_t bytes;
    int32_t first, last;
    int32_t fork, branch; /* numbers from 1; 0: needed outside, or by several branches */
} duet_lifetime;

/* Whether some moment may need both. */
static inline bool duet_lifetimes_meet(const duet_lifetime *a, const duet_lifetime *b) {
    if (a->fork && a->fork == b->fork && a->branch != b->branch) return true;
    return a->first <= b->last && b->first <= a->last;
}

/* Sets offsets[i], multiples of DUET_ALIGNMENT, so that buffers alive at the same time never
 * overlap, and *arena_bytes. Greedy by size, largest first, each into the smallest gap that takes
 * it (Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020).
 * Fails where the arena would be larger than DUET_MAX_BYTES, a buffer of more bytes included.
 * `shuffle` other than 0 seeds a random order instead, for tests: valid, but not small. */
duet_status duet_plan_offsets(int64_t *offsets, int64_t *arena_bytes,
                              const duet_lifetime *lifetimes, int32_t count, uint64_t shuffle);

/* Bytes of the largest set of buffers that may be alive at one time: no plan can be smaller. */
int64_t duet_plan_lower_bound(const duet_lifetime *lifetimes, int32_t count);

#endif
