/* The host values that a trace holds as constants: replays go on with these, whatever the host has
 * put in their place since. Noted before the passes, so that each can be named. */
#ifndef DUET_FROZEN_H
#define DUET_FROZEN_H

#include "graph.h"

typedef struct duet_frozen_value {
    duet_tensor *value; /* held */
    const char *file;   /* where the first op that uses it was called; NULL where unknown */
    int32_t line;
} duet_frozen_value;

typedef struct duet_frozen {
    duet_frozen_value *values;
    int32_t count;
} duet_frozen;

/* The graph's constants, in order. */
duet_status duet_frozen_of(duet_frozen *frozen, const duet_graph *graph);
void duet_frozen_release(duet_frozen *frozen);

/* "f32[] 0.99  # small_ops.c:5": at most 8 elements. */
void duet_frozen_print(FILE *file, const duet_frozen_value *value);

#endif
