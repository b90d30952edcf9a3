/* A function's plans, by signature: found, traced, dropped; and why it had to trace again. */
#include "function.h"

#include "callback.h"
#include "core/attrs.h"
#include "debug.h"
#include "passes.h"
#include "thread_state.h"
#include "trace.h"
#include "warning.h"

#include <inttypes.h>
#include <stdlib.h>

enum { TRACES_BEFORE_WARNING = 5 };

void duet_entry_release(duet_entry *entry) {
    if (atomic_fetch_sub_explicit(&entry->refs, 1, memory_order_acq_rel) != 1) return;
    duet_plan_free(entry->plan);
    duet_frozen_release(&entry->frozen);
    duet_graph_free(entry->traced);
    duet_body_release(atomic_load(&entry->body));
    free(entry);
}

/* ---- from inside a body -------------------------------------------------------------------------
 */

_Thread_local duet_running *duet_functions_running;

duet_status duet_function_may_change(const duet_function *f, const char *who) {
    for (const duet_running *at = duet_functions_running; at; at = at->outer)
        CHECK(at->function != f, DUET_STATUS_STATE, "%s: not while function %s is %s", who, f->name,
              at->holds_lock || duet_thread.trace ? "traced" : "running");
    return DUET_OK;
}

bool duet_function_lock_to_read(const duet_function *f) {
    for (const duet_running *at = duet_functions_running; at; at = at->outer)
        if (at->function == f && at->holds_lock) return false;
    pthread_mutex_lock(&((duet_function *)f)->lock); /* the lock is no part of its value */
    return true;
}

void duet_function_unlock_read(const duet_function *f, bool locked) {
    if (locked) pthread_mutex_unlock(&((duet_function *)f)->lock);
}

/* ---- tracing -----------------------------------------------------------------------------------
 */

static duet_status record_body(duet_function *f, duet_trace *trace, duet_tensor *const *in,
                               const duet_arg_key *keys) {
    duet_tensor *args[DUET_MAX_INPUTS], *out[DUET_MAX_OUTPUTS] = {NULL};
    for (int i = 0; i < f->n_in; i++) { /* literals and variables pass as they are */
        args[i] = duet_trace_input(trace, &keys[i].spec);
        if (!args[i]) return duet_error_code();
        if (keys[i].kind != DUET_ARG_TENSOR) args[i] = in[i];
    }
    uint64_t refused = duet_refused_reads();
    TRY(duet_call_body(f->body, out, args, f->user, "function %s: its body", f->name));
    CHECK(duet_refused_reads() == refused, DUET_STATUS_STATE,
          "function %s: its body read a value that is not available while tracing; return it from "
          "the function, or pass it in as a literal",
          f->name);
    return duet_trace_results(trace, out, f->n_out);
}

duet_graph *duet_function_trace(duet_function *f, duet_tensor *const *in,
                                const duet_arg_key *keys) {
    duet_trace *trace = duet_trace_begin(f->name, f->stats.traces == 0);
    if (!trace) return NULL;
    int depth = duet_scope_depth();
    duet_scope_open();
    duet_running running = {f, true, duet_functions_running};
    duet_functions_running = &running;
    duet_status status = record_body(f, trace, in, keys);
    duet_functions_running = running.outer;
    while (duet_scope_depth() > depth) duet_scope_close(NULL); /* those a failing body left, too */
    duet_graph *graph = duet_trace_end(trace);
    if (status == DUET_OK) {
        if (graph && duet_debug(1)) duet_debug_frozen(graph);
        return graph;
    }
    duet_graph_free(graph);
    return NULL;
}

static bool same_but_dims(const duet_arg_key *a, const duet_arg_key *b, int count) {
    for (int i = 0; i < count; i++)
        if (a[i].kind != b[i].kind || a[i].bits != b[i].bits) return false;
    return true;
}

static duet_graph *respecify(const duet_graph *trace, const duet_arg_key *keys, int n_in) {
    const duet_spec *specs[DUET_MAX_INPUTS];
    for (int i = 0; i < n_in; i++) specs[i] = &keys[i].spec;
    return duet_graph_respecify(trace, specs);
}

static void as_declared(duet_arg_key *declared, const duet_function *f, const duet_arg_key *keys) {
    for (int i = 0; i < f->n_in; i++) {
        declared[i] = keys[i];
        declared[i].spec = f->declared[i];
    }
}

