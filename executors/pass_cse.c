/* Common subexpressions: a node that computes what an earlier one has computed takes its results.
 * Never random or stateful ops; two reads of a variable are one only while nothing writes between.
 */
#include "passes.h"

#include "core/attrs.h"

#include <stdlib.h>

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_node(const duet_graph_node *node) {
    uint64_t hash = (uint64_t)(uintptr_t)node->op;
    for (int32_t i = 0; i < node->n_in; i++) hash = mix(hash, (uint64_t)node->in[i]);
    for (int i = 0; i < duet_op_attr_count(node->op); i++) {
        const duet_attr *a = &node->attrs[i];
        switch (node->op->attrs[i].kind) {
        case DUET_ATTR_INTS:
            for (int64_t j = 0; j < a->ints.count; j++) hash = mix(hash, (uint64_t)a->ints.at[j]);
            break;
        case DUET_ATTR_TENSOR: {
            uint64_t first = 0;
            size_t bytes = duet_spec_bytes(&a->tensor->spec);
            memcpy(&first, a->tensor->data, bytes < sizeof first ? bytes : sizeof first);
            hash = mix(hash, first);
            break;
        }
        default: break; /* rarely tells two nodes of one op and equal inputs apart */
        }
    }
    return mix(hash, 1);
}

static bool same(const duet_graph_node *a, const duet_graph_node *b) {
    if (a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out) return false;
    if (memcmp(a->in, b->in, (size_t)a->n_in * sizeof *a->in) != 0) return false;
    for (int i = 0; i < duet_op_attr_count(a->op); i++)
        if (!duet_attr_equal(a->op->attrs[i].kind, &a->attrs[i], &b->attrs[i])) return false;
    return true;
}

/* Bumps the version of what a node writes; a sub-graph with effects may write anything. */
static void note_writes(int32_t *version, const duet_graph *graph, const duet_graph_node *node) {
    const bool anything = duet_node_has_stateful_body(node);
    for (int32_t i = 0; i < graph->n_variables && anything; i++)
        version[graph->variable_values[i]]++;
    for (int32_t i = 0; i < node->n_in; i++)
        if (duet_node_writes(node, i)) version[node->in[i]]++;
}

/* An earlier equal node, or -1; adds `id` to the table where there is none. `at` tells, per node
 * kept, the version of the variable that a read saw. */
static int32_t find_or_add(int32_t *table, size_t room, const duet_graph *graph, int32_t id,
                           const int32_t *version, int32_t *at) {
    const duet_graph_node *node = &graph->nodes[id];
    int32_t now = node->n_in ? version[node->in[0]] : 0;
    size_t slot = (size_t)hash_node(node) & (room - 1);
    for (; table[slot]; slot = (slot + 1) & (room - 1)) {
        int32_t earlier = table[slot] - 1;
        if (same(&graph->nodes[earlier], node) && at[earlier] == now) return earlier;
    }
    table[slot] = id + 1;
    at[id] = now;
    return -1;
}

static void merge_equal(duet_graph *graph, int32_t *table, size_t room, int32_t *map,
                        int32_t *version, int32_t *at) {
    for (int32_t i = 0; i < graph->n_values; i++) map[i] = i;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        duet_graph_node *node = &graph->nodes[i];
        for (int32_t j = 0; j < node->n_in; j++) node->in[j] = map[node->in[j]];
        note_writes(version, graph, node);
        if (duet_node_has_effect(node)) continue;
        int32_t earlier = find_or_add(table, room, graph, i, version, at);
        if (earlier < 0) continue;
        for (int32_t j = 0; j < node->n_out; j++)
            map[node->out + j] = graph->nodes[earlier].out + j;
        duet_graph_remove(graph, i);
    }
    duet_graph_remap(graph, map);
}

duet_status duet_pass_cse(duet_graph *graph) {
    size_t room = 64;
    while (room < 2 * (size_t)graph->n_nodes) room *= 2;
    int32_t *table = calloc(room, sizeof *table);
    int32_t *map = malloc(((size_t)graph->n_values + 1) * sizeof *map);
    int32_t *version = calloc((size_t)graph->n_values + 1, sizeof *version);
    int32_t *at = calloc((size_t)graph->n_nodes + 1, sizeof *at);
    bool ok = table && map && version && at;
    if (ok) merge_equal(graph, table, room, map, version, at);
    free(table);
    free(map);
    free(version);
    free(at);
    CHECK(ok, DUET_STATUS_MEMORY, "pass cse: no memory");
    return duet_graph_compact(graph);
}
