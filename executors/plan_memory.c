#include "plan_memory.h"

#include "memory.h"

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

static bool meet(const duet_lifetime *a, const duet_lifetime *b) {
    return a->first <= b->last && b->first <= a->last;
}

/* `placed` holds indices of `all` in ascending order of offset. Finds the smallest gap between
 * buffers that are alive together with `p`, else the end, and keeps the order. */
static void place(placement *all, int32_t *placed, int32_t n_placed, placement *p) {
    int64_t end = 0, best = -1, best_gap = INT64_MAX, size = aligned(p->life.bytes);
    for (int32_t i = 0; i < n_placed; i++) {
        const placement *other = &all[placed[i]];
        if (!meet(&other->life, &p->life)) continue;
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
    *arena_bytes = 0;
    if (all && placed) {
        uint64_t state = shuffle;
        for (int32_t i = 0; i < count; i++) {
            uint64_t rank =
                shuffle ? next_random(&state) : (uint64_t)(INT64_MAX - lifetimes[i].bytes);
            all[i] = (placement){lifetimes[i], 0, rank, i};
        }
        qsort(all, (size_t)count, sizeof *all, by_rank);
        for (int32_t i = 0; i < count; i++) {
            place(all, placed, i, &all[i]);
            int64_t end = all[i].offset + aligned(all[i].life.bytes);
            if (end > *arena_bytes) *arena_bytes = end;
            offsets[all[i].index] = all[i].offset;
        }
    }
    bool ok = all && placed;
    free(all);
    free(placed);
    CHECK(ok, DUET_STATUS_MEMORY, "plan: no memory for %d buffers", count);
    return DUET_OK;
}

static int compare_steps(const void *a, const void *b) {
    return *(const int32_t *)a < *(const int32_t *)b ? -1 : 1;
}

int64_t duet_plan_lower_bound(const duet_lifetime *lifetimes, int32_t count) {
    /* The live set is largest at some buffer's first step. */
    int32_t *steps = malloc(((size_t)count + 1) * sizeof *steps);
    if (!steps) return 0;
    for (int32_t i = 0; i < count; i++) steps[i] = lifetimes[i].first;
    qsort(steps, (size_t)count, sizeof *steps, compare_steps);
    int64_t largest = 0;
    for (int32_t i = 0; i < count; i++) {
        if (i && steps[i] == steps[i - 1]) continue;
        int64_t live = 0;
        for (int32_t j = 0; j < count; j++)
            if (lifetimes[j].first <= steps[i] && steps[i] <= lifetimes[j].last)
                live += aligned(lifetimes[j].bytes);
        if (live > largest) largest = live;
    }
    free(steps);
    return largest;
}
