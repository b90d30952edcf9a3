/* Makes a plan of a graph: what runs side by side, who shares whose bytes, what lies where, which
 * nodes are steps. */
#include "plan.h"

#include "debug.h"
#include "graph_body.h"
#include "settings.h"

#include <stdlib.h>

extern const duet_op duet_op_constant;

/* Values that share bytes form a class, named by its root. */
typedef struct builder {
    duet_plan *plan;
    const duet_graph *graph;
    int32_t *root;     /* per value */
    int32_t *last_use; /* per root: last node that needs the class; n_nodes for results */
    int32_t *first;    /* per root: node that makes it; -1 for inputs and variables */
} builder;

static const duet_graph_node *producer(const duet_graph *graph, int32_t value) {
    const duet_graph_value *v = &graph->values[value];
    return v->kind == DUET_VALUE_RESULT ? &graph->nodes[v->node] : NULL;
}

static bool is_constant(const duet_graph *graph, int32_t value) {
    const duet_graph_node *node = producer(graph, value);
    return node && node->op == &duet_op_constant;
}

/* A read of a variable: a view of what the variable holds as of now. */
static bool is_read(const duet_graph_node *node) {
    return (node->op->traits & DUET_OP_VIEW) && (node->op->traits & DUET_OP_BY_REFERENCE);
}

/* The representative of the value's class (union-find with path halving; Tarjan and van Leeuwen).
 */
static int32_t root_of(const builder *b, int32_t value) {
    while (b->root[value] != value) value = b->root[value] = b->root[b->root[value]];
    return value;
}

static void join(builder *b, int32_t value, int32_t with) {
    int32_t root = root_of(b, with), old = root_of(b, value);
    if (b->last_use[old] > b->last_use[root]) b->last_use[root] = b->last_use[old];
    b->root[old] = root;
}

static void find_lifetimes(builder *b) {
    const duet_graph *g = b->graph;
    for (int32_t i = 0; i < g->n_values; i++) {
        b->root[i] = i;
        b->first[i] = b->last_use[i] =
            g->values[i].kind == DUET_VALUE_RESULT ? g->values[i].node : -1;
    }
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t j = 0; j < g->nodes[i].n_in; j++) b->last_use[g->nodes[i].in[j]] = i;
    for (int32_t i = 0; i < g->n_results; i++) b->last_use[g->results[i]] = g->n_nodes;
}

/* True where a node after `from`, up to and including `to`, writes the variable `value`. */
static bool written_between(const duet_graph *g, int32_t value, int32_t from, int32_t to) {
    for (int32_t i = from + 1; i <= to && i < g->n_nodes; i++) {
        if (duet_node_has_stateful_body(&g->nodes[i])) return true;
        for (int32_t j = 0; j < g->nodes[i].n_in; j++)
            if (g->nodes[i].in[j] == value && duet_node_writes(&g->nodes[i], j)) return true;
    }
    return false;
}

/* Views share their input's bytes; a read does unless its variable is written while it is needed.
 */
static void join_views(builder *b) {
    const duet_graph *g = b->graph;
    for (int32_t i = g->n_nodes - 1; i >= 0; i--) { /* backward: lifetimes grow towards the root */
        const duet_graph_node *node = &g->nodes[i];
        if (!(node->op->traits & DUET_OP_VIEW)) continue;
        if (is_read(node) && written_between(g, node->in[0], i, b->last_use[root_of(b, node->out)]))
            continue;
        join(b, node->out, node->in[0]);
    }
}

/* Whether result 0 of node `id` may take over the bytes of its input `j`. */
static bool may_overwrite(const builder *b, int32_t id, int32_t j) {
    const duet_graph *g = b->graph;
    const duet_graph_node *node = &g->nodes[id];
    int32_t value = node->in[j], root = root_of(b, value);
    const duet_graph_value *made = &g->values[root];
    if (made->kind != DUET_VALUE_RESULT || is_constant(g, root)) return false;
    if (b->last_use[root] != id) return false;
    if (!duet_spec_equal(&g->values[value].spec, &g->values[node->out].spec)) return false;
    for (int32_t k = 0; k < node->n_in; k++) /* used again in another shape: other lanes */
        if (root_of(b, node->in[k]) == root &&
            !duet_spec_equal(&g->values[node->in[k]].spec, &g->values[value].spec))
            return false;
    return true;
}

static void join_in_place(builder *b) {
    const duet_graph *g = b->graph;
    if (!duet_setting_pass_on("inplace")) return;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const duet_graph_node *node = &g->nodes[i];
        if (!(node->op->traits & DUET_OP_INPLACE) || node->n_out != 1) continue;
        for (int32_t j = 0; j < node->n_in; j++) {
            if (!may_overwrite(b, i, j)) continue;
            join(b, node->out, node->in[j]);
            break;
        }
    }
}

