/* cond and while: plain calls when eager, ops with sub-graphs when traced. */
#include "callback.h"
#include "graph_body.h"
#include "tape.h"
#include "thread_state.h"
#include "trace.h"

#include <stdlib.h>

extern const duet_op duet_op_cond, duet_op_while, duet_op_read;

/* The callbacks, for messages of their failures. */
static const char then_branch[] = "cond: its then branch", else_branch[] = "cond: its else branch";
static const char while_condition[] = "while: its condition", while_body[] = "while: its body";

/* ---- sub-graphs ---------------------------------------------------------------------------------
 */

/* A sub-graph as traced: its inputs are the arguments, then what it captured from around it. */
typedef struct sub_graph {
    duet_graph *graph;
    duet_tensor *captured[DUET_MAX_INPUTS]; /* of the enclosing trace; it keeps them */
    int n_captured;
} sub_graph;

static duet_status record(duet_trace *trace, const char *what, duet_callback body, void *user,
                          int n_out, duet_tensor *const *in, int n_in) {
    duet_tensor *args[DUET_MAX_INPUTS], *out[DUET_MAX_OUTPUTS] = {NULL};
    for (int i = 0; i < n_in; i++)
        if (!(args[i] = duet_trace_input(trace, &in[i]->spec))) return duet_error_code();
    TRY(duet_call_body(body, out, args, user, "%s", what));
    return duet_trace_results(trace, out, n_out);
}

/* `what` it is, for messages; `name` is the graph's. */
static duet_status trace_sub_graph(sub_graph *sub, const char *what, const char *name,
                                   duet_callback body, void *user, int n_out,
                                   duet_tensor *const *in, int n_in) {
    duet_trace *trace = duet_trace_begin(name, false);
    if (!trace) return duet_error_code();
    int depth = duet_scope_depth();
    duet_scope_open();
    duet_status status = record(trace, what, body, user, n_out, in, n_in);
    duet_tensor *const *captured;
    sub->n_captured = duet_trace_captured(trace, &captured);
    if (status == DUET_OK && n_in + sub->n_captured > DUET_MAX_INPUTS)
        status = duet_fail(DUET_STATUS_UNSUPPORTED, "%s: uses more than %d values from around it",
                           name, DUET_MAX_INPUTS);
    for (int i = 0; i < sub->n_captured && status == DUET_OK; i++) sub->captured[i] = captured[i];
    while (duet_scope_depth() > depth) duet_scope_close(NULL);
    sub->graph = duet_trace_end(trace);
    return status == DUET_OK && !sub->graph ? duet_error_code() : status;
}

/* Gives both sub-graphs the same inputs: the arguments, then everything that either captured. */
static duet_status unify_inputs(sub_graph *a, sub_graph *b, int n_in) {
    sub_graph *both[] = {a, b};
    duet_tensor *all[2 * DUET_MAX_INPUTS];
    int n_all = 0;
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < both[s]->n_captured; i++) {
            int at = 0;
            while (at < n_all && all[at] != both[s]->captured[i]) at++;
            if (at == n_all) all[n_all++] = both[s]->captured[i];
        }
    for (int s = 0; s < 2; s++) {
        sub_graph *sub = both[s];
        int32_t order[2 * DUET_MAX_INPUTS];
        for (int at = 0; at < n_all; at++) {
            int i = 0;
            while (i < sub->n_captured && sub->captured[i] != all[at]) i++;
            order[at] = i < sub->n_captured ? sub->graph->inputs[n_in + i]
                                            : duet_graph_add_input(sub->graph, &all[at]->spec);
        }
        for (int at = 0; at < n_all && !sub->graph->out_of_memory; at++) {
            sub->graph->inputs[n_in + at] = order[at];
            sub->graph->values[order[at]].index = n_in + at;
        }
    }
    for (int s = 0; s < 2; s++) {
        both[s]->n_captured = n_all;
        for (int i = 0; i < n_all && i < DUET_MAX_INPUTS; i++) both[s]->captured[i] = all[i];
    }
    TRY(duet_graph_ok(a->graph));
    return duet_graph_ok(b->graph);
}

