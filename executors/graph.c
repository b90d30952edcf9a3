#include "graph.h"

#include "core/attrs.h"
#include "core/body.h"

#include <stdlib.h>

extern const duet_op duet_op_constant;

/* Room for one more element; doubles. On failure the graph remembers it and the old array stays. */
static bool reserve(duet_graph *graph, void **array, int32_t count, int32_t *room, size_t element) {
    if (count < *room) return true;
    int32_t larger_room = *room ? 2 * *room : 16;
    void *larger = realloc(*array, (size_t)larger_room * element);
    if (!larger) return graph->out_of_memory = true, false;
    *array = larger;
    *room = larger_room;
    return true;
}
#define RESERVE(graph, array, count, room)                                                         \
    reserve(graph, (void **)&(graph)->array, (graph)->count, &(graph)->room, sizeof *(graph)->array)

duet_graph *duet_graph_new(const char *name) {
    duet_graph *graph = calloc(1, sizeof *graph);
    if (graph) graph->name = strdup(name ? name : "graph");
    if (graph && graph->name) return graph;
    free(graph);
    duet_fail(DUET_STATUS_MEMORY, "graph: no memory");
    return NULL;
}

static void release_attrs(duet_graph_node *node) {
    if (!node->attrs) return;
    duet_attrs_release(node->attrs, node->op);
    free(node->attrs);
    node->attrs = NULL;
}

void duet_graph_remove(duet_graph *graph, int32_t id) {
    duet_graph_node *node = &graph->nodes[id];
    release_attrs(node);
    free(node->in);
    node->in = NULL;
    node->n_in = 0;
    node->op = NULL;
}

void duet_graph_free(duet_graph *graph) {
    if (!graph) return;
    for (int32_t i = 0; i < graph->n_nodes; i++)
        if (graph->nodes[i].op) duet_graph_remove(graph, i);
    for (int32_t i = 0; i < graph->n_variables; i++) duet_release(graph->variables[i]);
    free(graph->name);
    free(graph->values);
    free(graph->nodes);
    free(graph->inputs);
    free(graph->results);
    free(graph->variables);
    free(graph->variable_values);
    free(graph);
}

static int32_t add_value(duet_graph *graph, const duet_spec *spec, duet_value_kind kind,
                         int32_t node, int32_t index) {
    if (!RESERVE(graph, values, n_values, values_room)) return -1;
    graph->values[graph->n_values] = (duet_graph_value){*spec, kind, node, index};
    return graph->n_values++;
}

int32_t duet_graph_add_input(duet_graph *graph, const duet_spec *spec) {
    if (!RESERVE(graph, inputs, n_inputs, inputs_room)) return -1;
    int32_t value = add_value(graph, spec, DUET_VALUE_INPUT, -1, graph->n_inputs);
    return graph->inputs[graph->n_inputs++] = value;
}

int32_t duet_graph_add_variable(duet_graph *graph, duet_tensor *variable) {
    for (int32_t i = 0; i < graph->n_variables; i++)
        if (graph->variables[i] == variable) return graph->variable_values[i];
    int32_t room = graph->variables_room;
    if (!reserve(graph, (void **)&graph->variables, graph->n_variables, &room,
                 sizeof(duet_tensor *)) ||
        !RESERVE(graph, variable_values, n_variables, variables_room))
        return -1;
    int32_t index = graph->n_variables++;
    graph->variables[index] = duet_keep(variable);
    return graph->variable_values[index] =
               add_value(graph, &variable->spec, DUET_VALUE_VARIABLE, -1, index);
}

void duet_graph_add_result(duet_graph *graph, int32_t value) {
    if (RESERVE(graph, results, n_results, results_room))
        graph->results[graph->n_results++] = value;
}

/* Gives `node` an op with copies of its attributes and inputs. */
static bool fill_node(duet_graph *graph, duet_graph_node *node, const duet_op *op,
                      const duet_attr *attrs, const int32_t *in, int32_t n_in) {
    size_t n_attrs = (size_t)duet_op_attr_count(op);
    int32_t *inputs = malloc(((size_t)n_in + 1) * sizeof *in);
    duet_attr *copies = n_attrs ? malloc(n_attrs * sizeof *attrs) : NULL;
    if (!inputs || (n_attrs && !copies)) {
        free(inputs);
        free(copies);
        return graph->out_of_memory = true, false;
    }
    if (n_in) memcpy(inputs, in, (size_t)n_in * sizeof *in);
    if (n_attrs) duet_attrs_copy(copies, op, attrs);
    node->op = op;
    node->attrs = copies;
    node->in = inputs;
    node->n_in = n_in;
    return true;
}

