#include "kernels/scratch.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct buffers {
    void *at[DUET_SCRATCH_SLOTS];
    size_t bytes[DUET_SCRATCH_SLOTS];
} buffers;

static pthread_key_t buffers_key; /* only for its destructor; reads go through the thread-local */
static pthread_once_t buffers_once = PTHREAD_ONCE_INIT;
static _Thread_local buffers mine;

static void free_buffers(void *argument) {
    buffers *b = argument;
    for (int i = 0; i < DUET_SCRATCH_SLOTS; i++) {
        free(b->at[i]);
        b->at[i] = NULL;
        b->bytes[i] = 0;
    }
}

static bool have_key;

static void make_key(void) { have_key = pthread_key_create(&buffers_key, free_buffers) == 0; }

/* For the thread that unloads the library or ends the process: it never meets the key. */
__attribute__((destructor)) static void unload(void) {
    if (have_key) pthread_key_delete(buffers_key);
    free_buffers(&mine);
}

void *duet_scratch(duet_scratch_slot slot, size_t bytes) {
    if (mine.bytes[slot] >= bytes) return mine.at[slot];
    pthread_once(&buffers_once, make_key);
    if (have_key) pthread_setspecific(buffers_key, &mine);
    free(mine.at[slot]);
    mine.bytes[slot] = 0;
    bytes = (bytes + 4095) & ~(size_t)4095;
    mine.at[slot] = aligned_alloc(64, bytes);
    if (mine.at[slot]) mine.bytes[slot] = bytes;
    return mine.at[slot];
}
