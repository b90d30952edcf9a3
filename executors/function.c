/* Functions: making them, calling them. The cache of plans is function_cache.c. */
#include "function.h"

#include "callback.h"
#include "debug.h"
#include "tape.h"
#include "thread_state.h"
#include "trace.h"

#include <inttypes.h>
#include <stdlib.h>

extern const duet_op duet_op_invoke;

enum { MAX_NESTING = 64 }; /* functions inside functions; more is a function that calls itself */

duet_function *duet_function_new(const char *name, duet_callback body, int n_in, int n_out,
                                 void *user) {
    duet_function *f = NULL;
    if (!body || n_in < 0 || n_in > DUET_MAX_INPUTS || n_out < 1 || n_out > DUET_MAX_OUTPUTS)
        duet_fail(DUET_STATUS_ARGUMENT,
                  "function %s: expected a body, 0 to %d inputs and 1 to %d outputs, got %d and %d",
                  name ? name : "", DUET_MAX_INPUTS, DUET_MAX_OUTPUTS, n_in, n_out);
    else if (!(f = calloc(1, sizeof *f)) || !(f->name = strdup(name ? name : "function")))
        duet_fail(DUET_STATUS_MEMORY, "function: no memory");
    if (!f || !f->name) {
        free(f);
        return NULL;
    }
    f->body = body;
    f->user = user;
    f->n_in = n_in;
    f->n_out = n_out;
    pthread_mutex_init(&f->lock, NULL);
    return f;
}