duet_graph *duet_function_trace_anew(duet_function *f, duet_tensor *const *in,
                                     const duet_arg_key *keys) {
    duet_arg_key declared[DUET_MAX_INPUTS];
    if (!f->declared) return duet_function_trace(f, in, keys);
    as_declared(declared, f, keys);
    duet_graph *trace = duet_function_trace(f, in, declared);
    duet_graph *graph = trace ? respecify(trace, keys, f->n_in) : NULL;
    duet_graph_free(trace);
    return graph;
}

static bool has_free_trace(const duet_function *f, const duet_arg_key *keys) {
    return f->free_trace && same_but_dims(f->free_trace_keys, keys, f->n_in);
}

static duet_graph *trace_declared(duet_function *f, duet_tensor *const *in,
                                  const duet_arg_key *keys) {
    if (!has_free_trace(f, keys)) {
        duet_arg_key *declared = malloc(((size_t)f->n_in + 1) * sizeof *keys);
        if (!declared) return duet_fail(DUET_STATUS_MEMORY, "function: no memory"), NULL;
        as_declared(declared, f, keys);
        duet_graph *graph = duet_function_trace(f, in, declared);
        if (!graph) return free(declared), NULL;
        f->stats.traces++;
        duet_graph_free(f->free_trace);
        free(f->free_trace_keys);
        f->free_trace = graph;
        f->free_trace_keys = declared;
    }
    return respecify(f->free_trace, keys, f->n_in);
}

/* The graph that the body records, with the dimensions of this call. */
static duet_graph *trace_for(duet_function *f, duet_tensor *const *in, const duet_arg_key *keys) {
    if (duet_debug(1)) duet_debug_new_plan(f, keys, has_free_trace(f, keys));
    if (f->declared) return trace_declared(f, in, keys);
    duet_graph *graph = duet_function_trace(f, in, keys);
    if (graph) f->stats.traces++;
    return graph;
}

static duet_plan *plan_of(const duet_graph *traced) {
    duet_graph *graph = duet_graph_copy(traced);
    if (!graph) return NULL;
    if (duet_run_passes(graph) == DUET_OK) return duet_plan_new(graph);
    duet_graph_free(graph);
    return NULL;
}

duet_body *duet_entry_body(duet_function *f, duet_entry *entry) {
    pthread_mutex_lock(&f->lock);
    duet_body *body = atomic_load(&entry->body);
    if (!body) {
        duet_graph *copy = duet_graph_copy(entry->traced);
        body = copy ? duet_graph_body_new(copy) : NULL;
        atomic_store(&entry->body, body);
    }
    pthread_mutex_unlock(&f->lock);
    return body;
}

/* ---- why again ---------------------------------------------------------------------------------
 */

static void warn_of_retraces(duet_function *f, const duet_arg_key *keys) {
    const duet_entry *before = f->entries; /* the most recently used one */
    for (int i = 0; i < f->n_in; i++) {
        if (memcmp(&keys[i], &before->keys[i], sizeof *keys) == 0) continue;
        duet_text old_text, new_text;
        duet_warn(
            "function %s traced in %d calls of %d: argument %d: %s -> %s; %s", f->name,
            TRACES_BEFORE_WARNING, TRACES_BEFORE_WARNING, i,
            duet_arg_key_text(&old_text, &before->keys[i]), duet_arg_key_text(&new_text, &keys[i]),
            keys[i].kind == DUET_ARG_LITERAL    ? "pass the number as a tensor"
            : keys[i].kind == DUET_ARG_VARIABLE ? "pass its value, or capture one variable"
                                                : "declare a signature with a free dimension (?)");
        f->warned = true;
        return;
    }
}

void duet_function_note_end(const duet_function *f) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static duet_callback body; /* of the function that ended last ... */
    static void *user;
    static int short_lives; /* ... and of so many before it that were called once */
    if (f->stats.traces == 0) return;
    pthread_mutex_lock(&lock);
    bool same = f->body == body && f->user == user;
    short_lives = f->stats.calls > 1 ? 0 : same ? short_lives + 1 : 1;
    body = f->body;
    user = f->user;
    bool warn = short_lives == TRACES_BEFORE_WARNING;
    pthread_mutex_unlock(&lock);
    if (warn)
        duet_warn("function %s: %d function objects of one body were made, traced, called once and "
                  "freed; make it once, outside the loop, and call that",
                  f->name, TRACES_BEFORE_WARNING);
}