/* What several branches of a fork read is needed until all have ended, whichever reads it last. */
static duet_status hold_through_forks(builder *b) {
    const duet_graph *g = b->graph;
    const duet_branch *branches = b->plan->branches;
    int32_t *reader = malloc(((size_t)g->n_values + 1) * sizeof *reader); /* per root: a branch */
    CHECK(reader, DUET_STATUS_MEMORY, "plan %s: no memory", g->name);
    for (int32_t i = 0; i < g->n_values; i++) reader[i] = -1;
    for (int32_t k = 0; k < b->plan->n_branches; k++)
        for (int32_t i = branches[k].begin; i < branches[k].end; i++)
            for (int32_t j = 0; j < g->nodes[i].n_in; j++) {
                int32_t root = root_of(b, g->nodes[i].in[j]), other = reader[root];
                reader[root] = k;
                if (other < 0 || other == k || branches[other].fork_end != branches[k].fork_end)
                    continue;
                if (b->last_use[root] < branches[k].fork_end)
                    b->last_use[root] = branches[k].fork_end;
            }
    free(reader);
    return DUET_OK;
}

static void place_results(builder *b) {
    duet_plan *plan = b->plan;
    const duet_graph *g = b->graph;
    for (int32_t i = 0; i < g->n_results; i++) {
        int32_t root = root_of(b, g->results[i]);
        bool free_to_place = g->values[root].kind == DUET_VALUE_RESULT && !is_constant(g, root) &&
                             plan->places[root].kind == DUET_PLACE_NONE;
        if (free_to_place)
            plan->places[root] = (duet_place){DUET_PLACE_RESULT, i};
        else
            plan->copies[plan->n_copies++] = (struct duet_result_copy){i, g->results[i]};
    }
}

/* Of the class `root`: from where to where it must keep its bytes. In a fork that is either one
 * branch's affair or lasts for the whole fork. */
static duet_lifetime lifetime_of(const builder *b, int32_t root) {
    const duet_plan *plan = b->plan;
    size_t bytes;
    if (!duet_spec_bytes_checked(&bytes, &b->graph->values[root].spec))
        bytes = (size_t)DUET_MAX_BYTES + 1; /* no op infers that; the layout refuses it */
    duet_lifetime life = {(int64_t)bytes, b->first[root], b->last_use[root], 0, 0};
    for (int32_t k = 0; k < plan->n_branches; k++) {
        const duet_branch *branch = &plan->branches[k];
        bool begins = life.first >= branch->begin && life.first < branch->end;
        bool ends = life.last >= branch->begin && life.last < branch->end;
        if (begins && ends) {
            life.fork = branch->fork_begin + 1;
            life.branch = k + 1;
            break;
        }
        if (begins) life.first = branch->fork_begin;
        if (ends) life.last = branch->fork_end - 1;
    }
    return life;
}

static void place_others(builder *b) {
    duet_plan *plan = b->plan;
    const duet_graph *g = b->graph;
    for (int32_t i = 0; i < g->n_values; i++) {
        const duet_graph_value *v = &g->values[i];
        if (root_of(b, i) != i || plan->places[i].kind != DUET_PLACE_NONE) continue;
        if (v->kind == DUET_VALUE_INPUT)
            plan->places[i] = (duet_place){DUET_PLACE_INPUT, v->index};
        else if (v->kind == DUET_VALUE_VARIABLE)
            plan->places[i] = (duet_place){DUET_PLACE_VARIABLE, v->index};
        else if (is_constant(g, i))
            plan->places[i] = (duet_place){DUET_PLACE_CONSTANT, v->node};
        else {
            plan->places[i] = (duet_place){DUET_PLACE_ARENA, plan->n_buffers};
            plan->lifetimes[plan->n_buffers++] = lifetime_of(b, i);
        }
    }
}

static duet_status lay_out_arena(builder *b) {
    duet_plan *plan = b->plan;
    TRY(duet_plan_offsets(plan->offsets, &plan->arena_bytes, plan->lifetimes, plan->n_buffers,
                          duet_settings()->shuffle));
    plan->lower_bound = duet_plan_lower_bound(plan->lifetimes, plan->n_buffers);
    for (int32_t i = 0; i < b->graph->n_values; i++) {
        int32_t root = root_of(b, i);
        duet_place place = plan->places[root];
        plan->buffer_of[i] = -1;
        if (place.kind == DUET_PLACE_ARENA && i == root) {
            plan->buffer_of[i] = (int32_t)place.at;
            plan->places[i].at = plan->offsets[place.at];
        }
    }
    for (int32_t i = 0; i < b->graph->n_values; i++) {
        plan->places[i] = plan->places[root_of(b, i)];
        plan->buffer_of[i] = plan->buffer_of[root_of(b, i)];
    }
    return DUET_OK;
}

static bool is_step(const builder *b, int32_t id) {
    const duet_graph_node *node = &b->graph->nodes[id];
    if (node->op == &duet_op_constant) return false;
    if (!(node->op->traits & DUET_OP_VIEW) || (node->op->traits & DUET_OP_STATEFUL)) return true;
    return root_of(b, node->out) != root_of(b, node->in[0]); /* a read that must copy */
}

