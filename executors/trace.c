#include "trace.h"

#include "call_checks.h"
#include "core/attrs.h"
#include "tape.h"
#include "tensor_map.h"
#include "thread_state.h"

#include <stdlib.h>

extern const duet_op duet_op_read;

/* Two calls of a function that calls another twice, and so on, are soon more than there is memory
 * for; this many take a second or, in sub-graphs, some hundred megabytes. */
enum { MAX_OPS = 1 << 18 };

struct duet_trace {
    duet_graph *graph;
    uint64_t serial; /* what its symbolic tensors carry: never used twice */
    duet_trace *outer, *outermost;
    int n_ops;              /* of the outermost: recorded so far, in sub-graphs too */
    duet_tensor_map ids;    /* tensors from outside -> value id + 1 */
    duet_tensor **captured; /* held; of outer traces, in the order of their inputs */
    int n_captured;
    uint64_t outer_tapes; /* tapes outside do not see the inside */
    bool (*outer_check)(const char *name);
};

static bool may_not_make_variable(const char *name) {
    duet_fail(DUET_STATUS_STATE,
              "variable %s: made while function %s is traced again; make it once, outside, and let "
              "the function capture it",
              name ? name : "(unnamed)", duet_thread.trace->graph->name);
    return false;
}

duet_trace *duet_trace_begin(const char *name, bool may_make_variables) {
    duet_trace *trace = calloc(1, sizeof *trace);
    if (trace) trace->graph = duet_graph_new(name);
    if (!trace || !trace->graph) {
        free(trace);
        duet_fail(DUET_STATUS_MEMORY, "trace %s: no memory", name);
        return NULL;
    }
    static _Atomic uint64_t serials;
    trace->serial = atomic_fetch_add(&serials, 1) + 1;
    trace->outer = duet_thread.trace;
    trace->outermost = trace->outer ? trace->outer->outermost : trace;
    trace->outer_tapes = duet_thread.tapes;
    duet_thread.tapes = 0;
    trace->outer_check = duet_variable_check;
    if (!may_make_variables) duet_variable_check = may_not_make_variable;
    duet_thread.trace = trace;
    return trace;
}

duet_graph *duet_trace_end(duet_trace *trace) {
    duet_thread.trace = trace->outer;
    duet_thread.tapes = trace->outer_tapes;
    duet_variable_check = trace->outer_check;
    duet_graph *graph = trace->graph;
    for (int i = 0; i < trace->n_captured; i++) duet_release(trace->captured[i]);
    free(trace->captured);
    duet_tensor_map_free(&trace->ids);
    free(trace);
    if (duet_graph_ok(graph) == DUET_OK) return graph;
    duet_graph_free(graph);
    return NULL;
}

static duet_tensor *new_symbol(duet_trace *trace, int32_t value) {
    if (value < 0) return NULL;
    duet_tensor *t = duet_tensor_symbol(&trace->graph->values[value].spec, trace->serial, value);
    return t ? duet_scope_own(t) : NULL;
}

duet_tensor *duet_trace_input(duet_trace *trace, const duet_spec *spec) {
    return new_symbol(trace, duet_graph_add_input(trace->graph, spec));
}

int duet_trace_captured(const duet_trace *trace, duet_tensor *const **captured) {
    *captured = trace->captured;
    return trace->n_captured;
}

/* A value of an enclosing trace becomes one more input of this graph. */
static int32_t capture(duet_trace *trace, duet_tensor *t) {
    duet_tensor **larger =
        realloc(trace->captured, ((size_t)trace->n_captured + 1) * sizeof *larger);
    if (!larger) return -1;
    trace->captured = larger;
    trace->captured[trace->n_captured++] = duet_keep(t);
    return duet_graph_add_input(trace->graph, &t->spec);
}

static bool is_of_outer(const duet_trace *trace, const duet_tensor *t) {
    for (const duet_trace *at = trace->outer; at; at = at->outer)
        if (at->serial == t->trace) return true;
    return false;
}

/* A sub-graph's variables are its parents' too: whoever runs those must know of them. */
static int32_t add_variable(duet_trace *trace, duet_tensor *t) {
    for (duet_trace *at = trace->outer; at; at = at->outer) duet_graph_add_variable(at->graph, t);
    return duet_graph_add_variable(trace->graph, t);
}

/* The value that stands for `t` in the graph; -1 with a message. */
static int32_t value_of(duet_trace *trace, duet_tensor *t) {
    bool symbolic = t->flags & DUET_TENSOR_SYMBOLIC;
    if (symbolic && t->trace == trace->serial) return t->value;
    if (t->flags & DUET_TENSOR_VARIABLE) return add_variable(trace, t);
    void **id = duet_tensor_map_at(&trace->ids, t);
    if (id && *id) return (int32_t)(intptr_t)*id - 1;
    if (symbolic && !is_of_outer(trace, t)) {
        duet_fail(DUET_STATUS_STATE,
                  "function %s uses a value %s of another function's trace, which has ended",
                  trace->graph->name, DUET_SPEC_TEXT(&t->spec));
        return -1;
    }
    int32_t value = symbolic ? capture(trace, t) : duet_graph_add_constant(trace->graph, t);
    if (!id || value < 0)
        duet_fail(DUET_STATUS_MEMORY, "trace %s: no memory", trace->graph->name);
    else
        *id = (void *)(intptr_t)(value + 1);
    return id ? value : -1;
}

