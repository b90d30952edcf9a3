/* DUET_DEBUG: what the graph executor does, told to stderr as it does it. Each level tells what the
 * ones below it tell, too:
 *   1  calls of functions: replayed, or traced and why; the host values that a trace froze
 *   2  every pass: nodes and constants before and after, time
 *   3  every plan
 *   4  every step of a running plan, with a summary of its values
 * Off, it costs one load and one branch a call. See docs/debugging.md. */
#ifndef DUET_DEBUG_H
#define DUET_DEBUG_H

#include "function.h"
#include "passes.h"

extern _Atomic int duet_debug_level; /* -1: the environment has not been read yet */
int duet_debug_read_level(void);

static inline bool duet_debug(int level) {
    int known = atomic_load_explicit(&duet_debug_level, memory_order_relaxed);
    return __builtin_expect(known != 0, 0) &&
           (known > 0 ? known : duet_debug_read_level()) >= level;
}

/* Level 1. `how` ends the line: "replayed". */
void duet_debug_call(const duet_function *function, duet_tensor *const *in, const char *how);
/* The call is about to be traced, or, where `only_planned`, a trace of free dimensions serves. */
void duet_debug_new_plan(const duet_function *function, const duet_arg_key *keys,
                         bool only_planned);
void duet_debug_frozen(const duet_graph *trace);

/* Level 2: a duet_pass_watcher. */
bool duet_debug_pass(const duet_pass_report *report, void *graph);

/* Level 4: after a step has run; `step` is its number. */
void duet_debug_step(const duet_graph *graph, int32_t step, const duet_graph_node *node,
                     const duet_kernel *kernel);

/* "f32[3,4] min -1 mean 0.25 max 2, 1 NaN": without the line's end. NaN counts for itself only. */
void duet_print_summary(FILE *file, const duet_view *value);

#endif
