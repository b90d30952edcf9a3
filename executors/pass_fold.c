/* Constant folding: a node whose inputs are all constants is run now, by the eager executor, so
 * that the bits are those it would have had. */
#include "passes.h"

#include "eager.h"
#include "thread_state.h"

#include <stdlib.h>

extern const duet_op duet_op_constant;

enum { LARGEST_RESULT = 1 << 16 }; /* bytes; a larger result costs more to keep than to compute */

static const duet_graph_node *constant_of(const duet_graph *graph, int32_t value) {
    const duet_graph_value *v = &graph->values[value];
    if (v->kind != DUET_VALUE_RESULT) return NULL;
    const duet_graph_node *node = &graph->nodes[v->node];
    return node->op == &duet_op_constant ? node : NULL;
}

static bool may_fold(const duet_graph *graph, const duet_graph_node *node) {
    if (node->op == &duet_op_constant || node->n_in == 0 || node->n_out != 1) return false;
    if (duet_node_has_effect(node) || (node->op->traits & DUET_OP_BY_REFERENCE)) return false;
    for (int i = 0; i < duet_op_attr_count(node->op); i++)
        if (node->op->attrs[i].kind == DUET_ATTR_BODY) return false;
    if (duet_spec_bytes(&graph->values[node->out].spec) > LARGEST_RESULT) return false;
    for (int32_t i = 0; i < node->n_in; i++)
        if (!constant_of(graph, node->in[i])) return false;
    return true;
}

static duet_status fold(duet_graph *graph, int32_t id) {
    const duet_graph_node *node = &graph->nodes[id];
    duet_tensor *in[DUET_MAX_INPUTS], *out;
    for (int32_t i = 0; i < node->n_in; i++)
        in[i] = constant_of(graph, node->in[i])->attrs[0].tensor;
    TRY(duet_eager_dispatch(&out, node->op, node->attrs, in, node->n_in));
    return duet_graph_replace(graph, id, &duet_op_constant, &(duet_attr){.tensor = out}, NULL, 0);
}

duet_status duet_pass_fold(duet_graph *graph) {
    uint64_t tapes = duet_thread.tapes;
    duet_thread.tapes = 0;
    duet_scope_open();
    duet_status status = DUET_OK;
    for (int32_t i = 0; i < graph->n_nodes && status == DUET_OK; i++)
        if (may_fold(graph, &graph->nodes[i])) status = fold(graph, i);
    duet_scope_close(NULL);
    duet_thread.tapes = tapes;
    return status;
}
