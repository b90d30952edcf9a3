/* Dead code: removes nodes without effect whose results nothing uses. */
#include "passes.h"

#include <stdlib.h>

duet_status duet_pass_dce(duet_graph *graph) {
    int32_t *uses = duet_graph_count_uses(graph);
    if (!uses) return DUET_STATUS_MEMORY;
    for (int32_t i = graph->n_nodes - 1; i >= 0; i--) { /* backward: a dead user frees its inputs */
        const duet_graph_node *node = &graph->nodes[i];
        bool live = duet_node_has_effect(node);
        for (int32_t j = 0; j < node->n_out; j++) live |= uses[node->out + j] > 0;
        if (live) continue;
        for (int32_t j = 0; j < node->n_in; j++) uses[node->in[j]]--;
        duet_graph_remove(graph, i);
    }
    free(uses);
    return duet_graph_compact(graph);
}
