/* The passes: graph in, graph out, one small file each. A pass leaves the graph compact and valid.
 */
#ifndef DUET_PASSES_H
#define DUET_PASSES_H

#include "graph.h"

typedef duet_status (*duet_pass_fn)(duet_graph *graph);

typedef struct duet_pass {
    const char *name;    /* as DUET_PASSES and `duet graph --pass` know it */
    const char *doc;     /* one line */
    duet_pass_fn run;    /* NULL: the planner does it, and only asks whether it is on */
    bool value_changing; /* results may differ in bits from the eager executor's */
} duet_pass;

/* In the order in which they run; ends with name == NULL. */
extern const duet_pass duet_passes[];

/* Runs every pass that DUET_PASSES leaves on; verifies after each where DUET_VERIFY says so. */
duet_status duet_run_passes(duet_graph *graph);

/* What a pass did. Constants are counted apart from the nodes that compute. */
typedef struct duet_pass_report {
    const duet_pass *pass;
    bool on;      /* false: DUET_PASSES leaves it off, and it did not run */
    bool changed; /* anything in the graph */
    int32_t nodes_before, nodes_after;
    int32_t constants_before, constants_after;
    double us;
} duet_pass_report;

/* Told after each pass; false ends the pipeline there. */
typedef bool (*duet_pass_watcher)(const duet_pass_report *report, void *user);

/* The same pipeline, watched: slower, for it compares the graph before and after each pass. */
duet_status duet_run_passes_watched(duet_graph *graph, duet_pass_watcher watch, void *user);

duet_status duet_pass_fold(duet_graph *graph);
duet_status duet_pass_cse(duet_graph *graph);
duet_status duet_pass_algebra(duet_graph *graph);
duet_status duet_pass_dce(duet_graph *graph);
duet_status duet_pass_epilogue(duet_graph *graph);
duet_status duet_pass_fuse(duet_graph *graph);
duet_status duet_pass_fuse_reduce(duet_graph *graph);

#endif
