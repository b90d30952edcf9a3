/* Algebra that keeps every bit, from what the ops' descriptors say of themselves: neutral operands
 * (x*1, x/1, x-0, x+(-0)), identities (a reshape to the same shape), and ops that undo or repeat
 * themselves (neg(neg(x)), relu(relu(x))). Nothing else: x*0, x-x, x+0 and 1/(1/x) stay. */
#include "passes.h"

#include <stdlib.h>

extern const duet_op duet_op_constant;

static const duet_graph_node *producer(const duet_graph *graph, int32_t value) {
    const duet_graph_value *v = &graph->values[value];
    return v->kind == DUET_VALUE_RESULT ? &graph->nodes[v->node] : NULL;
}

/* Whether every element of the constant `value` is `wanted`, bit for bit (so that -0 is not 0). */
static bool is_all(const duet_graph *graph, int32_t value, double wanted) {
    const duet_graph_node *node = producer(graph, value);
    if (!node || node->op != &duet_op_constant) return false;
    const duet_tensor *t = node->attrs[0].tensor;
    int64_t count = duet_tensor_count(t);
    if (t->spec.dtype == DUET_BOOL || count > 1) return false;
    for (int64_t i = 0; i < count; i++) {
        double element = duet_item(t, i);
        if (memcmp(&element, &wanted, sizeof element) != 0) return false;
    }
    return count == 1;
}

/* Two free dimensions may still turn out different: x[1:] of f32[?] is f32[?] too. */
static bool same_spec(const duet_graph *graph, int32_t a, int32_t b) {
    const duet_spec *x = &graph->values[a].spec, *y = &graph->values[b].spec;
    return duet_spec_equal(x, y) && !duet_shape_is_free(&x->shape);
}

/* The value that the node's result is, or -1. */
static int32_t simpler(const duet_graph *graph, const duet_graph_node *node) {
    const duet_op *op = node->op;
    if (node->n_out != 1 || node->n_in == 0) return -1;
    if (op->neutral.right && node->n_in == 2 && same_spec(graph, node->in[0], node->out) &&
        is_all(graph, node->in[1], op->neutral.value))
        return node->in[0];
    if (op->neutral.left && node->n_in == 2 && same_spec(graph, node->in[1], node->out) &&
        is_all(graph, node->in[0], op->neutral.value))
        return node->in[1];
    if ((op->traits & DUET_OP_IDENTITY) && same_spec(graph, node->in[0], node->out))
        return node->in[0];
    const duet_graph_node *before = producer(graph, node->in[0]);
    if (!before || before->op != op || node->n_in != 1) return -1;
    if (op->traits & DUET_OP_INVOLUTION) return before->in[0];
    if (op->traits & DUET_OP_IDEMPOTENT) return before->out;
    return -1;
}

duet_status duet_pass_algebra(duet_graph *graph) {
    int32_t *map = malloc(((size_t)graph->n_values + 1) * sizeof *map);
    CHECK(map, DUET_STATUS_MEMORY, "pass algebra: no memory");
    for (int32_t i = 0; i < graph->n_values; i++) map[i] = i;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        duet_graph_node *node = &graph->nodes[i];
        for (int32_t j = 0; j < node->n_in; j++) node->in[j] = map[node->in[j]];
        int32_t instead = duet_node_has_effect(node) ? -1 : simpler(graph, node);
        if (instead >= 0) map[node->out] = instead; /* the node itself is dead code now */
    }
    duet_graph_remap(graph, map);
    free(map);
    return DUET_OK;
}
