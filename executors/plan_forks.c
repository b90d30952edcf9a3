/* A section is a range of nodes without effects. Nodes that depend on each other inside it are one
 * part; parts are dealt out to as many branches as there are threads. What a section gains is the
 * time of its nodes one after the other, where large ones split themselves over the pool, less the
 * time of the longest branch. The sections that gain most together are found by dynamic
 * programming over where a section may begin and end. */
#include "plan_forks.h"

#include "core/cost.h"
#include "graph_body.h"
#include "pool.h"
#include "settings.h"

#include <stdlib.h>

extern const duet_op duet_op_constant;

enum {
    LONGEST = 200,     /* nodes in a section: bounds the search */
    MAX_BRANCHES = 26, /* in a fork: a printed plan names them by letters */
    WORTH_NS = 20000,  /* less than this is not worth being split, nor saved by it */
    HANDOVERS = 4,     /* nor is less than so many of what the pool measures */
};

typedef struct finder {
    duet_graph *graph;
    int threads;
    bool always;       /* DUET_FORK: forks however little they gain */
    double fee;        /* nanoseconds that a fork must gain */
    double *cost;      /* per node: nanoseconds; 0 where it is no step, < 0 where it is a wall */
    int32_t *source;   /* per value: the last step it needs, itself or to be a view of; -1 */
    int32_t *part;     /* per node of the section at hand: union-find parent */
    double *part_cost; /* per root of a part */
    int32_t *branch;   /* per root of a part: where it was dealt to */
    double *gain;      /* per node: the most that sections before it gain */
    int32_t *from;     /* per node: where the last of these began, or the node before */
    int32_t *end;      /* per node: end of the section that begins there */
    duet_graph_node *nodes; /* in the new order */
    duet_branch *branches;
    int32_t n_branches;
} finder;

/* ---- what a node costs -------------------------------------------------------------------------
 */

static double graph_ns(const duet_graph *graph);

/* Rough: only what is worth 20 us must be told from what is not, and equal chains from unequal
 * ones. A sub-graph counts once, since nobody knows how often a loop goes round. */
static double node_ns(const duet_graph *graph, const duet_graph_node *node) {
    const double step_ns = 20, byte_ns = 0.01;
    const double flop_ns = node->op->traits & DUET_OP_CONTRACTION ? 0.02 : 0.1;
    double ns = step_ns;
    bool has_body = false;
    for (int i = 0; i < duet_op_attr_count(node->op); i++) {
        if (node->op->attrs[i].kind != DUET_ATTR_BODY) continue;
        has_body = true;
        ns += graph_ns(duet_graph_of_body(node->attrs[i].body));
    }
    if (has_body || node->n_out < 1) return ns;
    const duet_spec *in[DUET_MAX_INPUTS], *out = &graph->values[node->out].spec;
    for (int32_t j = 0; j < node->n_in; j++) in[j] = &graph->values[node->in[j]].spec;
    duet_cost cost = {duet_cost_elements(out), 0};
    if (node->op->cost)
        cost = node->op->cost(&(duet_op_call){node->op, node->attrs, in, node->n_in}, out);
    return ns + cost.flops * flop_ns + cost.bytes * byte_ns;
}

static double graph_ns(const duet_graph *graph) {
    double ns = 0;
    for (int32_t i = 0; i < graph->n_nodes; i++) ns += node_ns(graph, &graph->nodes[i]);
    return ns;
}

/* The node's time when it has the pool to itself: pieces that are worth it, which products cut
 * larger than other ops do, and a tenth lost. */
static double alone_ns(const finder *f, int32_t id) {
    bool product = f->graph->nodes[id].op->traits & DUET_OP_CONTRACTION;
    double cost = f->cost[id], pieces = cost / (product ? 4 * WORTH_NS : WORTH_NS);
    if (f->always || pieces < 2) return cost;
    return cost / (0.9 * (pieces < f->threads ? pieces : f->threads));
}

/* ---- the graph as it is searched ---------------------------------------------------------------
 */

/* Whether nothing may pass this node. */
static bool is_wall(const duet_graph_node *node) {
    return duet_node_has_effect(node) || node->n_out == 0;
}

static double look_at_nodes(finder *f) {
    const duet_graph *g = f->graph;
    double total = 0;
    for (int32_t i = 0; i < g->n_values; i++) f->source[i] = -1;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const duet_graph_node *node = &g->nodes[i];
        bool wall = is_wall(node), view = node->op->traits & DUET_OP_VIEW;
        if (!wall && (view || node->op == &duet_op_constant)) {
            for (int32_t j = 0; j < node->n_in; j++) /* a shape to follow counts as well */
                if (f->source[node->in[j]] > f->source[node->out])
                    f->source[node->out] = f->source[node->in[j]];
            f->cost[i] = 0;
            continue;
        }
        f->cost[i] = wall ? -1 : node_ns(g, node);
        for (int32_t j = 0; j < node->n_out; j++) f->source[node->out + j] = i;
        if (!wall) total += f->cost[i];
    }
    return total;
}

