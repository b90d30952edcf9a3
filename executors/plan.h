/* A plan: a graph with a place for every value and a flat list of steps, ready to be replayed.
 * Immutable and shared; each running call takes an arena of its own from the plan's pool. */
#ifndef DUET_PLAN_H
#define DUET_PLAN_H

#include "graph.h"
#include "plan_forks.h"
#include "plan_memory.h"

#include <pthread.h>
#include <stdatomic.h>

typedef enum duet_place_kind {
    DUET_PLACE_NONE,     /* nothing uses it */
    DUET_PLACE_ARENA,    /* at byte `at` of the arena */
    DUET_PLACE_INPUT,    /* the caller's input `at` */
    DUET_PLACE_RESULT,   /* the caller's result `at` */
    DUET_PLACE_VARIABLE, /* variable `at`'s own data */
    DUET_PLACE_CONSTANT, /* the value of constant node `at` */
} duet_place_kind;

typedef struct duet_place {
    duet_place_kind kind;
    int64_t at;
} duet_place;

/* A view of the instance whose data pointer is set anew at every call. */
typedef struct duet_patch {
    int32_t view;
    duet_place_kind kind; /* INPUT, RESULT or VARIABLE */
    int32_t index;
} duet_patch;

typedef struct duet_instance duet_instance;

typedef struct duet_plan {
    duet_graph *graph;  /* owned, compact */
    duet_place *places; /* per value */
    int32_t *buffer_of; /* per value: index into lifetimes, -1 when not in the arena */
    duet_lifetime *lifetimes;
    int64_t *offsets;
    int32_t n_buffers;
    int64_t arena_bytes, lower_bound;
    int32_t *steps; /* node ids that run, in order */
    int32_t n_steps, n_views;
    duet_branch *branches; /* of all forks, as ranges of steps; NULL: no fork */
    int32_t n_branches;
    duet_patch *patches;
    int32_t n_patches;
    struct duet_result_copy {
        int32_t result, value;
    } * copies; /* results that have no place of their own */
    int32_t n_copies;
    bool *written; /* per variable: this graph or a body in it writes it */
    bool uses_variables, writes_variables;

    _Atomic(duet_instance *) ready; /* NULL: look among the idle ones */
    pthread_mutex_t lock;           /* guards `idle` */
    duet_instance *idle;
} duet_plan;

/* Takes the graph over (also when it fails). Every dimension must be known. */
duet_plan *duet_plan_new(duet_graph *graph);
void duet_plan_free(duet_plan *plan);

/* Runs it. in[i], out[i]: row-major data of the graph's inputs and results; they must not overlap,
 * except that different inputs may be the same. Safe from several threads. */
duet_status duet_plan_run(duet_plan *plan, void *const *in, void *const *out);

/* The number of the first step whose node is `node` or a later one; n_steps behind the last. */
int32_t duet_plan_step_at(const duet_plan *plan, int32_t node);

/* The last step that needs buffer `buffer`. */
int32_t duet_plan_last_step(const duet_plan *plan, int32_t buffer);

/* The value whose bytes node `node` writes its result over, -1 where it has a place of its own. */
int32_t duet_plan_in_place_of(const duet_plan *plan, int32_t node);
int32_t duet_plan_count_in_place(const duet_plan *plan); /* steps of which that is so */
int32_t duet_plan_count_forks(const duet_plan *plan);

/* Steps with the places of their results and, in a fork, their branch as a letter; then the
 * buffers: offset, bytes, first and last step that need them, lifetimes as a chart; arena bytes
 * against the lower bound. */
void duet_plan_print(FILE *file, const duet_plan *plan);

#endif
