/* The pipeline: which passes there are, and in which order they run. */
#include "passes.h"

#include "settings.h"

const duet_pass duet_passes[] = {
    {"fold", "computes nodes of constants", duet_pass_fold, false},
    {"cse", "merges nodes that compute the same from the same inputs", duet_pass_cse, false},
    {"algebra", "drops what changes no bit: x*1, neg(neg(x)), a reshape to the same shape",
     duet_pass_algebra, false},
    {"dce", "removes nodes whose results nothing uses", duet_pass_dce, false},
    {"epilogue", "gives products what follows them: bias, activation, update", duet_pass_epilogue,
     false},
    {"fuse", "makes one node of a group of elementwise nodes", duet_pass_fuse, false},
    {"fuse_reduce", "computes what a reduction reduces inside it", duet_pass_fuse_reduce, false},
    {NULL, NULL, NULL, false},
};

duet_status duet_run_passes(duet_graph *graph) {
    for (const duet_pass *pass = duet_passes; pass->name; pass++) {
        if (!duet_setting_pass_on(pass->name)) continue;
        TRY(pass->run(graph));
        if (duet_settings()->verify) TRY(duet_graph_verify(graph));
    }
    return DUET_OK;
}
