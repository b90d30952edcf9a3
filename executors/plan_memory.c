#include "plan_memory.h"

#include "memory.h"
#include "shape.h"

#include <stdlib.h>
#include <string.h>

static int64_t aligned(int64_t bytes) {
    return (bytes + DUET_ALIGNMENT - 1) / DUET_ALIGNMENT * DUET_ALIGNMENT;
}

typedef struct placement {
    duet_lifetime life;
    int64_t offset;
    uint64_t rank; /* placed in ascending order of rank, then of index */
    int32_t index;
} placement;

static int by_rank(const void *a, const void *b) {
    const placement *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* `placed` holds indices of `all` in ascending order of offset. Finds the smallest gap between
 * buffers that are alive together with `p`, else the end, and keeps the order. */
static void place(placement *all, int32_t *placed, int32_t n_placed, placement *p) {
    int64_t end = 0, best = -1, best_gap = INT64_MAX, size = aligned(p->life.bytes);
    for (int32_t i = 0; i < n_placed; i++) {
        const placement *other = &all[placed[i]];
        if (!duet_lifetimes_meet(&other->life, &p->life)) continue;
        int64_t gap = other->offset - end;
        if (gap >= size && gap < best_gap) best = end, best_gap = gap;
        int64_t other_end = other->offset + aligned(other->life.bytes);
        if (other_end > end) end = other_end;
    }
    p->offset = best >= 0 ? best : end;
    int32_t at = n_placed;
    while (at > 0 && all[placed[at - 1]].offset > p->offset) placed[at] = placed[at - 1], at--;
    placed[at] = (int32_t)(p - all);
}

/* splitmix64 (Steele, Lea and Flood, 2014): the test mode's order. */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

duet_status duet_plan_offsets(int64_t *offsets, int64_t *arena_bytes,
                              const duet_lifetime *lifetimes, int32_t count, uint64_t shuffle) {
    placement *all = malloc(((size_t)count + 1) * sizeof *all);
    int32_t *placed = malloc(((size_t)count + 1) * sizeof *placed);
    bool fits = true;
    *arena_bytes = 0;
    if (all && placed) {
        uint64_t state = shuffle;
        for (int32_t i = 0; i < count; i++) {
            uint64_t rank =
                shuffle ? next_random(&state) : (uint64_t)(INT64_MAX - lifetimes[i].bytes);
            all[i] = (placement){lifetimes[i], 0, rank, i};
        }
        qsort(all, (size_t)count, sizeof *all, by_rank);
        for (int32_t i = 0; i < count && fits; i++) {
            place(all, placed, i, &all[i]);
            int64_t end = all[i].offset + aligned(all[i].life.bytes);
            fits = end <= DUET_MAX_BYTES; /* each step, so that no sum of the next wraps */
            if (end > *arena_bytes) *arena_bytes = end;
            offsets[all[i].index] = all[i].offset;
        }
    }
    bool ok = all && placed;
    free(all);
    free(placed);
    CHECK(ok, DUET_STATUS_MEMORY, "plan: no memory for %d buffers", count);
    CHECK(fits, DUET_STATUS_OVERFLOW,
          "plan: the values have more bytes than a program can address");
    return DUET_OK;
}

/* Bytes of the buffers of one branch (0: those of none) that are alive at a step. */
static int64_t live_at(const duet_lifetime *lifetimes, int32_t count, int32_t step,
                       int32_t branch) {
    int64_t live = 0;
    for (int32_t i = 0; i < count; i++)
        if (lifetimes[i].branch == branch && lifetimes[i].first <= step &&
            step <= lifetimes[i].last)
            live += aligned(lifetimes[i].bytes);
    return live;
}

/* Every branch's largest live set, at the branch's first buffer; 0 elsewhere. A live set is largest
 * at some buffer's first step. */
static void find_peaks(int64_t *peaks, const duet_lifetime *lifetimes, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        int32_t branch = lifetimes[i].branch, at = 0;
        peaks[i] = 0;
        if (!branch) continue;
        while (lifetimes[at].branch != branch) at++;
        int64_t live = live_at(lifetimes, count, lifetimes[i].first, branch);
        if (live > peaks[at]) peaks[at] = live;
    }
}

int64_t duet_plan_lower_bound(const duet_lifetime *lifetimes, int32_t count) {
    int64_t *peaks = malloc(((size_t)count + 1) * sizeof *peaks), largest = 0;
    if (!peaks) return 0;
    find_peaks(peaks, lifetimes, count);
    for (int32_t i = 0; i < count; i++) {
        int64_t live = live_at(lifetimes, count, lifetimes[i].first, 0);
        for (int32_t j = 0; j < count && lifetimes[i].fork; j++)
            if (lifetimes[j].fork == lifetimes[i].fork) live += peaks[j];
        if (live > largest) largest = live;
    }
    free(peaks);
    return largest;
}