static void add_view(duet_plan *plan, int32_t value) {
    duet_place place = plan->places[value];
    if (place.kind == DUET_PLACE_INPUT || place.kind == DUET_PLACE_RESULT ||
        place.kind == DUET_PLACE_VARIABLE)
        plan->patches[plan->n_patches++] =
            (duet_patch){plan->n_views, place.kind, (int32_t)place.at};
    plan->n_views++;
}

/* Views are numbered in the order of steps: inputs, then results, of each. */
static void list_steps(builder *b) {
    duet_plan *plan = b->plan;
    const duet_graph *g = b->graph;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const duet_graph_node *node = &g->nodes[i];
        if (!is_step(b, i)) continue;
        plan->steps[plan->n_steps++] = i;
        for (int32_t j = 0; j < node->n_in; j++) add_view(plan, node->in[j]);
        for (int32_t j = 0; j < node->n_out; j++) add_view(plan, node->out + j);
    }
}

int32_t duet_plan_step_at(const duet_plan *plan, int32_t node) {
    int32_t begin = 0, end = plan->n_steps;
    while (begin < end) {
        int32_t middle = begin + (end - begin) / 2;
        if (plan->steps[middle] < node)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

int32_t duet_plan_last_step(const duet_plan *plan, int32_t buffer) {
    return duet_plan_step_at(plan, plan->lifetimes[buffer].last + 1) - 1;
}

/* Branches were ranges of nodes so far. */
static void count_branches_in_steps(duet_plan *plan) {
    for (int32_t k = 0; k < plan->n_branches; k++) {
        duet_branch *branch = &plan->branches[k];
        branch->begin = duet_plan_step_at(plan, branch->begin);
        branch->end = duet_plan_step_at(plan, branch->end);
        branch->fork_begin = duet_plan_step_at(plan, branch->fork_begin);
        branch->fork_end = duet_plan_step_at(plan, branch->fork_end);
    }
}

static void find_written(duet_plan *plan) {
    const duet_graph *g = plan->graph;
    plan->uses_variables = g->n_variables > 0;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        bool stateful_body = duet_node_has_stateful_body(&g->nodes[i]);
        for (int32_t v = 0; stateful_body && v < g->n_variables; v++) plan->written[v] = true;
        for (int32_t j = 0; j < g->nodes[i].n_in; j++)
            if (duet_node_writes(&g->nodes[i], j))
                plan->written[g->values[g->nodes[i].in[j]].index] = true;
    }
    for (int32_t v = 0; v < g->n_variables; v++) plan->writes_variables |= plan->written[v];
}

static bool allocate(builder *b) {
    duet_plan *plan = b->plan;
    const duet_graph *g = b->graph;
    size_t values = (size_t)g->n_values + 1, views = 1;
    for (int32_t i = 0; i < g->n_nodes; i++)
        views += (size_t)g->nodes[i].n_in + (size_t)g->nodes[i].n_out;
    b->root = malloc(values * sizeof *b->root);
    b->last_use = malloc(values * sizeof *b->last_use);
    b->first = malloc(values * sizeof *b->first);
    plan->places = calloc(values, sizeof *plan->places);
    plan->buffer_of = malloc(values * sizeof *plan->buffer_of);
    plan->lifetimes = malloc(values * sizeof *plan->lifetimes);
    plan->offsets = malloc(values * sizeof *plan->offsets);
    plan->steps = malloc(((size_t)g->n_nodes + 1) * sizeof *plan->steps);
    plan->patches = malloc(views * sizeof *plan->patches);
    plan->copies = malloc(((size_t)g->n_results + 1) * sizeof *plan->copies);
    plan->written = calloc((size_t)g->n_variables + 1, sizeof *plan->written);
    return b->root && b->last_use && b->first && plan->places && plan->buffer_of &&
           plan->lifetimes && plan->offsets && plan->steps && plan->patches && plan->copies &&
           plan->written;
}

static duet_status build(builder *b) {
    TRY(duet_plan_find_forks(&b->plan->branches, &b->plan->n_branches, b->plan->graph));
    CHECK(allocate(b), DUET_STATUS_MEMORY, "plan %s: no memory", b->graph->name);
    find_lifetimes(b);
    join_views(b);
    if (b->plan->n_branches) TRY(hold_through_forks(b));
    join_in_place(b);
    place_results(b);
    place_others(b);
    TRY(lay_out_arena(b));
    list_steps(b);
    count_branches_in_steps(b->plan);
    find_written(b->plan);
    return DUET_OK;
}

duet_plan *duet_plan_new(duet_graph *graph) {
    duet_plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        duet_graph_free(graph);
        duet_fail(DUET_STATUS_MEMORY, "plan: no memory");
        return NULL;
    }
    plan->graph = graph;
    pthread_mutex_init(&plan->lock, NULL);
    builder b = {.plan = plan, .graph = graph};
    duet_status status = build(&b);
    free(b.root);
    free(b.last_use);
    free(b.first);
    if (status == DUET_OK) {
        if (duet_debug(3)) duet_plan_print(stderr, plan);
        return plan;
    }
    duet_plan_free(plan);
    return NULL;
}
