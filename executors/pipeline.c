/* The pipeline: which passes there are, and in which order they run. */
#include "passes.h"

#include "settings.h"

const duet_pass duet_passes[] = {
    {"cse", "merges nodes that compute the same from the same inputs", duet_pass_cse, false},
    {"dce", "removes nodes whose results nothing uses", duet_pass_dce, false},
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