int32_t duet_graph_add_node(duet_graph *graph, const duet_op *op, const duet_attr *attrs,
                            const int32_t *in, int32_t n_in, const duet_spec *specs,
                            int32_t n_out) {
    duet_graph_node node = {.n_out = n_out, .out = graph->n_values};
    if (!RESERVE(graph, nodes, n_nodes, nodes_room) ||
        !fill_node(graph, &node, op, attrs, in, n_in))
        return -1;
    int32_t id = graph->n_nodes++;
    graph->nodes[id] = node;
    for (int32_t i = 0; i < n_out; i++) add_value(graph, &specs[i], DUET_VALUE_RESULT, id, i);
    return id;
}

duet_status duet_graph_replace(duet_graph *graph, int32_t id, const duet_op *op,
                               const duet_attr *attrs, const int32_t *in, int32_t n_in) {
    duet_graph_node before = graph->nodes[id];
    if (!fill_node(graph, &graph->nodes[id], op, attrs, in, n_in)) return duet_graph_ok(graph);
    release_attrs(&before);
    free(before.in);
    return DUET_OK;
}

duet_status duet_graph_replace_results(duet_graph *graph, int32_t id, const duet_op *op,
                                       const duet_attr *attrs, const int32_t *in, int32_t n_in,
                                       const duet_spec *specs, int32_t n_out) {
    TRY(duet_graph_replace(graph, id, op, attrs, in, n_in));
    graph->nodes[id].out = graph->n_values;
    graph->nodes[id].n_out = n_out;
    for (int32_t i = 0; i < n_out; i++) add_value(graph, &specs[i], DUET_VALUE_RESULT, id, i);
    return duet_graph_ok(graph);
}

int32_t duet_graph_add_constant(duet_graph *graph, duet_tensor *value) {
    duet_attr attr = {.tensor = value};
    int32_t node = duet_graph_add_node(graph, &duet_op_constant, &attr, NULL, 0, &value->spec, 1);
    return node < 0 ? -1 : graph->nodes[node].out;
}

duet_status duet_graph_ok(const duet_graph *graph) {
    CHECK(!graph->out_of_memory, DUET_STATUS_MEMORY, "graph %s: no memory", graph->name);
    return DUET_OK;
}

duet_status duet_graph_infer(duet_graph *graph, int32_t id) {
    const duet_graph_node *node = &graph->nodes[id];
    const duet_spec *in[DUET_MAX_INPUTS];
    duet_spec out[DUET_MAX_OUTPUTS];
    for (int32_t i = 0; i < node->n_in; i++) in[i] = &graph->values[node->in[i]].spec;
    TRY(node->op->infer(out, &(duet_op_call){node->op, node->attrs, in, node->n_in}));
    for (int32_t i = 0; i < node->n_out; i++) graph->values[node->out + i].spec = out[i];
    return DUET_OK;
}

/* A copy with room for at least one more; NULL marks the graph. */
static void *copy_array(duet_graph *graph, const void *from, int32_t count, int32_t *room,
                        size_t element) {
    void *copy = malloc(((size_t)count + 1) * element);
    if (!copy) return graph->out_of_memory = true, NULL;
    if (count) memcpy(copy, from, (size_t)count * element);
    *room = count + 1;
    return copy;
}
#define COPY_ARRAY(copy, graph, array, count, room)                                                \
    (copy)->array =                                                                                \
        copy_array(copy, (graph)->array, (graph)->count, &(copy)->room, sizeof *(graph)->array);   \
    if ((copy)->array) (copy)->count = (graph)->count

static void copy_nodes(duet_graph *copy, const duet_graph *graph) {
    for (int32_t i = 0; i < copy->n_nodes; i++) { /* what they hold is still the original's */
        copy->nodes[i].attrs = NULL;
        copy->nodes[i].in = NULL;
        copy->nodes[i].op = NULL;
    }
    for (int32_t i = 0; i < copy->n_nodes; i++) {
        const duet_graph_node *node = &graph->nodes[i];
        if (node->op) fill_node(copy, &copy->nodes[i], node->op, node->attrs, node->in, node->n_in);
    }
}

duet_graph *duet_graph_copy(const duet_graph *graph) {
    duet_graph *copy = duet_graph_new(graph->name);
    if (!copy) return NULL;
    COPY_ARRAY(copy, graph, values, n_values, values_room);
    COPY_ARRAY(copy, graph, nodes, n_nodes, nodes_room);
    COPY_ARRAY(copy, graph, inputs, n_inputs, inputs_room);
    COPY_ARRAY(copy, graph, results, n_results, results_room);
    COPY_ARRAY(copy, graph, variable_values, n_variables, variables_room);
    COPY_ARRAY(copy, graph, variables, n_variables, variables_room);
    copy_nodes(copy, graph);
    if (copy->variables)
        for (int32_t i = 0; i < copy->n_variables; i++) duet_keep(copy->variables[i]);
    else
        copy->n_variables = 0;
    if (duet_graph_ok(copy) == DUET_OK) return copy;
    duet_graph_free(copy);
    return NULL;
}