/* Makes walls of the steps begin .. end-1 that every other one of them needs or is needed by: a
 * section with such a step is all one part. In an order of program, these are the steps that no
 * edge leaps over, from a step that nothing needs to the end, and from the beginning to one that
 * needs nothing. So a chain is all walls, and the search is short. */
static void wall_off_waists(finder *f, int32_t begin, int32_t end) {
    int32_t *needed_by =
        f->end; /* per step: the last that needs it; free until the order is made */
    int32_t last_start = begin, reach = begin;
    for (int32_t i = begin; i < end; i++) {
        const duet_graph_node *node = &f->graph->nodes[i];
        if (f->cost[i] == 0) continue;
        needed_by[i] = end;
        bool starts = true;
        for (int32_t j = 0; j < node->n_in; j++) {
            if (f->source[node->in[j]] < begin) continue;
            needed_by[f->source[node->in[j]]] = i;
            starts = false;
        }
        if (starts) last_start = i;
    }
    for (int32_t i = begin; i < end; i++) {
        if (f->cost[i] == 0) continue;
        if (reach <= i && last_start <= i) f->cost[i] = -1;
        if (needed_by[i] > reach) reach = needed_by[i];
    }
}

static void wall_off_all_waists(finder *f) {
    for (int32_t begin = 0, end; begin < f->graph->n_nodes; begin = end + 1) {
        for (end = begin; end < f->graph->n_nodes && f->cost[end] >= 0;) end++;
        wall_off_waists(f, begin, end);
    }
}

/* ---- a section ---------------------------------------------------------------------------------
 */

static int32_t part_of(const finder *f, int32_t node) {
    while (f->part[node] != node) node = f->part[node] = f->part[f->part[node]];
    return node;
}

/* Takes a node into the section that begins at `begin`: what it uses of the section becomes one
 * part. Returns what that part costs. */
static double add_node(finder *f, int32_t begin, int32_t id) {
    const duet_graph_node *node = &f->graph->nodes[id];
    if (f->cost[id] > 0) {
        f->part[id] = id;
        f->part_cost[id] = f->cost[id];
    }
    int32_t step = f->source[node->out];
    if (step < begin) return 0;
    int32_t root = part_of(f, step);
    for (int32_t j = 0; j < node->n_in; j++) {
        int32_t source = f->source[node->in[j]];
        int32_t other = source < begin ? root : part_of(f, source);
        if (other == root) continue;
        f->part[other] = root;
        f->part_cost[root] += f->part_cost[other];
    }
    return f->part_cost[root];
}

/* Deals the section's parts out, the longest first, each to the branch that has least to do
 * (R. L. Graham, 1969). Returns the time of the longest branch. */
static double deal(finder *f, int32_t begin, int32_t end) {
    int32_t parts[LONGEST], n_parts = 0;
    for (int32_t i = begin; i < end; i++) {
        if (f->cost[i] == 0 || f->part[i] != i) continue;
        int32_t at = n_parts++;
        for (; at > 0 && f->part_cost[parts[at - 1]] < f->part_cost[i]; at--)
            parts[at] = parts[at - 1];
        parts[at] = i;
    }
    double load[MAX_BRANCHES] = {0}, longest = 0;
    for (int32_t p = 0; p < n_parts; p++) {
        int least = 0;
        for (int b = 1; b < f->threads; b++)
            if (load[b] < load[least]) least = b;
        f->branch[parts[p]] = least;
        load[least] += f->part_cost[parts[p]];
        if (load[least] > longest) longest = load[least];
    }
    return longest;
}

/* Whether node `id` would make one part of several. */
static bool joins(const finder *f, int32_t begin, int32_t id) {
    const duet_graph_node *node = &f->graph->nodes[id];
    int32_t first = -1;
    for (int32_t j = 0; j < node->n_in; j++) {
        int32_t source = f->source[node->in[j]];
        if (source < begin) continue;
        int32_t part = part_of(f, source);
        if (first >= 0 && part != first) return true;
        first = part;
    }
    return false;
}

/* What is known of the section begin .. end-1. */
typedef struct section {
    int32_t begin, end;
    double total, in_order, largest; /* nanoseconds; of the largest part */
} section;

static void try_section(finder *f, const section *s) {
    double even = s->total / f->threads, at_best = s->largest > even ? s->largest : even;
    double others = f->gain[s->end] - f->gain[s->begin] + f->fee;
    if (s->in_order - at_best <= others) return;
    double gained = s->in_order - deal(f, s->begin, s->end);
    if (gained <= others) return;
    f->gain[s->end] = f->gain[s->begin] + gained - f->fee;
    f->from[s->end] = s->begin;
}

/* The sections that begin at node `begin`. They end where parts would become one, or where they
 * must; what ends elsewhere gains less or little more, and dealing out takes time. */
static void try_sections(finder *f, int32_t begin) {
    section s = {.begin = begin, .end = begin};
    for (; s.end < f->graph->n_nodes && s.end < begin + LONGEST; s.end++) {
        int32_t id = s.end;
        if (f->cost[id] < 0) break;
        if (joins(f, begin, id)) try_section(f, &s);
        double part = add_node(f, begin, id);
        if (part > s.largest) s.largest = part;
        if (f->cost[id] == 0) continue;
        s.total += f->cost[id];
        s.in_order += alone_ns(f, id);
    }
    try_section(f, &s);
}

