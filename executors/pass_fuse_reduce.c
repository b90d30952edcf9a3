/* Fusion of a producer into a reduction: elementwise work whose one result goes only into a sum,
 * mean or max over trailing axes is reduced as it is computed. */
#include "passes.h"

#include "graph_body.h"
#include "graph_tile.h"

#include <stdlib.h>

extern const duet_op duet_op_fused, duet_op_fused_reduce;

/* The node that makes `value`, where it has no other use and may be taken in; else NULL. */
static const duet_graph_node *only_for(const duet_graph *graph, int32_t value,
                                       const int32_t *uses) {
    const duet_graph_value *v = &graph->values[value];
    if (v->kind != DUET_VALUE_RESULT || uses[value] != 1) return NULL;
    const duet_graph_node *node = &graph->nodes[v->node];
    bool fusible = node->op == &duet_op_fused || node->op->elementwise;
    return fusible && node->n_out == 1 ? node : NULL;
}

/* What the producer computes, as a graph of its own. */
static duet_graph *graph_of(const duet_graph *graph, const duet_graph_node *producer) {
    if (producer->op == &duet_op_fused)
        return duet_graph_copy(duet_graph_of_body(producer->attrs[0].body));
    duet_graph *own = duet_graph_new("fused");
    if (!own) return NULL;
    int32_t in[DUET_MAX_INPUTS];
    for (int32_t i = 0; i < producer->n_in; i++)
        in[i] = duet_graph_add_input(own, &graph->values[producer->in[i]].spec);
    int32_t node = duet_graph_add_node(own, producer->op, producer->attrs, in, producer->n_in,
                                       &graph->values[producer->out].spec, 1);
    if (node >= 0) duet_graph_add_result(own, own->nodes[node].out);
    if (duet_graph_ok(own) == DUET_OK) return own;
    duet_graph_free(own);
    return NULL;
}

/* The producer's graph with the reduction behind it. */
static duet_graph *with_reduction(const duet_graph *graph, const duet_graph_node *producer,
                                  const duet_graph_node *reduction) {
    duet_graph *body = graph_of(graph, producer);
    if (!body) return NULL;
    int32_t node = duet_graph_add_node(body, reduction->op, reduction->attrs, body->results, 1,
                                       &graph->values[reduction->out].spec, 1);
    if (node >= 0) {
        body->nodes[node].file = reduction->file;
        body->nodes[node].line = reduction->line;
        body->results[0] = body->nodes[node].out;
    }
    if (duet_graph_ok(body) == DUET_OK) return body;
    duet_graph_free(body);
    return NULL;
}

static duet_status fuse(duet_graph *graph, int32_t id, const int32_t *uses) {
    const duet_graph_node *reduction = &graph->nodes[id];
    if (!reduction->op || !reduction->op->reduction) return DUET_OK;
    const duet_graph_node *producer = only_for(graph, reduction->in[0], uses);
    if (!producer) return DUET_OK;
    duet_graph *inside = with_reduction(graph, producer, reduction);
    if (!inside) return duet_error_code();
    if (!duet_graph_is_tileable(inside)) {
        duet_graph_free(inside);
        return DUET_OK;
    }
    duet_body *body = duet_graph_body_new(inside);
    if (!body) return duet_error_code();
    duet_status status = duet_graph_replace(
        graph, id, &duet_op_fused_reduce, &(duet_attr){.body = body}, producer->in, producer->n_in);
    duet_body_release(body);
    TRY(status);
    duet_graph_remove(graph, (int32_t)(producer - graph->nodes));
    return DUET_OK;
}

duet_status duet_pass_fuse_reduce(duet_graph *graph) {
    int32_t *uses = duet_graph_count_uses(graph);
    if (!uses) return DUET_STATUS_MEMORY;
    duet_status status = DUET_OK;
    for (int32_t i = 0; i < graph->n_nodes && status == DUET_OK; i++) status = fuse(graph, i, uses);
    free(uses);
    return status == DUET_OK ? duet_graph_compact(graph) : status;
}
