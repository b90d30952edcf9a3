#include "scope_inline.h"

#include <pthread.h>
#include <stdlib.h>

_Thread_local duet_scope_owned duet_scope_local;
static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* In the order of their birth: the block that was used last, and is still in the first cache, is
 * the first that the allocator hands out again. */
static void release_from(int64_t start) {
    int64_t end = duet_scope_local.count;
    duet_scope_local.count = start;
    for (int64_t i = start; i < end; i++) duet_release_inline(duet_scope_local.tensors[i]);
}

static void end_thread(void *unused) {
    (void)unused;
    release_from(0);
    free(duet_scope_local.tensors);
    free(duet_scope_local.starts);
    duet_scope_local = (duet_scope_owned){0};
}

static void make_key(void) { pthread_key_create(&at_thread_end, end_thread); }

static bool grow(void **array, int64_t room, size_t element) {
    void *larger = realloc(*array, (size_t)room * element);
    if (!larger) return duet_fail(DUET_STATUS_MEMORY, "scope: no memory to grow"), false;
    *array = larger;
    if (!duet_scope_local.registered) {
        pthread_once(&once, make_key);
        pthread_setspecific(at_thread_end, &duet_scope_local);
        duet_scope_local.registered = true;
    }
    return true;
}

void duet_scope_open(void) {
    if (duet_scope_local.depth == duet_scope_local.depth_room) {
        int room = duet_scope_local.depth_room ? 2 * duet_scope_local.depth_room : 16;
        if (!grow((void **)&duet_scope_local.starts, room, sizeof *duet_scope_local.starts)) {
            duet_scope_local.unopened++;
            return;
        }
        duet_scope_local.depth_room = room;
    }
    duet_scope_local.starts[duet_scope_local.depth++] = duet_scope_local.count;
}

bool duet_scope_grow(void) {
    int64_t room = duet_scope_local.room ? 2 * duet_scope_local.room : 256;
    if (!grow((void **)&duet_scope_local.tensors, room, sizeof *duet_scope_local.tensors))
        return false;
    duet_scope_local.room = room;
    return true;
}

duet_tensor *duet_scope_own(duet_tensor *tensor) { return duet_scope_own_inline(tensor); }

static void close_innermost(duet_tensor *const *survivors, int count) {
    for (int i = 0; i < count; i++) duet_keep(survivors[i]);
    release_from(duet_scope_local.starts[--duet_scope_local.depth]);
    for (int i = 0; i < count; i++)
        if (survivors[i]) duet_scope_own(survivors[i]);
}

void duet_scope_close_many(duet_tensor *const *survivors, int count) {
    if (duet_scope_depth() <= duet_scope_local.floor.depth)
        duet_scope_local.floor.broken = true;
    else if (duet_scope_local.unopened > 0)
        duet_scope_local.unopened--;
    else
        close_innermost(survivors, count);
}

duet_tensor *duet_scope_close(duet_tensor *survivor) {
    duet_scope_close_many(&survivor, 1);
    return survivor;
}

void duet_scope_reset(void) {
    if (duet_scope_local.floor.active)
        duet_scope_local.floor.broken = true;
    else if (duet_scope_local.depth == 0)
        release_from(0);
}

duet_scope_floor duet_scope_protect(void) {
    duet_scope_floor before = duet_scope_local.floor;
    duet_scope_local.floor = (duet_scope_floor){.depth = duet_scope_depth(), .active = true};
    return before;
}

bool duet_scope_unprotect(duet_scope_floor before) {
    bool broken = duet_scope_local.floor.broken;
    duet_scope_local.floor = before;
    return broken;
}

int duet_scope_depth(void) { return duet_scope_local.depth + duet_scope_local.unopened; }
