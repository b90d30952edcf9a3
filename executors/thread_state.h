/* What the dispatcher knows of the calling thread. */
#ifndef DUET_THREAD_STATE_H
#define DUET_THREAD_STATE_H

#include "duet.h"

typedef struct duet_trace duet_trace;

typedef struct duet_thread_state {
    duet_trace *trace; /* being recorded; NULL: calls run eagerly */
    uint64_t tapes;    /* bit i: tape slot i is recording */
    duet_tape *slots[64];
    bool run_eagerly; /* functions run op by op */
    bool profiling;   /* eager calls go through the build that times each stage */
} duet_thread_state;

extern _Thread_local duet_thread_state duet_thread;

#endif