/* ---- the cache: most recently used first --------------------------------------------------------
 */

duet_entry *duet_function_find(duet_function *f, const duet_arg_key *keys) {
    size_t bytes = (size_t)f->n_in * sizeof *keys;
    for (duet_entry **at = &f->entries; *at; at = &(*at)->next) {
        duet_entry *entry = *at;
        if (memcmp(entry->keys, keys, bytes) != 0) continue;
        *at = entry->next;
        entry->next = f->entries;
        f->entries = entry;
        return entry;
    }
    return NULL;
}

static void drop_last(duet_function *f) {
    duet_entry **at = &f->entries;
    while ((*at)->next) at = &(*at)->next;
    duet_entry_release(*at);
    *at = NULL;
    f->stats.live_graphs--;
    f->stats.evictions++;
}

static duet_entry *add(duet_function *f, duet_tensor *const *in, const duet_arg_key *keys) {
    int64_t traces = f->stats.traces;
    duet_frozen frozen = {0};
    size_t bytes = (size_t)f->n_in * sizeof *keys;
    duet_graph *traced = trace_for(f, in, keys);
    duet_plan *plan = traced && duet_frozen_of(&frozen, traced) == DUET_OK ? plan_of(traced) : NULL;
    duet_entry *entry = plan ? malloc(sizeof *entry + bytes) : NULL;
    if (!entry) {
        if (plan) duet_fail(DUET_STATUS_MEMORY, "function %s: no memory", f->name);
        duet_plan_free(plan);
        duet_graph_free(traced);
        duet_frozen_release(&frozen);
        return NULL;
    }
    f->traced_in_a_row = f->stats.traces > traces ? f->traced_in_a_row + 1 : 0;
    if (f->traced_in_a_row == TRACES_BEFORE_WARNING && f->entries && !f->warned)
        warn_of_retraces(f, keys);
    *entry = (duet_entry){.next = f->entries, .plan = plan, .traced = traced, .frozen = frozen};
    atomic_init(&entry->refs, 1);
    memcpy(entry->keys, keys, bytes);
    f->entries = entry;
    if (f->stats.live_graphs++ == DUET_CACHE_ROOM) drop_last(f);
    return entry;
}

duet_entry *duet_function_entry(duet_function *f, duet_tensor *const *in) {
    duet_arg_key keys[DUET_MAX_INPUTS];
    for (int i = 0; i < f->n_in; i++) keys[i] = duet_arg_key_of(in[i]);
    pthread_mutex_lock(&f->lock);
    duet_entry *entry = duet_function_find(f, keys);
    if (entry && duet_debug(1)) duet_debug_call(f, in, "replayed");
    if (entry)
        f->traced_in_a_row = 0;
    else
        entry = add(f, in, keys);
    if (entry) {
        atomic_fetch_add_explicit(&entry->refs, 1, memory_order_relaxed);
        f->stats.calls++;
    }
    pthread_mutex_unlock(&f->lock);
    return entry;
}

void duet_function_clear(duet_function *f) {
    if (!f) {
        duet_fail(DUET_STATUS_ARGUMENT, "function_clear: function is NULL");
        return;
    }
    if (duet_function_may_change(f, "function_clear") != DUET_OK) return;
    pthread_mutex_lock(&f->lock);
    while (f->entries) {
        duet_entry *next = f->entries->next;
        duet_entry_release(f->entries);
        f->entries = next;
    }
    duet_graph_free(f->free_trace);
    f->free_trace = NULL;
    f->stats.live_graphs = 0;
    f->traced_in_a_row = 0;
    pthread_mutex_unlock(&f->lock);
}

duet_function_stats duet_function_get_stats(const duet_function *f) {
    if (!f) {
        duet_fail(DUET_STATUS_ARGUMENT, "function_get_stats: function is NULL");
        return (duet_function_stats){0};
    }
    bool locked = duet_function_lock_to_read(f);
    duet_function_stats stats = f->stats;
    duet_function_unlock_read(f, locked);
    return stats;
}

int64_t duet_trace_count(const duet_function *f) {
    if (f) return duet_function_get_stats(f).traces;
    duet_fail(DUET_STATUS_ARGUMENT, "trace_count: function is NULL");
    return 0;
}