/* Whether any section gains more than the fee. */
static bool search(finder *f, double fee) {
    int32_t n = f->graph->n_nodes;
    f->fee = fee;
    for (int32_t i = 0; i <= n; i++) f->gain[i] = 0, f->from[i] = i - 1;
    for (int32_t i = 0; i < n; i++) {
        if (f->cost[i] > 0) try_sections(f, i);
        if (f->gain[i] >= f->gain[i + 1]) f->gain[i + 1] = f->gain[i], f->from[i + 1] = i;
    }
    return f->gain[n] > 0;
}

/* ---- the new order -----------------------------------------------------------------------------
 */

/* The branch that node `id` goes to; -1: before the fork. */
static int32_t branch_of(const finder *f, int32_t begin, int32_t id) {
    int32_t step = f->source[f->graph->nodes[id].out];
    return step < begin ? -1 : f->branch[part_of(f, step)];
}

static void order_section(finder *f, int32_t begin, int32_t end) {
    for (int32_t i = begin; i < end; i++) add_node(f, begin, i);
    deal(f, begin, end);
    int32_t at = begin, first = f->n_branches;
    for (int32_t b = -1; b < f->threads; b++) {
        int32_t branch_begin = at;
        for (int32_t i = begin; i < end; i++)
            if (branch_of(f, begin, i) == b) f->nodes[at++] = f->graph->nodes[i];
        if (b >= 0 && at > branch_begin)
            f->branches[f->n_branches++] = (duet_branch){branch_begin, at, 0, 0};
    }
    for (int32_t k = first; k < f->n_branches; k++) {
        f->branches[k].fork_begin = f->branches[first].begin;
        f->branches[k].fork_end = end;
    }
}

static void reorder(finder *f) {
    duet_graph *g = f->graph;
    for (int32_t i = 0; i < g->n_nodes; i++) f->end[i] = i + 1;
    for (int32_t end = g->n_nodes; end > 0; end = f->from[end]) f->end[f->from[end]] = end;
    for (int32_t i = 0; i < g->n_nodes; i = f->end[i])
        if (f->end[i] > i + 1)
            order_section(f, i, f->end[i]);
        else
            f->nodes[i] = g->nodes[i];
    memcpy(g->nodes, f->nodes, (size_t)g->n_nodes * sizeof *f->nodes);
}

/* ---- all together ------------------------------------------------------------------------------
 */

static bool allocate(finder *f) {
    size_t nodes = (size_t)f->graph->n_nodes + 1, values = (size_t)f->graph->n_values + 1;
    f->cost = malloc(nodes * sizeof *f->cost);
    f->source = malloc(values * sizeof *f->source);
    f->part = malloc(nodes * sizeof *f->part);
    f->part_cost = malloc(nodes * sizeof *f->part_cost);
    f->branch = malloc(nodes * sizeof *f->branch);
    f->gain = malloc(nodes * sizeof *f->gain);
    f->from = malloc(nodes * sizeof *f->from);
    f->end = malloc(nodes * sizeof *f->end);
    f->nodes = malloc(nodes * sizeof *f->nodes);
    f->branches = malloc(nodes * sizeof *f->branches);
    return f->cost && f->source && f->part && f->part_cost && f->branch && f->gain && f->from &&
           f->end && f->nodes && f->branches;
}

static void release(finder *f) {
    free(f->cost);
    free(f->source);
    free(f->part);
    free(f->part_cost);
    free(f->branch);
    free(f->gain);
    free(f->from);
    free(f->end);
    free(f->nodes);
    free(f->branches);
}

/* The pool's handover takes milliseconds to measure: only where there is something to hand over. */
static duet_status find(finder *f) {
    CHECK(allocate(f), DUET_STATUS_MEMORY, "plan %s: no memory", f->graph->name);
    if (look_at_nodes(f) < 2 * WORTH_NS && !f->always) return DUET_OK;
    wall_off_all_waists(f);
    if (!search(f, f->always ? 0 : WORTH_NS)) return DUET_OK;
    double handovers = f->always ? 0 : HANDOVERS * duet_pool_handover_ns();
    if (handovers > WORTH_NS && !search(f, handovers)) return DUET_OK;
    reorder(f);
    return duet_graph_compact(f->graph);
}

duet_status duet_plan_find_forks(duet_branch **branches, int32_t *n_branches, duet_graph *graph) {
    finder f = {.graph = graph, .threads = duet_pool_threads(), .always = duet_settings()->fork};
    *branches = NULL;
    *n_branches = 0;
    if (f.always && f.threads < 2) f.threads = 2;
    if (f.threads < 2 || !duet_setting_pass_on("fork")) return DUET_OK;
    if (f.threads > MAX_BRANCHES) f.threads = MAX_BRANCHES;
    duet_status status = find(&f);
    if (f.n_branches && status == DUET_OK) {
        *branches = f.branches;
        *n_branches = f.n_branches;
        f.branches = NULL;
    }
    release(&f);
    return status;
}
