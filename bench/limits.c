/* What duet is built to reach. Each is a ratio of two things measured in one run, so it holds on
 * any machine that is quiet; where the reasons for a number are told: docs/performance.md. */
#include "report.h"

#include <math.h>

typedef struct limit {
    const char *figure; /* as derived */
    double bound;
    bool at_least; /* else at most */
    const char *what;
} limit;

static const limit limits[] = {
    {"small_ops.eager.ratio_to_hand", 30, false, "small_ops, eager, to hand"},
    {"small_ops.graph.ratio_to_hand", 5, false, "small_ops, graph, to hand"},
    {"big_matmul.eager.ratio_to_hand", 1, false, "big_matmul, eager, to OpenBLAS's own threads"},
    {"big_matmul.graph.ratio_to_hand", 1, false, "big_matmul, graph, to OpenBLAS's own threads"},
    {"train_step.eager.ratio_to_hand", 2.2, false, "train_step, eager, to hand"},
    {"train_step.graph.ratio_to_hand", 1.3, false, "train_step, graph, to hand"},
    {"tracing_cost.graph.first_in_calls", 20, false, "tracing train_step, in graph calls"},
    {"small_ops.graph.system_allocs", 0, false, "small_ops, allocations of a graph call"},
    {"train_step.graph.system_allocs", 0, false, "train_step, allocations of a graph call"},
    {"train_step.graph.arena_to_live", 1.05, false, "train_step, arena to largest live set"},
    {"contraction.64x64x20.share_of_peak", 0.85, true, "[64,64,20], share of a core's peak"},
    {"contraction.20x64x64.share_of_peak", 0.85, true, "[20,64,64], share of a core's peak"},
    {"contraction.128x128x128.share_of_peak", 0.85, true, "[128,128,128], share of a core's peak"},
};

void report_limits(const report *r) {
    printf("\nLimits: what was measured, beside what duet is built to reach\n");
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const limit *l = &limits[i];
        double value = report_figure(r, l->figure);
        if (isnan(value)) continue; /* its lesson was not run */
        bool met = l->at_least ? value >= l->bound : value <= l->bound;
        printf("  %-46s %8.3f  %s %5.2f  %s\n", l->what, value, l->at_least ? ">=" : "<=", l->bound,
               met ? "reached" : "missed");
    }
}
