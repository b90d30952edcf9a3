#include "graph_body.h"

#include "graph_replay.h"
#include "graph_tile.h"
#include "passes.h"
#include "plan.h"
#include "trace.h"

#include <stdlib.h>

/* What the body's graph became for one set of input specs. */
typedef struct compiled {
    struct compiled *next;
    duet_tile_program *tiles; /* this, where it is a graph for the tile machine ... */
    duet_plan *plan;          /* ... or this */
    duet_spec specs[];        /* n_in of them */
} compiled;

typedef struct graph_body {
    duet_body base;
    duet_graph *graph;
    pthread_mutex_t lock; /* guards `compiled` against two that add; entries stay until the end */
    _Atomic(compiled *) compiled;
    duet_body *gradient; /* made once */
} graph_body;

const duet_graph *duet_graph_of_body(const duet_body *body) {
    return ((const graph_body *)body)->graph;
}

/* ---- infer ---------------------------------------------------------------------------------- */

static bool specs_match(const duet_graph *graph, const duet_spec *const *in) {
    for (int32_t i = 0; i < graph->n_inputs; i++)
        if (!duet_spec_equal(&graph->values[graph->inputs[i]].spec, in[i])) return false;
    return true;
}

static duet_status infer(const duet_body *body, duet_spec *out, const duet_spec *const *in) {
    const duet_graph *graph = duet_graph_of_body(body);
    duet_graph *other = NULL;
    if (!specs_match(graph, in)) {
        other = duet_graph_respecify(graph, in);
        if (!other) return duet_error_code();
        graph = other;
    }
    for (int32_t i = 0; i < graph->n_results; i++) out[i] = graph->values[graph->results[i]].spec;
    duet_graph_free(other);
    return DUET_OK;
}

/* ---- run --------------------------------------------------------------------------------------
 */

static bool fits(const graph_body *body, const compiled *c, const duet_view *in) {
    for (int i = 0; i < body->base.n_in; i++)
        if (!duet_spec_equal(&c->specs[i], in[i].spec)) return false;
    return true;
}

static compiled *find(graph_body *body, const duet_view *in) {
    compiled *c = atomic_load_explicit(&body->compiled, memory_order_acquire);
    while (c && !fits(body, c, in)) c = c->next;
    return c;
}

/* NULL where it does not fit the tile machine: no failure, for a plan does it then. */
static duet_tile_program *try_tiles(const duet_graph *graph) {
    duet_error before;
    duet_error_save(&before);
    duet_tile_program *tiles = duet_graph_compile_tiles(graph);
    if (!tiles) duet_error_restore(&before);
    return tiles;
}

static compiled *compile(graph_body *body, const duet_view *in) {
    const duet_spec *specs[DUET_MAX_INPUTS];
    compiled *c = calloc(1, sizeof *c + (size_t)body->base.n_in * sizeof(duet_spec));
    if (!c) return duet_fail(DUET_STATUS_MEMORY, "sub-graph: no memory"), NULL;
    for (int i = 0; i < body->base.n_in; i++) c->specs[i] = *(specs[i] = in[i].spec);
    duet_graph *graph = duet_graph_respecify(body->graph, specs);
    if (graph && duet_graph_is_tileable(graph) && (c->tiles = try_tiles(graph)))
        duet_graph_free(graph);
    else if (graph && (duet_graph_is_tileable(graph) || duet_run_passes(graph) == DUET_OK))
        c->plan = duet_plan_new(graph);
    else
        duet_graph_free(graph);
    if (c->tiles || c->plan) return c;
    free(c);
    return NULL;
}

static compiled *find_or_compile(graph_body *body, const duet_view *in) {
    compiled *c = find(body, in);
    if (c) return c;
    pthread_mutex_lock(&body->lock);
    c = find(body, in);
    if (!c && (c = compile(body, in))) {
        c->next = atomic_load_explicit(&body->compiled, memory_order_relaxed);
        atomic_store_explicit(&body->compiled, c, memory_order_release);
    }
    pthread_mutex_unlock(&body->lock);
    return c;
}

/* A plan's steps may write a result before they have read all inputs, so where the caller lets its
 * first result take over an input's bytes (DUET_OP_INPLACE), the result is made elsewhere first. */
static duet_status run_plan(duet_plan *plan, void **in_data, void **out_data,
                            const duet_view *out) {
    bool overlap = false;
    for (int32_t i = 0; i < plan->graph->n_inputs; i++) overlap |= in_data[i] == out_data[0];
    if (!overlap) return duet_plan_run(plan, in_data, out_data);
    size_t bytes = duet_spec_bytes(out[0].spec);
    void *apart = duet_memory_alloc(bytes);
    if (!apart) return DUET_STATUS_MEMORY;
    out_data[0] = apart;
    duet_status status = duet_plan_run(plan, in_data, out_data);
    if (status == DUET_OK) memcpy(out[0].data, apart, bytes);
    duet_memory_free(apart, bytes);
    return status;
}

static duet_status run(const duet_body *base, const duet_view *in, const duet_view *out) {
    graph_body *body = (graph_body *)base; /* compiling is no change of its value */
    compiled *c = find_or_compile(body, in);
    if (!c) return duet_error_code();
    void *in_data[DUET_MAX_INPUTS], *out_data[DUET_MAX_OUTPUTS];
    for (int i = 0; i < base->n_in; i++) in_data[i] = in[i].data;
    for (int i = 0; i < base->n_out; i++) out_data[i] = out[i].data;
    return c->tiles ? duet_tile_run(c->tiles, (const void *const *)in_data, out_data)
                    : run_plan(c->plan, in_data, out_data, out);
}

