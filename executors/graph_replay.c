#include "graph_replay.h"

#include "thread_state.h"

extern const duet_op duet_op_constant;

static duet_status replay_node(const duet_graph_node *node, duet_tensor **values) {
    if (node->op ==
        &duet_op_constant) { /* the tensor it holds; a trace makes it a constant again */
        values[node->out] = duet_scope_own(duet_keep(node->attrs[0].tensor));
        return values[node->out] ? DUET_OK : duet_error_code();
    }
    duet_tensor *in[DUET_MAX_INPUTS], *out[DUET_MAX_OUTPUTS];
    for (int32_t i = 0; i < node->n_in; i++) in[i] = values[node->in[i]];
    duet_status status = duet_dispatch(out, node->op, node->attrs, in, node->n_in);
    if (status != DUET_OK) {
        if (node->file) duet_fail_at(node->file, node->line);
        return status;
    }
    for (int32_t i = 0; i < node->n_out; i++) {
        values[node->out + i] = out[i];
        if (node->file) duet_here(out[i], node->file, node->line);
    }
    return DUET_OK;
}

duet_status duet_graph_replay(const duet_graph *graph, duet_tensor **out, duet_tensor *const *in) {
    size_t bytes = ((size_t)graph->n_values + 1) * sizeof(duet_tensor *);
    duet_tensor **values = duet_memory_alloc(bytes);
    if (!values) return DUET_STATUS_MEMORY;
    for (int32_t i = 0; i < graph->n_inputs; i++) values[graph->inputs[i]] = in[i];
    for (int32_t i = 0; i < graph->n_variables; i++)
        values[graph->variable_values[i]] = graph->variables[i];
    duet_status status = DUET_OK;
    duet_scope_open();
    for (int32_t i = 0; i < graph->n_nodes && status == DUET_OK; i++)
        status = replay_node(&graph->nodes[i], values);
    for (int32_t i = 0; i < graph->n_results; i++)
        out[i] = status == DUET_OK ? values[graph->results[i]] : NULL;
    duet_scope_close_many(out, graph->n_results);
    duet_memory_free(values, bytes);
    return status;
}
