/* Fusion of elementwise nodes: a group of nodes over one iteration space becomes one `fused` node,
 * whose intermediates never see memory.
 *
 * A group is placed where its last member stood. A node joins the groups of its producers when they
 * have its shape and type and nothing outside has used their results so far: so nothing that comes
 * before the group's place needs it, and the order of all other nodes stays as it is. */
#include "passes.h"

#include "graph_body.h"
#include "kernels/elementwise.h"

#include <stdlib.h>

extern const duet_op duet_op_constant, duet_op_fused;

enum {
    LARGEST_GROUP = 256
}; /* nodes; keeps programs, and the stack of unoptimised builds, small */

typedef struct group {
    duet_dtype type; /* of its lanes; DUET_BOOL while only bools are in it */
    int32_t size;
    bool closed; /* something outside uses one of its results */
} group;

typedef struct fuser {
    duet_graph *graph;
    int32_t *parent; /* per node: towards the member that names its group; -1: in no group */
    group *groups;   /* per node, where it names a group */
    bool *escapes;   /* per value: used outside its group */
    int32_t *inside; /* per value: its id in the body that is being built, -1 */
    int32_t *map;    /* per value: what it is after the pass */
} fuser;

static int32_t group_of(const fuser *f, int32_t node) {
    if (f->parent[node] < 0) return -1;
    while (f->parent[node] != node) node = f->parent[node] = f->parent[f->parent[node]];
    return node;
}

/* The group of the node that makes the value, or -1. */
static int32_t group_of_value(const fuser *f, int32_t value) {
    const duet_graph_value *v = &f->graph->values[value];
    return v->kind == DUET_VALUE_RESULT ? group_of(f, v->node) : -1;
}

/* ---- finding groups ----------------------------------------------------------------------------
 */

static bool is_elementwise(duet_dtype *type, const duet_graph *graph, const duet_graph_node *node) {
    const duet_spec *in[DUET_MAX_INPUTS];
    if (!node->op->elementwise) return false;
    for (int32_t i = 0; i < node->n_in; i++) in[i] = &graph->values[node->in[i]].spec;
    return duet_elementwise_of(type, node->op, in, &graph->values[node->out].spec) != NULL;
}

static bool may_join(const fuser *f, int32_t mine, int32_t theirs, int32_t value) {
    const group *a = &f->groups[mine], *b = &f->groups[theirs];
    const duet_graph_node *named = &f->graph->nodes[mine];
    return !b->closed && a->size + b->size <= LARGEST_GROUP &&
           (a->type == b->type || a->type == DUET_BOOL || b->type == DUET_BOOL) &&
           duet_shape_equal(&f->graph->values[value].spec.shape,
                            &f->graph->values[named->out].spec.shape);
}

static void join(fuser *f, int32_t mine, int32_t theirs) {
    group *a = &f->groups[mine];
    const group *b = &f->groups[theirs];
    a->size += b->size;
    if (a->type == DUET_BOOL) a->type = b->type;
    f->parent[theirs] = mine;
}

static void find_groups(fuser *f) {
    const duet_graph *g = f->graph;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const duet_graph_node *node = &g->nodes[i];
        duet_dtype type;
        f->parent[i] = -1;
        if (is_elementwise(&type, g, node)) {
            f->parent[i] = i;
            f->groups[i] = (group){.type = type, .size = 1};
        }
        for (int32_t j = 0; f->parent[i] == i && j < node->n_in; j++) {
            int32_t theirs = group_of_value(f, node->in[j]);
            if (theirs >= 0 && theirs != i && may_join(f, i, theirs, node->in[j]))
                join(f, i, theirs);
        }
        for (int32_t j = 0; j < node->n_in; j++) {
            int32_t theirs = group_of_value(f, node->in[j]);
            if (theirs < 0 || theirs == i) continue;
            f->groups[theirs].closed = true;
        }
    }
}

static void find_escapes(fuser *f) {
    const duet_graph *g = f->graph;
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t j = 0; j < g->nodes[i].n_in; j++) {
            int32_t value = g->nodes[i].in[j], theirs = group_of_value(f, value);
            if (theirs >= 0 && theirs != group_of(f, i)) f->escapes[value] = true;
        }
    for (int32_t i = 0; i < g->n_results; i++) f->escapes[g->results[i]] = true;
}

/* ---- building a group's node
 * --------------------------------------------------------------------- */

/* A group's body while it is put together. */
typedef struct build {
    duet_graph *body;
    int32_t in[DUET_MAX_INPUTS]; /* the fused node's inputs, values of the graph */
    int32_t out[DUET_MAX_OUTPUTS];
    duet_spec specs[DUET_MAX_OUTPUTS];
    int32_t n_in, n_out;
    bool too_large;
} build;

