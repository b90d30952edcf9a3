/* The allocator's part that an eager call goes through, for those who inline it. */
#ifndef DUET_MEMORY_INLINE_H
#define DUET_MEMORY_INLINE_H

#include "memory.h"

#include <stdatomic.h>
#include <stdbool.h>

#if defined(__SANITIZE_ADDRESS__)
#define DUET_MEMORY_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DUET_MEMORY_POISONS 1
#endif
#endif
#ifdef DUET_MEMORY_POISONS /* a cached block must look freed to AddressSanitizer */
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(block, bytes) ((void)(block), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(block, bytes) ((void)(block), (void)(bytes))
#endif

/* Size classes: every 64 bytes up to 512, then four a doubling, so at most a fifth is waste. */
enum {
    DUET_MEMORY_STEP = 64,
    DUET_MEMORY_LINEAR = 8, /* 64, 128 .. 512 */
    DUET_MEMORY_CLASSES = DUET_MEMORY_LINEAR + 4 * 21,
    DUET_MEMORY_NO_CLASS = DUET_MEMORY_CLASSES, /* above 1 GiB: straight from the system */
};

typedef struct duet_memory_block {
    struct duet_memory_block *next;
} duet_memory_block;

/* Written by its own thread only; the counters are read by duet_memory_get_stats() from any. */
typedef struct duet_memory_cache {
    duet_memory_block *free[DUET_MEMORY_CLASSES + 1]; /* the last one stays empty */
    _Atomic int64_t cached_bytes; /* in `free`: the one counter that every call changes */
    int64_t limit;                /* of cached_bytes; 0 until the cache is listed */
    _Atomic int64_t held_bytes;   /* had from the system; what is not cached is handed out */
    _Atomic uint64_t system_allocs;
    size_t last_bytes; /* the latest size asked for, and its class: very often the next one too */
    int last_class;
    struct duet_memory_cache *next; /* list of all living threads' caches */
} duet_memory_cache;

extern _Thread_local duet_memory_cache duet_memory_local;

/* Adding without a locked instruction: only the owner writes. */
#define DUET_MEMORY_ADD(counter, by)                                                               \
    atomic_store_explicit(&(counter),                                                              \
                          atomic_load_explicit(&(counter), memory_order_relaxed) + (by),           \
                          memory_order_relaxed)

static inline int duet_memory_class(size_t bytes) {
    if (bytes <= DUET_MEMORY_STEP * DUET_MEMORY_LINEAR)
        return bytes ? (int)((bytes - 1) / DUET_MEMORY_STEP) : 0;
    /* bytes - 1 = 1xx... in binary: the top bit picks the doubling, the next two the quarter. */
    int top = 63 - __builtin_clzll(bytes - 1);
    int class = DUET_MEMORY_LINEAR - 4 * 10 + 4 * top + (int)((bytes - 1) >> (top - 2));
    return class < DUET_MEMORY_CLASSES ? class : DUET_MEMORY_NO_CLASS;
}

/* The same, remembered. Equal sizes in a row save more than the arithmetic: what a branch predicts
 * the processor need not wait for, so it finds the block before it knows the size. */
static inline int duet_memory_class_again(size_t bytes) {
    duet_memory_cache *c = &duet_memory_local;
    if (__builtin_expect(bytes != c->last_bytes, 0)) {
        c->last_bytes = bytes;
        c->last_class = duet_memory_class(bytes);
    }
    return c->last_class;
}

/* Bytes of a block of each class; for none, more than any cache may hold. */
extern const int64_t duet_memory_class_bytes[DUET_MEMORY_CLASSES + 1];

/* What the two below leave: an empty list, a full cache, a block without a class. `bytes` counts
 * for the last one only. */
__attribute__((cold)) void *duet_memory_take_slowly(int class, size_t bytes);
__attribute__((cold)) void duet_memory_put_slowly(void *block, int class, size_t bytes);

static inline void *duet_memory_take(int class, size_t bytes) {
    duet_memory_cache *c = &duet_memory_local;
    duet_memory_block *found = c->free[class];
    if (__builtin_expect(!found, 0)) return duet_memory_take_slowly(class, bytes);
    ASAN_UNPOISON_MEMORY_REGION(found, (size_t)duet_memory_class_bytes[class]);
    c->free[class] = found->next;
    DUET_MEMORY_ADD(c->cached_bytes, -duet_memory_class_bytes[class]);
    return found;
}

static inline void duet_memory_put(void *freed, int class, size_t bytes) {
    duet_memory_cache *c = &duet_memory_local;
    int64_t cached = atomic_load_explicit(&c->cached_bytes, memory_order_relaxed) +
                     duet_memory_class_bytes[class];
    if (__builtin_expect(cached > c->limit, 0)) { /* so it is without a class */
        duet_memory_put_slowly(freed, class, bytes);
        return;
    }
    atomic_store_explicit(&c->cached_bytes, cached, memory_order_relaxed);
    duet_memory_block *block = freed;
    block->next = c->free[class];
    c->free[class] = block;
    ASAN_POISON_MEMORY_REGION(freed, (size_t)duet_memory_class_bytes[class]);
}

#endif