/* Turns the graph into an attribute; the sub-graph is used up. */
static duet_status to_body(duet_attr *attr, sub_graph *sub) {
    duet_graph *graph = sub->graph;
    sub->graph = NULL;
    if (duet_graph_compact(graph) != DUET_OK) {
        duet_graph_free(graph);
        return duet_error_code();
    }
    attr->body = duet_graph_body_new(graph);
    return attr->body ? DUET_OK : duet_error_code();
}

/* ---- bodies called eagerly: what they get and give is as of a sub-graph ------------------------
 */

/* Values of variables as of now; the others as they are. */
static duet_status read_variables(duet_tensor **values, duet_tensor *const *in, int n) {
    for (int i = 0; i < n; i++) {
        bool variable = in[i] && (in[i]->flags & DUET_TENSOR_VARIABLE);
        values[i] = variable ? duet_apply1(&duet_op_read, in[i]) : in[i];
        if (variable && !values[i]) return duet_error_code();
    }
    return DUET_OK;
}

/* The same values, those that a tape follows as tensors of the body's own: so what its uses add to
 * a gradient is summed up by itself first, in the order in which a sub-graph's gradient does. */
static duet_status enter(duet_tensor **args, duet_tensor *const *values, int n) {
    for (int i = 0; i < n; i++) {
        args[i] = values[i];
        if (!duet_tape_follows(&values[i], 1)) continue;
        args[i] = duet_reshape(values[i], values[i]->spec.shape);
        if (!args[i]) return duet_error_code();
    }
    return DUET_OK;
}

/* Refuses a value that is missing, or that has none because its trace has ended; index -1: `what`
 * is the only one. */
static duet_status check_value(const char *who, const char *what, int index,
                               const duet_tensor *value) {
    bool ended = value && (value->flags & DUET_TENSOR_SYMBOLIC) && !duet_thread.trace;
    char number[16] = "";
    if (value && !ended) return DUET_OK;
    if (!value && duet_error_code() != DUET_OK) return duet_error_code();
    if (index >= 0) snprintf(number, sizeof number, " %d", index);
    CHECK(value, DUET_STATUS_ARGUMENT, "%s: %s%s is NULL", who, what, number);
    return duet_fail(DUET_STATUS_STATE,
                     "%s: %s%s is a value of a function's trace that has ended; return it from the "
                     "function",
                     who, what, number);
}

/* What a body called eagerly gave: values as of now, none missing. */
static duet_status check_results(const char *who, duet_tensor **out, int n) {
    TRY(read_variables(out, out, n));
    for (int i = 0; i < n; i++) TRY(check_value(who, "result", i, out[i]));
    return DUET_OK;
}

/* Closes the scopes inside `depth`, those too that a body left open; a failure has no results. */
static duet_status leave(duet_status status, int depth, duet_tensor **out, int n) {
    for (int i = 0; i < n && status != DUET_OK; i++) out[i] = NULL;
    while (duet_scope_depth() > depth) duet_scope_close_many(out, n);
    return status;
}

static duet_status run_branch(const char *what, duet_tensor **out, int n_out, duet_callback body,
                              duet_tensor *const *in, int n_in, void *user) {
    duet_tensor *args[DUET_MAX_INPUTS];
    int depth = duet_scope_depth();
    TRY(read_variables(args, in, n_in));
    TRY(enter(args, args, n_in));
    duet_status status = duet_call_body(body, out, args, user, "%s", what);
    if (status == DUET_OK) status = check_results("cond", out, n_out);
    return leave(status, depth, out, n_out);
}

/* ---- cond
 * ------------------------------------------------------------------------------------------ */