duet_status duet_trace_results(duet_trace *trace, duet_tensor *const *results, int count) {
    for (int i = 0; i < count; i++) {
        duet_tensor *t = results[i];
        if (t && (t->flags & DUET_TENSOR_VARIABLE)) {
            t = duet_apply1(&duet_op_read, t);
        }
        if (!t) {
            if (duet_error_code() != DUET_OK) return duet_error_code();
            return duet_fail(DUET_STATUS_ARGUMENT, "function %s: result %d is NULL",
                             trace->graph->name, i);
        }
        int32_t value = value_of(trace, t);
        if (value < 0) return duet_error_code();
        duet_graph_add_result(trace->graph, value);
    }
    return duet_graph_ok(trace->graph);
}

static duet_status add_call(duet_trace *trace, duet_tensor **out, const duet_op *op,
                            const duet_attr *attrs, duet_tensor *const *in, int n_in) {
    int32_t ids[DUET_MAX_INPUTS];
    const duet_spec *specs[DUET_MAX_INPUTS];
    duet_spec out_specs[DUET_MAX_OUTPUTS];
    for (int i = 0; i < n_in; i++) {
        specs[i] = &in[i]->spec;
        ids[i] = value_of(trace, in[i]);
        if (ids[i] < 0) return duet_error_code();
    }
    TRY(op->infer(out_specs, &(duet_op_call){op, attrs, specs, n_in}));
    CHECK(trace->outermost->n_ops < MAX_OPS, DUET_STATUS_UNSUPPORTED,
          "function %s: expected at most %d ops in its trace, got more: functions inside it and "
          "loops are unrolled; duet_while makes one op of a loop",
          trace->outermost->graph->name, MAX_OPS);
    trace->outermost->n_ops++;
    int n_out = duet_op_n_out(op, attrs);
    int32_t node = duet_graph_add_node(trace->graph, op, attrs, ids, n_in, out_specs, n_out);
    TRY(duet_graph_ok(trace->graph));
    for (int i = 0; i < n_out; i++) {
        out[i] = new_symbol(trace, trace->graph->nodes[node].out + i);
        if (!out[i]) return duet_error_code();
    }
    if (duet_thread.tapes) TRY(duet_tape_record(op, attrs, in, n_in, out, n_out));
    return DUET_OK;
}

/* A variable's value is an op's result of its own: the order of reads and writes is kept by it. */
static duet_status record_reads(duet_tensor **in, const duet_op *op, int n_in) {
    for (int i = 0; i < n_in; i++)
        if (duet_call_reads(op, in, i) && !(in[i] = duet_apply1(&duet_op_read, in[i])))
            return duet_error_code();
    return DUET_OK;
}

duet_status duet_trace_dispatch(duet_tensor **out, const duet_op *op, const duet_attr *attrs,
                                duet_tensor *const *in, int n_in) {
    duet_attr defaults[DUET_MAX_ATTRS];
    duet_tensor *resolved[DUET_MAX_INPUTS];
    if (!attrs && op->attrs[0].kind != DUET_ATTR_NONE) {
        duet_attrs_init(defaults, op);
        attrs = defaults;
    }
    duet_status status = duet_call_check_arity(op, n_in);
    for (int i = 0; i < n_in && status == DUET_OK; i++) {
        if (!in[i]) status = duet_call_null_error(op, i);
        resolved[i] = in[i];
    }
    if (status == DUET_OK) status = duet_call_check_variables(op, in, n_in);
    if (status == DUET_OK) status = record_reads(resolved, op, n_in);
    if (status == DUET_OK) status = add_call(duet_thread.trace, out, op, attrs, resolved, n_in);
    if (status != DUET_OK)
        for (int i = 0; i < duet_op_n_out(op, attrs); i++) out[i] = NULL;
    return status;
}

/* ---- where in the user's source -------------------------------------------------------------- */

duet_tensor *duet_here_slowly(duet_tensor *result, const char *file, int line) {
    if (!result) {
        duet_fail_at(file, line);
        return NULL;
    }
    duet_trace *trace = duet_thread.trace;
    if (!trace || result->trace != trace->serial) return result;
    const duet_graph_value *value = &trace->graph->values[result->value];
    if (value->kind != DUET_VALUE_RESULT) return result;
    duet_graph_node *node = &trace->graph->nodes[value->node];
    if (!node->file) node->file = file, node->line = line;
    return result;
}

duet_status duet_here_status(duet_status status, const char *file, int line) {
    if (status != DUET_OK) {
        duet_fail_at(file, line);
        return status;
    }
    duet_trace *trace = duet_thread.trace;
    if (!trace || !trace->graph->n_nodes) return status;
    duet_graph_node *node = &trace->graph->nodes[trace->graph->n_nodes - 1];
    if (!node->file) node->file = file, node->line = line;
    return status;
}