/* The two short forms: `user` is the function pointer itself (POSIX lets them pass as void *). */
static duet_status call_unary_body(duet_tensor **out, duet_tensor *const *in, void *user) {
    out[0] = ((duet_tensor * (*)(duet_tensor *)) user)(in[0]);
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status call_binary_body(duet_tensor **out, duet_tensor *const *in, void *user) {
    out[0] = ((duet_tensor * (*)(duet_tensor *, duet_tensor *)) user)(in[0], in[1]);
    return out[0] ? DUET_OK : duet_error_code();
}

duet_function *duet_function_unary(const char *name, duet_tensor *(*body)(duet_tensor *)) {
    return duet_function_new(name, body ? call_unary_body : NULL, 1, 1, (void *)body);
}

duet_function *duet_function_binary(const char *name,
                                    duet_tensor *(*body)(duet_tensor *, duet_tensor *)) {
    return duet_function_new(name, body ? call_binary_body : NULL, 2, 1, (void *)body);
}

void duet_function_free(duet_function *f) {
    if (!f) return;
    if (duet_function_may_change(f, "function_free") != DUET_OK) return;
    duet_function_note_end(f);
    duet_function_clear(f);
    pthread_mutex_destroy(&f->lock);
    free(f->declared);
    free(f->free_trace_keys);
    free(f->name);
    free(f);
}

duet_status duet_function_declare(duet_function *f, const char *signature) {
    duet_spec specs[DUET_MAX_INPUTS];
    int count;
    CHECK(f, DUET_STATUS_ARGUMENT, "function_declare: function is NULL");
    CHECK(signature, DUET_STATUS_ARGUMENT, "function_declare: signature is NULL");
    TRY(duet_function_may_change(f, "function_declare"));
    TRY(duet_signature_parse(specs, &count, f->n_in, signature));
    CHECK(count == f->n_in, DUET_STATUS_ARGUMENT, "function %s: expected %d types, got \"%s\"",
          f->name, f->n_in, signature);
    duet_spec *declared = malloc(((size_t)count + 1) * sizeof *declared);
    CHECK(declared, DUET_STATUS_MEMORY, "function %s: no memory", f->name);
    memcpy(declared, specs, (size_t)count * sizeof *declared);
    duet_function_clear(f);
    free(f->declared);
    f->declared = declared;
    return DUET_OK;
}

duet_status duet_function_check(const duet_function *f, duet_tensor *const *in) {
    for (int i = 0; i < f->n_in; i++) {
        if (!in[i] && duet_error_code() != DUET_OK) return duet_error_code();
        CHECK(in[i], DUET_STATUS_ARGUMENT, "function %s: argument %d is NULL", f->name, i);
        CHECK(!f->declared || duet_spec_fits(&f->declared[i], &in[i]->spec), DUET_STATUS_SHAPE,
              "function %s: argument %d: expected %s, got %s", f->name, i,
              DUET_SPEC_TEXT(&f->declared[i]), DUET_SPEC_TEXT(&in[i]->spec));
    }
    return DUET_OK;
}

/* Runs the body where it stands: op by op, or into the trace that is being recorded. */
static duet_status call_inline(duet_function *f, duet_tensor **out, duet_tensor *const *in) {
    static _Thread_local int nesting;
    CHECK(nesting < MAX_NESTING, DUET_STATUS_STATE,
          "function %s: functions are nested %d deep; does it call itself?", f->name, MAX_NESTING);
    for (int i = 0; i < f->n_out; i++) out[i] = NULL;
    nesting++;
    duet_running running = {f, false, duet_functions_running};
    duet_functions_running = &running;
    int depth = duet_scope_depth();
    duet_scope_open();
    duet_status status =
        duet_call_body(f->body, out, in, f->user, "function %s: its body", f->name);
    duet_functions_running = running.outer;
    for (int i = 0; i < f->n_out && status == DUET_OK; i++)
        if (!out[i])
            status = duet_fail(DUET_STATUS_ARGUMENT, "function %s: result %d is NULL", f->name, i);
    if (status != DUET_OK)
        for (int i = 0; i < f->n_out; i++) out[i] = NULL;
    while (duet_scope_depth() > depth)
        duet_scope_close_many(out, f->n_out); /* those it left, too */
    nesting--;
    return status;
}

static duet_status replay(duet_plan *plan, duet_tensor **out, duet_tensor *const *in) {
    void *in_data[DUET_MAX_INPUTS], *out_data[DUET_MAX_OUTPUTS];
    const duet_graph *g = plan->graph;
    for (int32_t i = 0; i < g->n_inputs; i++) in_data[i] = in[i]->data;
    for (int32_t i = 0; i < g->n_results; i++) {
        duet_tensor *t = duet_tensor_alloc(&g->values[g->results[i]].spec);
        out[i] = t ? duet_scope_own(t) : NULL;
        if (!out[i]) return DUET_STATUS_MEMORY;
        out_data[i] = out[i]->data;
    }
    return duet_plan_run(plan, in_data, out_data);
}

/* A call that a tape follows: one op on the tape, whose gradient is a graph of its own. Where the
 * function has effects, op by op: its reads and writes must be seen in their order. */
static duet_status call_taped(duet_function *f, duet_entry *entry, duet_tensor **out,
                              duet_tensor *const *in) {
    duet_body *body = duet_entry_body(f, entry);
    if (!body) return duet_error_code();
    if (body->stateful) return call_inline(f, out, in);
    return duet_dispatch(out, &duet_op_invoke, &(duet_attr){.body = body}, in, f->n_in);
}

duet_status duet_call(duet_function *f, duet_tensor **out, duet_tensor *const *in) {
    CHECK(f, DUET_STATUS_ARGUMENT, "call: function is NULL");
    CHECK(out, DUET_STATUS_ARGUMENT, "call: out is NULL");
    for (int i = 0; i < f->n_out; i++) out[i] = NULL;
    CHECK(in || f->n_in == 0, DUET_STATUS_ARGUMENT, "call: in is NULL");
    TRY(duet_function_check(f, in));
    if (duet_thread.trace || duet_thread.run_eagerly) {
        if (duet_debug(1))
            duet_debug_call(f, in, duet_thread.trace ? "inlined into a trace" : "run op by op");
        return call_inline(f, out, in);
    }
    duet_entry *entry = duet_function_entry(f, in);
    if (!entry) return duet_error_code();
    bool taped =
        duet_thread.tapes && (entry->plan->uses_variables || duet_tape_follows(in, f->n_in));
    duet_status status = taped ? call_taped(f, entry, out, in) : replay(entry->plan, out, in);
    duet_entry_release(entry);
    if (status != DUET_OK)
        for (int i = 0; i < f->n_out; i++) out[i] = NULL;
    return status;
}

/* Of a function that could not be made, the message tells why: it is kept. */
static bool is_unmade(const duet_function *f) { return !f && duet_error_code() != DUET_OK; }

/* Calls a function of `n_in` inputs and one result. */
static duet_tensor *call_for_one(duet_function *f, duet_tensor *const *in, int n_in,
                                 const char *who) {
    duet_tensor *out;
    if (is_unmade(f)) return NULL;
    if (f && (f->n_in != n_in || f->n_out != 1)) {
        duet_fail(DUET_STATUS_ARGUMENT,
                  "%s: expected a function of %d input%s and 1 result, got %s of %d and %d", who,
                  n_in, n_in == 1 ? "" : "s", f->name, f->n_in, f->n_out);
        return NULL;
    }
    return duet_call(f, &out, in) == DUET_OK ? out : NULL;
}

duet_tensor *duet_call_unary(duet_function *f, duet_tensor *x) {
    return call_for_one(f, &x, 1, "call_unary");
}

duet_tensor *duet_call_binary(duet_function *f, duet_tensor *x, duet_tensor *y) {
    return call_for_one(f, (duet_tensor *[]){x, y}, 2, "call_binary");
}