duet_graph *duet_graph_respecify(const duet_graph *graph, const duet_spec *const *in) {
    duet_graph *copy = duet_graph_copy(graph);
    if (!copy) return NULL;
    duet_status status = DUET_OK;
    for (int32_t i = 0; i < copy->n_inputs; i++) copy->values[copy->inputs[i]].spec = *in[i];
    for (int32_t i = 0; i < copy->n_nodes && status == DUET_OK; i++)
        status = duet_graph_infer(copy, i);
    if (status == DUET_OK) return copy;
    duet_graph_free(copy);
    return NULL;
}

void duet_graph_remap(duet_graph *graph, const int32_t *map) {
    for (int32_t i = 0; i < graph->n_nodes; i++)
        for (int32_t j = 0; j < graph->nodes[i].n_in; j++)
            graph->nodes[i].in[j] = map[graph->nodes[i].in[j]];
    for (int32_t i = 0; i < graph->n_results; i++) graph->results[i] = map[graph->results[i]];
}

int32_t *duet_graph_count_uses(const duet_graph *graph) {
    int32_t *uses = calloc((size_t)graph->n_values + 1, sizeof *uses);
    if (!uses) return duet_fail(DUET_STATUS_MEMORY, "graph %s: no memory", graph->name), NULL;
    for (int32_t i = 0; i < graph->n_nodes; i++)
        for (int32_t j = 0; j < graph->nodes[i].n_in; j++) uses[graph->nodes[i].in[j]]++;
    for (int32_t i = 0; i < graph->n_results; i++) uses[graph->results[i]]++;
    return uses;
}

int32_t duet_graph_count_constants(const duet_graph *graph) {
    int32_t count = 0;
    for (int32_t i = 0; i < graph->n_nodes; i++) count += graph->nodes[i].op == &duet_op_constant;
    return count;
}

bool duet_node_has_stateful_body(const duet_graph_node *node) {
    for (int i = 0; i < duet_op_attr_count(node->op); i++)
        if (node->op->attrs[i].kind == DUET_ATTR_BODY && node->attrs[i].body->stateful) return true;
    return false;
}

/* ---- compaction: canonical numbering ------------------------------------------------------- */

/* Moves the nodes that are left to the front and gives every value its new id: inputs, variables,
 * then results in the order of their nodes. `map`: old value id -> new, -1 for values that go. */
static void renumber(duet_graph *graph, duet_graph_value *fresh, int32_t *map) {
    int32_t n_values = 0, n_nodes = 0;
    for (int32_t i = 0; i < graph->n_values; i++) map[i] = -1;
    for (int32_t i = 0; i < graph->n_inputs; i++) {
        fresh[n_values] = graph->values[graph->inputs[i]];
        map[graph->inputs[i]] = n_values;
        graph->inputs[i] = n_values++;
    }
    for (int32_t i = 0; i < graph->n_variables; i++) {
        fresh[n_values] = graph->values[graph->variable_values[i]];
        map[graph->variable_values[i]] = n_values;
        graph->variable_values[i] = n_values++;
    }
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        duet_graph_node node = graph->nodes[i];
        if (!node.op) continue;
        for (int32_t j = 0; j < node.n_out; j++) {
            fresh[n_values + j] = graph->values[node.out + j];
            fresh[n_values + j].node = n_nodes;
            map[node.out + j] = n_values + j;
        }
        node.out = n_values;
        n_values += node.n_out;
        graph->nodes[n_nodes++] = node;
    }
    graph->n_nodes = n_nodes;
    graph->n_values = n_values;
}

duet_status duet_graph_compact(duet_graph *graph) {
    TRY(duet_graph_ok(graph)); /* else it may hold -1 for values that found no room */
    int32_t *map = malloc(((size_t)graph->n_values + 1) * sizeof *map);
    duet_graph_value *fresh = malloc(((size_t)graph->n_values + 1) * sizeof *fresh);
    if (map && fresh) {
        int32_t room = graph->n_values + 1;
        renumber(graph, fresh, map);
        duet_graph_remap(graph, map);
        duet_graph_value *old = graph->values;
        graph->values = fresh;
        graph->values_room = room;
        fresh = old;
    } else {
        graph->out_of_memory = true;
    }
    free(map);
    free(fresh);
    return duet_graph_ok(graph);
}
