/* Caching allocator: every block that was freed waits in its thread's list of that size class, so
 * that a program in its steady state never reaches malloc. */
#ifndef DUET_MEMORY_H
#define DUET_MEMORY_H

#include <stddef.h>
#include <stdint.h>

enum { DUET_ALIGNMENT = 64 }; /* bytes; a cache line, and the widest vector */

/* `bytes` of uninitialised memory aligned to DUET_ALIGNMENT; NULL with DUET_STATUS_MEMORY set when
 * the system refuses. Zero bytes give a valid block. */
void *duet_memory_alloc(size_t bytes);

/* Returns a block to the cache; `bytes` as it was asked for. Any thread may free any block. */
void duet_memory_free(void *block, size_t bytes);

typedef struct duet_memory_stats {
    uint64_t system_allocs; /* times the system was asked: what a steady state leaves unchanged */
    int64_t live_bytes;     /* in blocks that are handed out now */
    int64_t cached_bytes;   /* in blocks that wait for their next use */
} duet_memory_stats;

/* Sums over all threads; exact while no other thread allocates. */
duet_memory_stats duet_memory_get_stats(void);

/* Gives the calling thread's cached blocks back to the system. */
void duet_memory_trim(void);

#endif