/* ---- gradient -----------------------------------------------------------------------------------
 */

/* Zeros where the results do not depend on an input. */
static duet_tensor *zeros_like(duet_tensor *x) {
    extern const duet_op duet_op_broadcast_like;
    return duet_apply2(&duet_op_broadcast_like, duet_full(DUET_SCALAR, duet_tensor_dtype(x), 0), x);
}

/* sum over results of <result, its gradient>: its gradient by an input is what is wanted. */
static duet_status pull_back(duet_tensor **grads, duet_tape *tape, const duet_graph *graph,
                             duet_tensor *const *in, duet_tensor *const *out_grads) {
    duet_tensor *results[DUET_MAX_OUTPUTS], *sum = NULL;
    for (int32_t i = 0; i < graph->n_inputs; i++)
        if (duet_dtype_is_float(duet_tensor_dtype(in[i]))) TRY(duet_tape_watch(tape, in[i]));
    TRY(duet_graph_replay(graph, results, in));
    for (int32_t i = 0; i < graph->n_results; i++) {
        if (!duet_dtype_is_float(duet_tensor_dtype(results[i]))) continue;
        duet_tensor *part = duet_sum(duet_mul(results[i], out_grads[i]), (duet_ints){0}, false);
        sum = sum ? duet_add(sum, part) : part;
        if (!sum) return duet_error_code();
    }
    if (sum) TRY(duet_gradient(grads, tape, sum, in, graph->n_inputs));
    return DUET_OK;
}

static duet_status record_gradient(duet_trace *trace, const duet_graph *graph) {
    duet_tensor *in[DUET_MAX_INPUTS], *out_grads[DUET_MAX_OUTPUTS];
    duet_tensor *grads[DUET_MAX_INPUTS] = {NULL};
    for (int32_t i = 0; i < graph->n_inputs; i++)
        if (!(in[i] = duet_trace_input(trace, &graph->values[graph->inputs[i]].spec)))
            return duet_error_code();
    for (int32_t i = 0; i < graph->n_results; i++)
        if (!(out_grads[i] = duet_trace_input(trace, &graph->values[graph->results[i]].spec)))
            return duet_error_code();
    duet_tape *tape = duet_tape_new(false);
    if (!tape) return duet_error_code();
    duet_status status = pull_back(grads, tape, graph, in, out_grads);
    duet_tape_free(tape);
    TRY(status);
    for (int32_t i = 0; i < graph->n_inputs; i++)
        if (!grads[i]) grads[i] = zeros_like(in[i]);
    return duet_trace_results(trace, grads, graph->n_inputs);
}

static duet_body *new_gradient(const duet_body *body) {
    const duet_graph *graph = duet_graph_of_body(body);
    if (body->stateful) {
        duet_fail(DUET_STATUS_UNSUPPORTED,
                  "gradient: the sub-graph %s uses variables or other state", graph->name);
        return NULL;
    }
    char name[128];
    snprintf(name, sizeof name, "%.100s_gradient", graph->name);
    duet_trace *trace = duet_trace_begin(name, false);
    if (!trace) return NULL;
    int depth = duet_scope_depth();
    duet_scope_open();
    duet_status status = record_gradient(trace, graph);
    while (duet_scope_depth() > depth) duet_scope_close(NULL);
    duet_graph *result = duet_trace_end(trace);
    if (status == DUET_OK && result) return duet_graph_body_new(result);
    duet_graph_free(result);
    return NULL;
}

static duet_body *gradient(const duet_body *base) {
    graph_body *body = (graph_body *)base; /* keeping what was derived is no change of its value */
    pthread_mutex_lock(&body->lock);
    if (!body->gradient) body->gradient = new_gradient(base);
    duet_body *result = duet_body_keep(body->gradient);
    pthread_mutex_unlock(&body->lock);
    return result;
}

/* ---- life
 * ---------------------------------------------------------------------------------------- */

static void free_body(duet_body *base) {
    graph_body *body = (graph_body *)base;
    for (compiled *c = atomic_load(&body->compiled), *next; c; c = next) {
        next = c->next;
        duet_plan_free(c->plan);
        duet_tile_free(c->tiles);
        free(c);
    }
    duet_body_release(body->gradient);
    duet_graph_free(body->graph);
    pthread_mutex_destroy(&body->lock);
    free(body);
}

static bool is_stateful(const duet_graph *graph) {
    if (graph->n_variables) return true;
    for (int32_t i = 0; i < graph->n_nodes; i++)
        if (duet_node_has_effect(&graph->nodes[i])) return true;
    return false;
}

duet_body *duet_graph_body_new(duet_graph *graph) {
    static const duet_body_class class = {infer, run, gradient, free_body};
    graph_body *body = calloc(1, sizeof *body);
    if (!body) {
        duet_graph_free(graph);
        duet_fail(DUET_STATUS_MEMORY, "sub-graph: no memory");
        return NULL;
    }
    body->base = (duet_body){&class, 1, graph->n_inputs, graph->n_results, is_stateful(graph)};
    body->graph = graph;
    pthread_mutex_init(&body->lock, NULL);
    return &body->base;
}
