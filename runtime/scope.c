#include "scope.h"

#include <pthread.h>
#include <stdlib.h>

/* One array of tensors for a thread; a scope is the index at which it begins. */
typedef struct owned {
    duet_tensor **tensors;
    int64_t count, room;
    int64_t *starts;
    int depth, depth_room;
    int unopened; /* scopes that found no memory: they merge with the one around them */
    bool registered;
} owned;

static _Thread_local owned local;
static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void release_from(int64_t start) {
    while (local.count > start) duet_release(local.tensors[--local.count]);
}

static void end_thread(void *unused) {
    (void)unused;
    release_from(0);
    free(local.tensors);
    free(local.starts);
    local = (owned){0};
}

static void make_key(void) { pthread_key_create(&at_thread_end, end_thread); }

static bool grow(void **array, int64_t room, size_t element) {
    void *larger = realloc(*array, (size_t)room * element);
    if (!larger) return duet_fail(DUET_STATUS_MEMORY, "scope: no memory to grow"), false;
    *array = larger;
    if (!local.registered) {
        pthread_once(&once, make_key);
        pthread_setspecific(at_thread_end, &local);
        local.registered = true;
    }
    return true;
}

void duet_scope_open(void) {
    if (local.depth == local.depth_room) {
        int room = local.depth_room ? 2 * local.depth_room : 16;
        if (!grow((void **)&local.starts, room, sizeof *local.starts)) {
            local.unopened++;
            return;
        }
        local.depth_room = room;
    }
    local.starts[local.depth++] = local.count;
}

duet_tensor *duet_scope_own(duet_tensor *tensor) {
    if (__builtin_expect(local.count == local.room, 0)) {
        int64_t room = local.room ? 2 * local.room : 256;
        if (!grow((void **)&local.tensors, room, sizeof *local.tensors)) {
            duet_release(tensor);
            return NULL;
        }
        local.room = room;
    }
    return local.tensors[local.count++] = tensor;
}

static void close_innermost(duet_tensor *const *survivors, int count) {
    for (int i = 0; i < count; i++) duet_keep(survivors[i]);
    release_from(local.starts[--local.depth]);
    for (int i = 0; i < count; i++)
        if (survivors[i]) duet_scope_own(survivors[i]);
}

void duet_scope_close_many(duet_tensor *const *survivors, int count) {
    if (local.unopened > 0)
        local.unopened--;
    else if (local.depth > 0)
        close_innermost(survivors, count);
}

duet_tensor *duet_scope_close(duet_tensor *survivor) {
    duet_scope_close_many(&survivor, 1);
    return survivor;
}

void duet_scope_reset(void) {
    if (local.depth == 0) release_from(0);
}

int duet_scope_depth(void) { return local.depth; }