/* The body's value for an operand from outside: scalars that are constants move in. */
static int32_t bring_in(fuser *f, build *b, int32_t value) {
    if (f->inside[value] >= 0) return f->inside[value];
    const duet_graph_value *v = &f->graph->values[value];
    const duet_graph_node *made = v->kind == DUET_VALUE_RESULT ? &f->graph->nodes[v->node] : NULL;
    if (made && made->op == &duet_op_constant && v->spec.shape.rank == 0)
        return f->inside[value] = duet_graph_add_constant(b->body, made->attrs[0].tensor);
    if (b->n_in == DUET_MAX_INPUTS) {
        b->too_large = true;
        return 0;
    }
    b->in[b->n_in++] = value;
    return f->inside[value] = duet_graph_add_input(b->body, &v->spec);
}

static void copy_member(fuser *f, build *b, const duet_graph_node *node) {
    int32_t in[DUET_MAX_INPUTS];
    for (int32_t j = 0; j < node->n_in; j++) in[j] = bring_in(f, b, node->in[j]);
    int32_t copy = duet_graph_add_node(b->body, node->op, node->attrs, in, node->n_in,
                                       &f->graph->values[node->out].spec, 1);
    if (copy < 0) return;
    b->body->nodes[copy].file = node->file;
    b->body->nodes[copy].line = node->line;
    f->inside[node->out] = b->body->nodes[copy].out;
    if (!f->escapes[node->out]) return;
    if (b->n_out == DUET_MAX_OUTPUTS) {
        b->too_large = true;
        return;
    }
    duet_graph_add_result(b->body, f->inside[node->out]);
    b->specs[b->n_out] = f->graph->values[node->out].spec;
    b->out[b->n_out++] = node->out;
}

/* Replaces the group's last member by the fused node and removes the others. */
static duet_status install(fuser *f, build *b, int32_t last) {
    duet_graph *g = f->graph;
    duet_body *body = duet_graph_body_new(b->body);
    b->body = NULL;
    if (!body) return duet_error_code();
    duet_status status = duet_graph_replace_results(
        g, last, &duet_op_fused, &(duet_attr){.body = body}, b->in, b->n_in, b->specs, b->n_out);
    duet_body_release(body);
    TRY(status);
    for (int32_t i = 0; i < b->n_out; i++) f->map[b->out[i]] = g->nodes[last].out + i;
    for (int32_t i = 0; i < last; i++)
        if (group_of(f, i) == last) duet_graph_remove(g, i);
    return DUET_OK;
}

static duet_status build_group(fuser *f, int32_t last, int32_t n_values) {
    build b = {.body = duet_graph_new("fused")};
    if (!b.body) return DUET_STATUS_MEMORY;
    for (int32_t i = 0; i < n_values; i++) f->inside[i] = -1;
    for (int32_t i = 0; i <= last; i++)
        if (group_of(f, i) == last) copy_member(f, &b, &f->graph->nodes[i]);
    duet_status status = b.too_large ? DUET_OK : duet_graph_ok(b.body);
    if (status == DUET_OK && !b.too_large) status = duet_graph_compact(b.body);
    if (status == DUET_OK && !b.too_large) status = install(f, &b, last);
    duet_graph_free(b.body);
    return status;
}

/* A group is named by its last member, so each is met complete. */
static duet_status build_groups(fuser *f) {
    int32_t n_values = f->graph->n_values;
    for (int32_t i = 0; i < n_values; i++) f->map[i] = i;
    for (int32_t i = 0; i < f->graph->n_nodes; i++)
        if (f->parent[i] == i && f->groups[i].size > 1) TRY(build_group(f, i, n_values));
    return DUET_OK;
}

duet_status duet_pass_fuse(duet_graph *graph) {
    size_t nodes = (size_t)graph->n_nodes + 1, values = (size_t)graph->n_values + 1;
    fuser f = {graph,
               malloc(nodes * sizeof(int32_t)),
               malloc(nodes * sizeof(group)),
               calloc(values, sizeof(bool)),
               malloc(values * sizeof(int32_t)),
               malloc((values + nodes) * sizeof(int32_t))};
    duet_status status = DUET_OK;
    if (!f.parent || !f.groups || !f.escapes || !f.inside || !f.map)
        status = duet_fail(DUET_STATUS_MEMORY, "pass fuse: no memory");
    if (status == DUET_OK) {
        find_groups(&f);
        find_escapes(&f);
        status = build_groups(&f);
    }
    for (int32_t i = graph->n_values - 1; f.map && i >= (int32_t)values - 1; i--) f.map[i] = i;
    if (status == DUET_OK) duet_graph_remap(graph, f.map);
    free(f.parent);
    free(f.groups);
    free(f.escapes);
    free(f.inside);
    free(f.map);
    return status == DUET_OK ? duet_graph_compact(graph) : status;
}
