#include "memory.h"

#include "status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISONS 1
#endif
#endif
#ifdef POISONS /* a cached block must look freed to AddressSanitizer */
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(block, bytes) ((void)(block), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(block, bytes) ((void)(block), (void)(bytes))
#endif

/* Size classes: every 64 bytes up to 512, then four a doubling, so at most a fifth is waste. */
enum {
    STEP = 64,
    LINEAR_CLASSES = 8,                /* 64, 128 .. 512 */
    CLASSES = LINEAR_CLASSES + 4 * 21, /* up to 1 GiB; larger blocks go straight to the system */
};
static const int64_t CACHE_LIMIT = (int64_t)1 << 30; /* bytes a thread may keep waiting */

typedef struct block {
    struct block *next;
} block;

/* Written by its own thread only; the counters are read by duet_memory_get_stats() from any. */
typedef struct cache {
    block *free[CLASSES];
    _Atomic uint64_t system_allocs;
    _Atomic int64_t live_bytes; /* handed out; the one counter that every call changes */
    _Atomic int64_t held_bytes; /* had from the system; what is not handed out is cached */
    struct cache *next;         /* list of all living threads' caches */
    bool listed;
} cache;

static _Thread_local cache local;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static cache *all_caches;
static duet_memory_stats ended; /* sums of the threads that have ended */
static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Adding without a locked instruction: only the owner writes. */
#define BUMP(counter, by)                                                                          \
    atomic_store_explicit(&(counter),                                                              \
                          atomic_load_explicit(&(counter), memory_order_relaxed) + (by),           \
                          memory_order_relaxed)
#define READ(counter) atomic_load_explicit(&(counter), memory_order_relaxed)

static int size_class(size_t bytes, size_t *rounded) {
    if (bytes <= STEP * LINEAR_CLASSES) {
        size_t steps = bytes ? (bytes + STEP - 1) / STEP : 1;
        *rounded = steps * STEP;
        return (int)steps - 1;
    }
    /* bytes - 1 = 1xx... in binary: the top bit picks the doubling, the next two the quarter. */
    int top = 63 - __builtin_clzll(bytes - 1);
    int quarter = (int)((bytes - 1) >> (top - 2)) & 3;
    *rounded = ((size_t)(5 + quarter)) << (top - 2);
    return LINEAR_CLASSES + 4 * (top - 9) + quarter;
}

static void add_stats(duet_memory_stats *sum, cache *c) {
    sum->system_allocs += READ(c->system_allocs);
    sum->live_bytes += READ(c->live_bytes);
    sum->cached_bytes += READ(c->held_bytes) - READ(c->live_bytes);
}

static void trim(cache *c) {
    for (int i = 0; i < CLASSES; i++) {
        for (block *b = c->free[i], *next; b; b = next) {
            ASAN_UNPOISON_MEMORY_REGION(b, sizeof *b);
            next = b->next;
            free(b);
        }
        c->free[i] = NULL;
    }
    atomic_store_explicit(&c->held_bytes, READ(c->live_bytes), memory_order_relaxed);
}

static void end_thread(void *cache_pointer) {
    cache *c = cache_pointer;
    trim(c);
    pthread_mutex_lock(&list_lock);
    for (cache **at = &all_caches; *at; at = &(*at)->next) {
        if (*at != c) continue;
        *at = c->next;
        break;
    }
    add_stats(&ended, c);
    pthread_mutex_unlock(&list_lock);
    *c = (cache){0};
}

/* A child of fork() has only the thread that called it, so nobody may hold the list meanwhile. */
static void lock_list(void) { pthread_mutex_lock(&list_lock); }
static void unlock_list(void) { pthread_mutex_unlock(&list_lock); }

static void make_key(void) {
    pthread_atfork(lock_list, unlock_list, unlock_list);
    pthread_key_create(&at_thread_end, end_thread);
#ifdef POISONS /* the leak checker cannot follow the lists through poisoned blocks */
    atexit(duet_memory_trim);
#endif
}

/* First use in a thread: lists its cache, and has it emptied when the thread ends. */
static void list_cache(void) {
    pthread_once(&once, make_key);
    pthread_setspecific(at_thread_end, &local);
    pthread_mutex_lock(&list_lock);
    local.next = all_caches;
    all_caches = &local;
    local.listed = true;
    pthread_mutex_unlock(&list_lock);
}

static __attribute__((noinline)) void *alloc_from_system(size_t bytes, size_t rounded) {
    if (!local.listed) list_cache();
    void *fresh = bytes > SIZE_MAX / 2 ? NULL : aligned_alloc(DUET_ALIGNMENT, rounded);
    if (!fresh) {
        duet_fail(DUET_STATUS_MEMORY, "memory: the system has no %zu bytes", bytes);
        return NULL;
    }
    BUMP(local.system_allocs, 1);
    BUMP(local.held_bytes, (int64_t)rounded);
    BUMP(local.live_bytes, (int64_t)rounded);
    return fresh;
}

void *duet_memory_alloc(size_t bytes) {
    size_t rounded;
    int class = size_class(bytes, &rounded);
    if (class >= CLASSES) return alloc_from_system(bytes, (bytes + STEP - 1) / STEP * STEP);
    block *found = local.free[class];
    if (__builtin_expect(!found, 0)) return alloc_from_system(bytes, rounded);
    ASAN_UNPOISON_MEMORY_REGION(found, rounded);
    local.free[class] = found->next;
    BUMP(local.live_bytes, (int64_t)rounded);
    return found;
}

void duet_memory_free(void *freed, size_t bytes) {
    if (!freed) return;
    size_t rounded;
    int class = size_class(bytes, &rounded);
    if (__builtin_expect(!local.listed, 0)) list_cache();
    if (__builtin_expect(class >= CLASSES, 0)) rounded = (bytes + STEP - 1) / STEP * STEP;
    BUMP(local.live_bytes, -(int64_t)rounded);
    if (__builtin_expect(
            class >= CLASSES || READ(local.held_bytes) - READ(local.live_bytes) > CACHE_LIMIT, 0)) {
        BUMP(local.held_bytes, -(int64_t)rounded);
        free(freed);
        return;
    }
    block *b = freed;
    b->next = local.free[class];
    local.free[class] = b;
    ASAN_POISON_MEMORY_REGION(freed, rounded);
}

duet_memory_stats duet_memory_get_stats(void) {
    pthread_mutex_lock(&list_lock);
    duet_memory_stats sum = ended;
    for (cache *c = all_caches; c; c = c->next) add_stats(&sum, c);
    pthread_mutex_unlock(&list_lock);
    return sum;
}

void duet_memory_trim(void) { trim(&local); }
