/* Forks: parts of a plan that do not depend on each other and are run side by side. */
#ifndef DUET_PLAN_FORKS_H
#define DUET_PLAN_FORKS_H

#include "graph.h"

/* Nodes (in a finished plan, steps) begin .. end-1, which one thread runs in this order. The
 * branches of a fork follow each other, in the plan's array and in the order of nodes. */
typedef struct duet_branch {
    int32_t begin, end;
    int32_t fork_begin, fork_end; /* all branches of the fork together */
} duet_branch;

/* Finds the forks that are worth their hand-over on this process's pool, and reorders the compact
 * graph so that every branch is a range of nodes: another order of the same program, in which
 * nothing passes a node with an effect. *branches: to be freed by the caller, NULL where there is
 * no fork. With one thread there is none. */
duet_status duet_plan_find_forks(duet_branch **branches, int32_t *n_branches, duet_graph *graph);

#endif
