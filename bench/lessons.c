#include "lesson.h"

#include "clock.h"
#include "function.h"
#include "near.h"

#include "eager.h"
#include "random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

const lesson *const lessons[] = {
    &lesson_small_ops,
    &lesson_small_ops_while,
    &lesson_big_matmul,
    &lesson_train_step,
    &lesson_tracing_cost,
    &lesson_branches,
    NULL,
};

const lesson *lesson_find(const char *name) {
    duet_near near = {.name = name};
    for (const lesson *const *l = lessons; *l; l++) {
        if (strcmp((*l)->name, name) == 0) return *l;
        duet_near_offer(&near, (*l)->name);
    }
    if (near.nearest)
        duet_fail(DUET_STATUS_NOT_FOUND, "no lesson \"%s\"; did you mean \"%s\"?", name,
                  near.nearest);
    else
        duet_fail(DUET_STATUS_NOT_FOUND, "no lesson \"%s\"; `duet help bench` lists them", name);
    return NULL;
}

/* ---- what setup needs --------------------------------------------------------------------------
 */

static const uint64_t SEED = 20240601; /* the streams differ by what is added to it */

static duet_tensor *new_f32(duet_shape shape) {
    duet_spec spec = {.shape = shape, .dtype = DUET_F32};
    return duet_tensor_alloc(&spec);
}

duet_tensor *held_normal(duet_shape shape, uint64_t stream) {
    duet_tensor *x = new_f32(shape);
    if (x) duet_random_normal_f32(x->data, duet_tensor_count(x), SEED + stream, 0);
    return x;
}

duet_tensor *held_uniform(duet_shape shape, double limit, uint64_t stream) {
    duet_tensor *x = new_f32(shape);
    if (!x) return NULL;
    float *data = x->data;
    int64_t count = duet_tensor_count(x);
    duet_random_uniform_f32(data, count, SEED + stream, 0);
    for (int64_t i = 0; i < count; i++) data[i] = (float)limit * (2 * data[i] - 1);
    return x;
}

duet_tensor *held_zeros(duet_shape shape) {
    duet_tensor *x = new_f32(shape);
    if (x) memset(x->data, 0, duet_spec_bytes(&x->spec));
    return x;
}

duet_tensor *held_variable(const char *name, duet_tensor *initial) {
    duet_tensor *variable = duet_variable_new(name, initial);
    duet_release(initial);
    return variable;
}

/* ---- exercises ---------------------------------------------------------------------------------
 */

exercise *exercise_new(const lesson *l) {
    exercise *e = calloc(1, sizeof *e);
    if (!e) {
        duet_fail(DUET_STATUS_MEMORY, "%s: no memory", l->name);
        return NULL;
    }
    e->lesson = l;
    duet_status status = l->setup(e);
    if (status == DUET_OK) e->function = duet_function_new(l->name, l->body, l->n_in, l->n_out, e);
    if (e->function) return e;
    exercise_free(e);
    return NULL;
}

void exercise_free(exercise *e) {
    if (!e) return;
    duet_function_free(e->function);
    for (int i = 0; i < LESSON_TENSORS; i++) {
        duet_release(e->in[i]);
        duet_release(e->variables[i]);
        duet_release(e->out[i]);
    }
    free(e);
}

duet_status exercise_call(exercise *e, duet_tensor **out) {
    return duet_call(e->function, out, e->in);
}

static duet_graph *trace(exercise *e) {
    duet_arg_key keys[LESSON_TENSORS];
    for (int i = 0; i < e->lesson->n_in; i++) keys[i] = duet_arg_key_of(e->in[i]);
    return duet_function_trace(e->function, e->in, keys);
}

duet_graph *lesson_trace(const lesson *l) {
    if (l->subject) l = l->subject;
    if (!l->setup) {
        duet_fail(DUET_STATUS_UNSUPPORTED, "lesson %s has no function to trace", l->name);
        return NULL;
    }
    exercise *e = exercise_new(l);
    duet_graph *graph = e ? trace(e) : NULL;
    exercise_free(e);
    return graph;
}

/* ---- executors ---------------------------------------------------------------------------------
 */

/* Eager and graph rows take this same way; they differ by a switch that is set before the clock
 * starts. */
static duet_status call_function(void *context) {
    exercise *e = context;
    duet_tensor *out[DUET_MAX_OUTPUTS];
    duet_scope_open();
    duet_status status = duet_call(e->function, out, e->in);
    if (status == DUET_OK) sink(out[0]->data);
    duet_scope_close(NULL);
    return status;
}

static int64_t count_traces(void *context) {
    return duet_trace_count(((exercise *)context)->function);
}

static void run_eagerly(void *unused, bool on) { (void)unused, (void)duet_run_eagerly(on); }

static duet_status call_hand(void *context) {
    exercise *e = context;
    e->lesson->hand(e);
    sink(e->out[0]->data);
    return DUET_OK;
}

static double process_ns(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return 1e9 * (double)used.tv_sec + (double)used.tv_nsec;
}

/* OpenBLAS's own threads go on spinning for some 30 ms after a call, on the processor that the next
 * contender needs: nothing is measured until the process uses less than half a processor. */
static void let_threads_sleep(void *unused, bool on) {
    enum { PATIENCE_NS = 100000000 };
    const struct timespec nap = {.tv_nsec = 500000};
    (void)unused;
    if (on) return;
    const uint64_t begin = duet_clock_ns();
    uint64_t last, now = begin;
    double used = process_ns(), before;
    do {
        last = now;
        before = used;
        nanosleep(&nap, NULL);
        now = duet_clock_ns();
        used = process_ns();
    } while (used - before > 0.5 * (double)(now - last) && now - begin < PATIENCE_NS);
}

const executor executors[] = {
    {"eager", OP_BY_OP, call_function, count_traces, run_eagerly},
    {"graph", REPLAYED, call_function, count_traces, NULL},
    {"hand", BY_HAND, call_hand, NULL, let_threads_sleep},
    {0},
};

const executor *executor_find(const char *name) {
    char known[128] = "";
    for (const executor *x = executors; x->name; x++) {
        if (strcmp(x->name, name) == 0) return x;
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", x->name);
    }
    duet_fail(DUET_STATUS_NOT_FOUND, "expected an executor (%s), got \"%s\"", known, name);
    return NULL;
}

contender contender_of(const executor *x, exercise *e) {
    return (contender){x->name, e, x->call, x->traces, x->switch_on};
}

double exercise_dispatches(const executor *x, exercise *e) {
    if (x->kind == BY_HAND) return NAN;
    if (x->kind == REPLAYED) {
        const duet_entry *entry = e->function->entries;
        return entry ? entry->plan->n_steps : NAN;
    }
    duet_profile_start();
    x->switch_on(e, true);
    duet_status status = x->call(e);
    x->switch_on(e, false);
    duet_profile profile = duet_profile_stop();
    return status == DUET_OK ? (double)profile.calls : NAN;
}
