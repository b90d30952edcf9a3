#include "graph_tile.h"

#include "core/infer.h"

#include <stdlib.h>

extern const duet_op duet_op_constant;

/* ---- of that kind? ----------------------------------------------------------------------------
 */

static const duet_elementwise *expression_of(duet_dtype *type, const duet_graph *graph,
                                             const duet_graph_node *node) {
    const duet_spec *in[DUET_ELEMENTWISE_ARITY];
    if (!node->op->elementwise || node->n_in > DUET_ELEMENTWISE_ARITY) return NULL;
    for (int32_t i = 0; i < node->n_in; i++) in[i] = &graph->values[node->in[i]].spec;
    return duet_elementwise_of(type, node->op, in, &graph->values[node->out].spec);
}

static bool is_scalar_constant(const duet_graph *graph, const duet_graph_node *node) {
    return node->op == &duet_op_constant && graph->values[node->out].spec.shape.rank == 0;
}

/* The axes that the node reduces, as a set; 0 where it reduces none or is no reduction. */
static unsigned reduced_axes(const duet_graph *graph, const duet_graph_node *node) {
    unsigned axes;
    if (!node->op->reduction) return 0;
    const duet_spec *in = &graph->values[node->in[0]].spec;
    duet_op_call call = {node->op, node->attrs, &in, 1};
    return duet_infer_axes(&axes, &call, 0, &node->attrs[0].ints) == DUET_OK ? axes : 0;
}

/* Whether `axes` are the last ones of `rank`. */
static bool are_trailing(unsigned axes, int64_t rank) {
    return axes && (axes | (axes - 1)) == (1u << rank) - 1;
}

/* Elements that go into each result. */
static int64_t run_length(unsigned axes, const duet_shape *shape) {
    int64_t run = 1;
    for (int64_t i = 0; i < shape->rank; i++)
        if (axes >> i & 1) run *= shape->dims[i];
    return run;
}

/* The reduction at the graph's end, or NULL. */
static const duet_graph_node *last_reduction(const duet_graph *graph) {
    if (graph->n_nodes == 0 || graph->n_results != 1) return NULL;
    const duet_graph_node *node = &graph->nodes[graph->n_nodes - 1];
    return node->op->reduction && graph->results[0] == node->out ? node : NULL;
}

bool duet_graph_is_tileable(const duet_graph *graph) {
    duet_dtype type = DUET_BOOL;
    const duet_shape *shape = NULL;
    const duet_graph_node *reduction = last_reduction(graph);
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const duet_graph_node *node = &graph->nodes[i];
        duet_dtype own = DUET_BOOL;
        if (is_scalar_constant(graph, node) || node == reduction) continue;
        if (!expression_of(&own, graph, node)) return false;
        if (own != DUET_BOOL && type != DUET_BOOL && own != type) return false;
        if (own != DUET_BOOL) type = own;
        const duet_shape *out = &graph->values[node->out].spec.shape;
        if (shape && !duet_shape_equal(shape, out)) return false;
        shape = out;
    }
    if (!shape || duet_shape_is_free(shape) || graph->n_variables) return false;
    for (int32_t i = 0; i < graph->n_results; i++) /* each a value that a node makes */
        if (graph->values[graph->results[i]].kind != DUET_VALUE_RESULT) return false;
    if (!reduction) return true;
    const duet_graph_value *reduced = &graph->values[reduction->in[0]];
    unsigned axes = reduced_axes(graph, reduction);
    /* The reduction of one element is that element, -0 included: nothing is added to it. */
    return reduced->kind == DUET_VALUE_RESULT && reduced->spec.dtype == (int64_t)type &&
           are_trailing(axes, shape->rank) && run_length(axes, shape) != 1;
}

/* ---- compiling
 * ----------------------------------------------------------------------------------- */

/* The source, and the arrays that it points into. */
typedef struct builder {
    duet_tile_source source;
    const duet_spec *in[DUET_MAX_INPUTS];
    duet_view *constants;
    duet_tile_node *nodes;
    int32_t *number; /* per value of the graph: its number in the source */
    int32_t out[DUET_MAX_OUTPUTS];
    duet_dtype out_dtypes[DUET_MAX_OUTPUTS];
} builder;

/* Values are numbered inputs first, then constants, then nodes. */
static void number_values(builder *b, const duet_graph *graph) {
    duet_tile_source *s = &b->source;
    for (; s->n_in < graph->n_inputs; s->n_in++) {
        b->in[s->n_in] = &graph->values[graph->inputs[s->n_in]].spec;
        b->number[graph->inputs[s->n_in]] = s->n_in;
    }
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const duet_graph_node *node = &graph->nodes[i];
        if (node->op != &duet_op_constant) continue;
        const duet_tensor *value = node->attrs[0].tensor;
        b->number[node->out] = s->n_in + s->n_constants;
        b->constants[s->n_constants++] = (duet_view){value->data, &value->spec};
    }
}

static void add_nodes(builder *b, const duet_graph *graph, const duet_graph_node *reduction) {
    duet_tile_source *s = &b->source;
    s->dtype = DUET_BOOL;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const duet_graph_node *node = &graph->nodes[i];
        if (node->op == &duet_op_constant || node == reduction) continue;
        duet_dtype type = DUET_BOOL;
        duet_tile_node *to = &b->nodes[s->n_nodes];
        to->expression = expression_of(&type, graph, node);
        if (type != DUET_BOOL) s->dtype = type;
        for (int32_t j = 0; j < node->n_in; j++) to->args[j] = b->number[node->in[j]];
        b->number[node->out] = s->n_in + s->n_constants + s->n_nodes++;
        s->shape = graph->values[node->out].spec.shape;
    }
    if (s->dtype == DUET_BOOL) s->dtype = DUET_F32; /* bools alone: lanes of any type do */
}

static void add_outputs(builder *b, const duet_graph *graph, const duet_graph_node *reduction) {
    duet_tile_source *s = &b->source;
    for (int32_t i = 0; i < graph->n_results; i++) {
        int32_t value = reduction ? reduction->in[0] : graph->results[i];
        b->out[s->n_out] = b->number[value];
        b->out_dtypes[s->n_out++] = (duet_dtype)graph->values[value].spec.dtype;
    }
    if (!reduction) return;
    unsigned axes = reduced_axes(graph, reduction);
    s->reduction = reduction->op->reduction;
    s->run = run_length(axes, &s->shape);
    s->rows = run_length(~axes, &s->shape);
}

duet_tile_program *duet_graph_compile_tiles(const duet_graph *graph) {
    builder b = {.constants = calloc((size_t)graph->n_nodes + 1, sizeof *b.constants),
                 .nodes = calloc((size_t)graph->n_nodes + 1, sizeof *b.nodes),
                 .number = calloc((size_t)graph->n_values + 1, sizeof *b.number)};
    duet_tile_program *program = NULL;
    if (b.constants && b.nodes && b.number) {
        const duet_graph_node *reduction = last_reduction(graph);
        number_values(&b, graph);
        add_nodes(&b, graph, reduction);
        add_outputs(&b, graph, reduction);
        b.source.in = b.in;
        b.source.constants = b.constants;
        b.source.nodes = b.nodes;
        b.source.out = b.out;
        b.source.out_dtypes = b.out_dtypes;
        program = duet_tile_compile(&b.source);
    } else {
        duet_fail(DUET_STATUS_MEMORY, "sub-graph %s: no memory", graph->name);
    }
    free(b.constants);
    free(b.nodes);
    free(b.number);
    return program;
}