static duet_status check_operands(const char *who, duet_tensor *const *in, int n_in, int n_out) {
    CHECK(n_in >= 0 && n_in < DUET_MAX_INPUTS && n_out >= 1 && n_out <= DUET_MAX_OUTPUTS,
          DUET_STATUS_ARGUMENT, "%s: expected at most %d inputs and 1 to %d results, got %d and %d",
          who, DUET_MAX_INPUTS - 1, DUET_MAX_OUTPUTS, n_in, n_out);
    CHECK(in || n_in == 0, DUET_STATUS_ARGUMENT, "%s: in is NULL", who);
    for (int i = 0; i < n_in; i++) TRY(check_value(who, "input", i, in[i]));
    return DUET_OK;
}

static duet_status trace_cond(duet_tensor **out, int n_out, duet_tensor *pred,
                              duet_callback then_body, duet_callback else_body,
                              duet_tensor *const *in, int n_in, void *user) {
    sub_graph then = {0}, other = {0};
    duet_attr attrs[DUET_MAX_ATTRS] = {{.b = false}};
    duet_status status =
        trace_sub_graph(&then, then_branch, "then", then_body, user, n_out, in, n_in);
    if (status == DUET_OK)
        status = trace_sub_graph(&other, else_branch, "else", else_body, user, n_out, in, n_in);
    if (status == DUET_OK) status = unify_inputs(&then, &other, n_in);
    if (status == DUET_OK) {
        int n_all = n_in + then.n_captured;
        status = n_all < DUET_MAX_INPUTS
                     ? to_body(&attrs[0], &then)
                     : duet_fail(DUET_STATUS_UNSUPPORTED, "cond: too many inputs");
        if (status == DUET_OK) status = to_body(&attrs[1], &other);
        duet_tensor *operands[DUET_MAX_INPUTS] = {pred};
        for (int i = 0; i < n_in; i++) operands[1 + i] = in[i];
        for (int i = 0; i < then.n_captured && status == DUET_OK; i++)
            operands[1 + n_in + i] = then.captured[i];
        if (status == DUET_OK)
            status = duet_dispatch(out, &duet_op_cond, attrs, operands, 1 + n_all);
    }
    duet_graph_free(then.graph);
    duet_graph_free(other.graph);
    duet_body_release(attrs[0].body);
    duet_body_release(attrs[1].body);
    return status;
}

duet_status duet_cond(duet_tensor **out, int n_out, duet_tensor *pred, duet_callback then_body,
                      duet_callback else_body, duet_tensor *const *in, int n_in, void *user) {
    CHECK(out, DUET_STATUS_ARGUMENT, "cond: out is NULL");
    CHECK(then_body, DUET_STATUS_ARGUMENT, "cond: then_body is NULL");
    CHECK(else_body, DUET_STATUS_ARGUMENT, "cond: else_body is NULL");
    TRY(check_value("cond", "pred", -1, pred));
    TRY(check_operands("cond", in, n_in, n_out));
    CHECK(pred->spec.dtype == DUET_BOOL && pred->spec.shape.rank == 0, DUET_STATUS_SHAPE,
          "cond: pred: expected bool[], got %s", DUET_SPEC_TEXT(&pred->spec));
    for (int i = 0; i < n_out; i++) out[i] = NULL;
    if (duet_thread.trace)
        return trace_cond(out, n_out, pred, then_body, else_body, in, n_in, user);
    bool then = duet_item(pred, 0) != 0;
    return run_branch(then ? then_branch : else_branch, out, n_out, then ? then_body : else_body,
                      in, n_in, user);
}

/* ---- while
 * ------------------------------------------------------------------------------------------ */

