/* The pipeline: which passes there are, and in which order they run. */
#include "passes.h"

#include "clock.h"
#include "debug.h"
#include "settings.h"

const duet_pass duet_passes[] = {
    {"fold", "computes nodes of constants", duet_pass_fold, false},
    {"cse", "merges nodes that compute the same from the same inputs", duet_pass_cse, false},
    {"algebra", "drops what changes no bit: x*1, neg(neg(x)), a reshape to the same shape",
     duet_pass_algebra, false},
    {"dce", "removes nodes whose results nothing uses", duet_pass_dce, false},
    {"epilogue", "gives products what follows them: bias, relu or its gradient, update",
     duet_pass_epilogue, false},
    {"fuse", "makes one node of a group of elementwise nodes", duet_pass_fuse, false},
    {"fuse_reduce", "computes what a reduction reduces inside it", duet_pass_fuse_reduce, false},
    {"sweep", "removes the constants that fusion has taken in", duet_pass_dce, false},
    {"fork", "plans independent chains side by side on the pool's threads", NULL, false},
    {"inplace", "plans results over the bytes of inputs that end there", NULL, false},
    {NULL, NULL, NULL, false},
};

static duet_status run_pass(const duet_pass *pass, duet_graph *graph) {
    TRY(pass->run(graph));
    return duet_settings()->verify ? duet_graph_verify(graph) : DUET_OK;
}

duet_status duet_run_passes(duet_graph *graph) {
    if (duet_debug(2)) return duet_run_passes_watched(graph, duet_debug_pass, graph);
    for (const duet_pass *pass = duet_passes; pass->name; pass++)
        if (pass->run && duet_setting_pass_on(pass->name)) TRY(run_pass(pass, graph));
    return DUET_OK;
}

/* ---- watched -----------------------------------------------------------------------------------
 */

static duet_status run_watched(duet_pass_report *report, duet_graph *graph) {
    duet_graph *before = duet_graph_copy(graph);
    if (!before) return DUET_STATUS_MEMORY;
    report->constants_before = duet_graph_count_constants(graph);
    report->nodes_before = graph->n_nodes - report->constants_before;
    uint64_t begin = duet_clock_ns();
    duet_status status = report->on ? run_pass(report->pass, graph) : DUET_OK;
    report->us = report->on ? (double)(duet_clock_ns() - begin) / 1e3 : 0;
    report->constants_after = duet_graph_count_constants(graph);
    report->nodes_after = graph->n_nodes - report->constants_after;
    report->changed = !duet_graph_equal(before, graph);
    duet_graph_free(before);
    return status;
}

duet_status duet_run_passes_watched(duet_graph *graph, duet_pass_watcher watch, void *user) {
    for (const duet_pass *pass = duet_passes; pass->name; pass++) {
        if (!pass->run) continue;
        duet_pass_report report = {.pass = pass, .on = duet_setting_pass_on(pass->name)};
        TRY(run_watched(&report, graph));
        if (!watch(&report, user)) break;
    }
    return DUET_OK;
}
