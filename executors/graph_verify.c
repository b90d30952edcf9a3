/* What must always hold of a graph. Runs after every pass in debug and test builds. */
#include "graph.h"

#define EXPECT(condition, ...)                                                                     \
    CHECK(condition, DUET_STATUS_STATE, "graph %s: node %d (%s): " __VA_ARGS__)

static duet_status verify_node(const duet_graph *graph, int32_t id, const bool *defined) {
    const duet_graph_node *node = &graph->nodes[id];
    const char *op = node->op->name;
    int most = node->op->n_in_max ? node->op->n_in_max : node->op->n_in;
    EXPECT(node->n_in >= node->op->n_in && node->n_in <= most, "has %d inputs", graph->name, id, op,
           node->n_in);
    EXPECT(node->n_out == duet_op_n_out(node->op, node->attrs), "has %d results", graph->name, id,
           op, node->n_out);
    const duet_spec *in[DUET_MAX_INPUTS];
    for (int32_t i = 0; i < node->n_in; i++) {
        int32_t value = node->in[i];
        EXPECT(value >= 0 && value < graph->n_values && defined[value],
               "input %d uses %%%d before it is defined", graph->name, id, op, i, value);
        bool by_reference = duet_node_writes(node, i) || (node->op->traits & DUET_OP_BY_REFERENCE);
        bool variable = graph->values[value].kind == DUET_VALUE_VARIABLE;
        EXPECT(variable == by_reference, "input %d: %%%d is %s", graph->name, id, op, i, value,
               variable ? "a variable, and must be read first" : "no variable");
        for (int32_t j = 0; j < i; j++)
            EXPECT(node->in[j] != value || !duet_node_writes(node, i) || !duet_node_writes(node, j),
                   "inputs %d and %d are one variable, and both written", graph->name, id, op, j,
                   i);
        in[i] = &graph->values[value].spec;
    }
    duet_spec out[DUET_MAX_OUTPUTS];
    TRY(node->op->infer(out, &(duet_op_call){node->op, node->attrs, in, node->n_in}));
    for (int32_t i = 0; i < node->n_out; i++) {
        const duet_graph_value *value = &graph->values[node->out + i];
        EXPECT(value->kind == DUET_VALUE_RESULT && value->node == id && value->index == i,
               "result %d is filed wrong", graph->name, id, op, i);
        EXPECT(duet_spec_equal(&value->spec, &out[i]), "result %d is %s, but infers to %s",
               graph->name, id, op, i, DUET_SPEC_TEXT(&value->spec), DUET_SPEC_TEXT(&out[i]));
    }
    return DUET_OK;
}

static duet_status verify_with(const duet_graph *graph, bool *defined) {
    for (int32_t i = 0; i < graph->n_inputs; i++) defined[graph->inputs[i]] = true;
    for (int32_t i = 0; i < graph->n_variables; i++) defined[graph->variable_values[i]] = true;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        if (!graph->nodes[i].op) continue;
        TRY(verify_node(graph, i, defined));
        for (int32_t j = 0; j < graph->nodes[i].n_out; j++) defined[graph->nodes[i].out + j] = true;
    }
    for (int32_t i = 0; i < graph->n_results; i++) {
        int32_t value = graph->results[i];
        CHECK(value >= 0 && value < graph->n_values && defined[value] &&
                  graph->values[value].kind != DUET_VALUE_VARIABLE,
              DUET_STATUS_STATE, "graph %s: result %d is %%%d, which is no value", graph->name, i,
              value);
    }
    return DUET_OK;
}

duet_status duet_graph_verify(const duet_graph *graph) {
    size_t bytes = (size_t)graph->n_values + 1;
    bool *defined = duet_memory_alloc(bytes);
    if (!defined) return DUET_STATUS_MEMORY;
    memset(defined, 0, bytes);
    duet_status status = verify_with(graph, defined);
    duet_memory_free(defined, bytes);
    return status;
}