/* What the loop's sub-graphs captured becomes state that the body hands on unchanged. */
static duet_status trace_while(duet_tensor **out, duet_callback condition, duet_callback body,
                               duet_tensor *const *in, int n, void *user) {
    sub_graph step = {0}, goes_on = {0};
    duet_attr attrs[DUET_MAX_ATTRS] = {{.b = false}};
    duet_tensor *state[DUET_MAX_OUTPUTS], *last[DUET_MAX_OUTPUTS];
    duet_status status = trace_sub_graph(&step, while_body, "body", body, user, n, in, n);
    if (status == DUET_OK)
        status = trace_sub_graph(&goes_on, while_condition, "cond", condition, user, 1, in, n);
    if (status == DUET_OK) status = unify_inputs(&step, &goes_on, n);
    int n_state = n + step.n_captured;
    if (status == DUET_OK && n_state > DUET_MAX_OUTPUTS)
        status =
            duet_fail(DUET_STATUS_UNSUPPORTED,
                      "while: expected at most %d values in state and used from around, got %d",
                      DUET_MAX_OUTPUTS, n_state);
    for (int i = 0; i < n_state && status == DUET_OK; i++) {
        state[i] = i < n ? in[i] : step.captured[i - n];
        if (i >= n) duet_graph_add_result(step.graph, step.graph->inputs[i]);
    }
    if (status == DUET_OK) status = to_body(&attrs[0], &step);
    if (status == DUET_OK) status = to_body(&attrs[1], &goes_on);
    if (status == DUET_OK) status = duet_dispatch(last, &duet_op_while, attrs, state, n_state);
    for (int i = 0; i < n && status == DUET_OK; i++) out[i] = last[i];
    duet_graph_free(step.graph);
    duet_graph_free(goes_on.graph);
    duet_body_release(attrs[0].body);
    duet_body_release(attrs[1].body);
    return status;
}

/* One round, in a scope of its own; `state` is replaced. */
static duet_status run_round(bool *goes_on, duet_tensor **state, duet_callback condition,
                             duet_callback body, int n, void *user) {
    duet_tensor *pred[DUET_MAX_OUTPUTS] = {NULL}, *next[DUET_MAX_OUTPUTS] = {NULL};
    duet_tensor *args[DUET_MAX_OUTPUTS];
    TRY(duet_call_body(condition, pred, state, user, "%s", while_condition));
    TRY(check_value("while", "cond", -1, pred[0]));
    CHECK(pred[0]->spec.dtype == DUET_BOOL && pred[0]->spec.shape.rank == 0, DUET_STATUS_SHAPE,
          "while: cond: expected bool[], got %s", DUET_SPEC_TEXT(&pred[0]->spec));
    *goes_on = duet_item(pred[0], 0) != 0;
    if (!*goes_on) return DUET_OK;
    TRY(enter(args, state, n));
    TRY(duet_call_body(body, next, args, user, "%s", while_body));
    TRY(check_results("while", next, n));
    for (int i = 0; i < n; i++) {
        CHECK(duet_spec_equal(&next[i]->spec, &state[i]->spec), DUET_STATUS_SHAPE,
              "while: state %d enters the body as %s and leaves it as %s", i,
              DUET_SPEC_TEXT(&state[i]->spec), DUET_SPEC_TEXT(&next[i]->spec));
        state[i] = next[i];
    }
    return DUET_OK;
}

static duet_status run_while(duet_tensor **out, duet_callback condition, duet_callback body,
                             duet_tensor *const *in, int n, void *user) {
    duet_tensor *state[DUET_MAX_OUTPUTS];
    int depth = duet_scope_depth();
    TRY(read_variables(state, in, n));
    for (bool goes_on = true; goes_on;) {
        duet_scope_open();
        TRY(leave(run_round(&goes_on, state, condition, body, n, user), depth, state, n));
    }
    for (int i = 0; i < n; i++) out[i] = state[i];
    return DUET_OK;
}

duet_status duet_while(duet_tensor **out, duet_callback condition, duet_callback body,
                       duet_tensor *const *in, int n, void *user) {
    CHECK(out, DUET_STATUS_ARGUMENT, "while: out is NULL");
    CHECK(condition, DUET_STATUS_ARGUMENT, "while: condition is NULL");
    CHECK(body, DUET_STATUS_ARGUMENT, "while: body is NULL");
    CHECK(n >= 1, DUET_STATUS_ARGUMENT, "while: expected at least one value of state, got %d", n);
    TRY(check_operands("while", in, n, n));
    for (int i = 0; i < n; i++) out[i] = NULL;
    if (duet_thread.trace) return trace_while(out, condition, body, in, n, user);
    return run_while(out, condition, body, in, n, user);
}
