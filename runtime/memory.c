#include "memory_inline.h"

#include "status.h"

#include <pthread.h>
#include <stdlib.h>

static const int64_t CACHE_LIMIT = (int64_t)1 << 30; /* bytes a thread may keep waiting */

_Thread_local duet_memory_cache duet_memory_local;

/* Four classes from 5/4 of 2^n to 2^(n+1) steps. */
#define STEPS(n) ((int64_t)(n)*DUET_MEMORY_STEP)
#define FOUR(n) STEPS(5 << (n)), STEPS(6 << (n)), STEPS(7 << (n)), STEPS(8 << (n))
const int64_t duet_memory_class_bytes[DUET_MEMORY_CLASSES + 1] = {
    STEPS(1), STEPS(2), STEPS(3), STEPS(4), STEPS(5), STEPS(6),     STEPS(7), STEPS(8),
    FOUR(1),  FOUR(2),  FOUR(3),  FOUR(4),  FOUR(5),  FOUR(6),      FOUR(7),  FOUR(8),
    FOUR(9),  FOUR(10), FOUR(11), FOUR(12), FOUR(13), FOUR(14),     FOUR(15), FOUR(16),
    FOUR(17), FOUR(18), FOUR(19), FOUR(20), FOUR(21), INT64_MAX / 2};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static duet_memory_cache *all_caches;
static duet_memory_stats ended; /* sums of the threads that have ended */
static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

#define READ(counter) atomic_load_explicit(&(counter), memory_order_relaxed)

static void add_stats(duet_memory_stats *sum, duet_memory_cache *c) {
    sum->system_allocs += READ(c->system_allocs);
    sum->live_bytes += READ(c->held_bytes) - READ(c->cached_bytes);
    sum->cached_bytes += READ(c->cached_bytes);
}

static void trim(duet_memory_cache *c) {
    for (int i = 0; i < DUET_MEMORY_CLASSES; i++) {
        for (duet_memory_block *b = c->free[i], *next; b; b = next) {
            ASAN_UNPOISON_MEMORY_REGION(b, sizeof *b);
            next = b->next;
            free(b);
        }
        c->free[i] = NULL;
    }
    DUET_MEMORY_ADD(c->held_bytes, -READ(c->cached_bytes));
    atomic_store_explicit(&c->cached_bytes, 0, memory_order_relaxed);
}

static void end_thread(void *cache_pointer) {
    duet_memory_cache *c = cache_pointer;
    trim(c);
    pthread_mutex_lock(&list_lock);
    for (duet_memory_cache **at = &all_caches; *at; at = &(*at)->next) {
        if (*at != c) continue;
        *at = c->next;
        break;
    }
    add_stats(&ended, c);
    pthread_mutex_unlock(&list_lock);
    *c = (duet_memory_cache){0};
}

/* A child of fork() has only the thread that called it, so nobody may hold the list meanwhile. */
static void lock_list(void) { pthread_mutex_lock(&list_lock); }
static void unlock_list(void) { pthread_mutex_unlock(&list_lock); }

/* The child's threads may get the stacks of those that are gone, and list their caches at the same
 * addresses again. The lists of the caches are lost: a thread may have been halfway through one. */
static void list_own_cache_only(void) {
    duet_memory_cache *own = &duet_memory_local, *next;
    for (duet_memory_cache *c = all_caches; c; c = next) {
        next = c->next;
        if (c != own) add_stats(&ended, c);
    }
    all_caches = own->limit ? own : NULL;
    own->next = NULL;
    unlock_list();
}

static void make_key(void) {
    pthread_atfork(lock_list, unlock_list, list_own_cache_only);
    pthread_key_create(&at_thread_end, end_thread);
#ifdef DUET_MEMORY_POISONS /* the leak checker cannot follow the lists through poisoned blocks */
    atexit(duet_memory_trim);
#endif
}

/* First use in a thread: lists its cache, and has it emptied when the thread ends. */
static void list_cache(duet_memory_cache *c) {
    pthread_once(&once, make_key);
    pthread_setspecific(at_thread_end, c);
    pthread_mutex_lock(&list_lock);
    c->next = all_caches;
    all_caches = c;
    c->limit = CACHE_LIMIT;
    pthread_mutex_unlock(&list_lock);
}

static size_t rounded_bytes(int class, size_t bytes) {
    if (class < DUET_MEMORY_CLASSES) return (size_t)duet_memory_class_bytes[class];
    return (bytes + DUET_MEMORY_STEP - 1) / DUET_MEMORY_STEP * DUET_MEMORY_STEP;
}

void *duet_memory_take_slowly(int class, size_t bytes) {
    duet_memory_cache *c = &duet_memory_local;
    if (!c->limit) list_cache(c);
    size_t rounded = bytes > SIZE_MAX / 2 ? bytes : rounded_bytes(class, bytes);
    void *fresh = bytes > SIZE_MAX / 2 ? NULL : aligned_alloc(DUET_ALIGNMENT, rounded);
    if (!fresh) {
        duet_fail(DUET_STATUS_MEMORY, "memory: the system has no %zu bytes", bytes);
        return NULL;
    }
    DUET_MEMORY_ADD(c->system_allocs, 1);
    DUET_MEMORY_ADD(c->held_bytes, (int64_t)rounded);
    return fresh;
}

void duet_memory_put_slowly(void *freed, int class, size_t bytes) {
    duet_memory_cache *c = &duet_memory_local;
    if (!c->limit) {
        list_cache(c);
        if (class < DUET_MEMORY_CLASSES) {
            duet_memory_put(freed, class, bytes);
            return;
        }
    }
    DUET_MEMORY_ADD(c->held_bytes, -(int64_t)rounded_bytes(class, bytes));
    free(freed);
}

void *duet_memory_alloc(size_t bytes) { return duet_memory_take(duet_memory_class(bytes), bytes); }

void duet_memory_free(void *freed, size_t bytes) {
    if (freed) duet_memory_put(freed, duet_memory_class(bytes), bytes);
}

duet_memory_stats duet_memory_get_stats(void) {
    pthread_mutex_lock(&list_lock);
    duet_memory_stats sum = ended;
    for (duet_memory_cache *c = all_caches; c; c = c->next) add_stats(&sum, c);
    pthread_mutex_unlock(&list_lock);
    return sum;
}

void duet_memory_trim(void) { trim(&duet_memory_local); }
