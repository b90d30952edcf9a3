/* Replays a plan: binds the caller's data, then calls one kernel after the other, or those of a
 * fork's branches side by side. */
#include "plan.h"

#include "debug.h"
#include "pool.h"
#include "settings.h"

#include <stdlib.h>

typedef struct step {
    duet_status (*run)(const duet_kernel *kernel);
    duet_kernel kernel;
} step;

/* One running call's arena and arguments. All but the patched pointers are bound once. */
struct duet_instance {
    duet_instance *next;
    char *arena;
    duet_view *views;
    step *steps;
};

static void *at_place(const duet_plan *plan, const duet_instance *instance, int32_t value) {
    duet_place place = plan->places[value];
    if (place.kind == DUET_PLACE_ARENA) return instance->arena + place.at;
    if (place.kind == DUET_PLACE_CONSTANT)
        return plan->graph->nodes[place.at].attrs[0].tensor->data;
    return NULL; /* patched at every call */
}

static void bind(const duet_plan *plan, duet_instance *instance) {
    const duet_graph *g = plan->graph;
    duet_view *view = instance->views;
    for (int32_t i = 0; i < plan->n_steps; i++) {
        const duet_graph_node *node = &g->nodes[plan->steps[i]];
        step *s = &instance->steps[i];
        s->run = node->op->run;
        s->kernel =
            (duet_kernel){node->op, node->attrs, view, view + node->n_in, node->n_in, node->n_out};
        for (int32_t j = 0; j < node->n_in; j++, view++)
            *view =
                (duet_view){at_place(plan, instance, node->in[j]), &g->values[node->in[j]].spec};
        for (int32_t j = 0; j < node->n_out; j++, view++)
            *view = (duet_view){at_place(plan, instance, node->out + j),
                                &g->values[node->out + j].spec};
    }
}

static void free_instance(const duet_plan *plan, duet_instance *instance) {
    if (!instance) return;
    duet_memory_free(instance->arena, (size_t)plan->arena_bytes);
    free(instance->views);
    free(instance->steps);
    free(instance);
}

static duet_instance *new_instance(const duet_plan *plan) {
    duet_instance *instance = calloc(1, sizeof *instance);
    if (!instance) return duet_fail(DUET_STATUS_MEMORY, "run: no memory"), NULL;
    instance->arena = duet_memory_alloc((size_t)plan->arena_bytes);
    instance->views = malloc(((size_t)plan->n_views + 1) * sizeof *instance->views);
    instance->steps = malloc(((size_t)plan->n_steps + 1) * sizeof *instance->steps);
    if (!instance->arena || !instance->views || !instance->steps) {
        free_instance(plan, instance);
        return duet_fail(DUET_STATUS_MEMORY, "run: no memory"), NULL;
    }
    bind(plan, instance);
    return instance;
}

/* One instance waits where a single exchange takes it; further ones, of calls at the same time,
 * wait in a list behind the lock. A loop's body takes and returns its instance once a round. */
static duet_instance *take_instance(duet_plan *plan) {
    duet_instance *instance = atomic_exchange_explicit(&plan->ready, NULL, memory_order_acquire);
    if (instance) return instance;
    pthread_mutex_lock(&plan->lock);
    instance = plan->idle;
    if (instance) plan->idle = instance->next;
    pthread_mutex_unlock(&plan->lock);
    return instance ? instance : new_instance(plan);
}

static void give_back(duet_plan *plan, duet_instance *instance) {
    duet_instance *none = NULL;
    if (atomic_compare_exchange_strong_explicit(&plan->ready, &none, instance, memory_order_release,
                                                memory_order_relaxed))
        return;
    pthread_mutex_lock(&plan->lock);
    instance->next = plan->idle;
    plan->idle = instance;
    pthread_mutex_unlock(&plan->lock);
}

static void patch(const duet_plan *plan, duet_instance *instance, void *const *in,
                  void *const *out) {
    for (int32_t i = 0; i < plan->n_patches; i++) {
        const duet_patch *p = &plan->patches[i];
        void **data = &instance->views[p->view].data;
        if (p->kind == DUET_PLACE_INPUT)
            *data = in[p->index];
        else if (p->kind == DUET_PLACE_RESULT)
            *data = out[p->index];
        else
            *data = plan->graph->variables[p->index]->data;
    }
}

/* Fills the buffers that step `finished` was the last to need with NaN (all bits set). */
static void poison_freed(const duet_plan *plan, duet_instance *instance, int32_t finished) {
    for (int32_t i = 0; i < plan->n_buffers; i++)
        if (duet_plan_last_step(plan, i) == finished)
            memset(instance->arena + plan->offsets[i], 0xFF, (size_t)plan->lifetimes[i].bytes);
}

static void copy_results(const duet_plan *plan, const duet_instance *instance, void *const *in,
                         void *const *out) {
    for (int32_t i = 0; i < plan->n_copies; i++) {
        int32_t value = plan->copies[i].value;
        duet_place place = plan->places[value];
        const void *from = at_place(plan, instance, value);
        if (place.kind == DUET_PLACE_INPUT) from = in[place.at];
        if (place.kind == DUET_PLACE_RESULT) from = out[place.at];
        if (place.kind == DUET_PLACE_VARIABLE) from = plan->graph->variables[place.at]->data;
        memcpy(out[plan->copies[i].result], from,
               duet_spec_bytes(&plan->graph->values[value].spec));
    }
}

/* Adds to the thread's message where in the source the step came from. */
static duet_status locate(const duet_plan *plan, int32_t at, duet_status status) {
    const duet_graph_node *node = &plan->graph->nodes[plan->steps[at]];
    if (node->file) duet_fail_at(node->file, node->line);
    return status;
}

/* Steps begin .. end-1; returns the one that failed, and `end` where none did. */
static int32_t run_steps(duet_status *status, const duet_instance *instance, int32_t begin,
                         int32_t end) {
    for (int32_t i = begin; i < end; i++) {
        const step *s = &instance->steps[i];
        *status = s->run(&s->kernel);
        if (__builtin_expect(*status != DUET_OK, 0)) return i;
    }
    return end;
}

static duet_status run_range(const duet_plan *plan, const duet_instance *instance, int32_t begin,
                             int32_t end) {
    duet_status status = DUET_OK;
    int32_t failed = run_steps(&status, instance, begin, end);
    return __builtin_expect(status != DUET_OK, 0) ? locate(plan, failed, status) : DUET_OK;
}

/* One by one, forks too: each step is told, or what it was the last to need is poisoned. */
static duet_status run_watched(const duet_plan *plan, duet_instance *instance, bool tell,
                               bool poison) {
    if (poison) memset(instance->arena, 0xFF, (size_t)plan->arena_bytes);
    for (int32_t i = 0; i < plan->n_steps; i++) {
        const duet_graph_node *node = &plan->graph->nodes[plan->steps[i]];
        TRY(run_range(plan, instance, i, i + 1));
        if (tell) duet_debug_step(plan->graph, i, node, &instance->steps[i].kernel);
        if (poison) poison_freed(plan, instance, i);
    }
    return DUET_OK;
}

/* ---- forks -------------------------------------------------------------------------------------
 */

typedef struct fork_job {
    const duet_plan *plan;
    const duet_instance *instance;
    const duet_branch *branches;
    pthread_mutex_t lock; /* guards what follows: of the first step in order that failed */
    int32_t failed;       /* its branch's first step; INT32_MAX: none */
    duet_status status;
    duet_error error; /* of the thread that ran it, for the caller */
} fork_job;

static void note_failure(fork_job *job, int32_t at, duet_status status) {
    pthread_mutex_lock(&job->lock);
    if (at < job->failed) {
        job->failed = at;
        job->status = status;
        duet_error_save(&job->error);
    }
    pthread_mutex_unlock(&job->lock);
}

static void run_branches(void *context, int64_t begin, int64_t end) {
    fork_job *job = context;
    for (int64_t k = begin; k < end; k++) {
        const duet_branch *branch = &job->branches[k];
        duet_status status = run_range(job->plan, job->instance, branch->begin, branch->end);
        if (status != DUET_OK) note_failure(job, branch->begin, status);
    }
}

static duet_status run_fork(const duet_plan *plan, const duet_instance *instance,
                            const duet_branch *branches, int32_t count) {
    fork_job job;
    job.plan = plan;
    job.instance = instance;
    job.branches = branches;
    job.failed = INT32_MAX;
    pthread_mutex_init(&job.lock, NULL);
    duet_parallel_for(count, 1, run_branches, &job);
    pthread_mutex_destroy(&job.lock);
    if (job.failed == INT32_MAX) return DUET_OK;
    duet_error_restore(&job.error);
    return job.status;
}

static duet_status run_forked(const duet_plan *plan, const duet_instance *instance) {
    int32_t done = 0;
    for (int32_t k = 0, next; k < plan->n_branches; k = next) {
        const duet_branch *first = &plan->branches[k];
        for (next = k; next < plan->n_branches; next++)
            if (plan->branches[next].fork_begin != first->fork_begin) break;
        TRY(run_range(plan, instance, done, first->fork_begin));
        TRY(run_fork(plan, instance, first, next - k));
        done = first->fork_end;
    }
    return run_range(plan, instance, done, plan->n_steps);
}

static duet_status run_plan(const duet_plan *plan, duet_instance *instance) {
    const bool poison = duet_settings()->poison, tell = duet_debug(4);
    if (__builtin_expect(poison || tell, 0)) return run_watched(plan, instance, tell, poison);
    if (plan->n_branches) return run_forked(plan, instance);
    return run_range(plan, instance, 0, plan->n_steps);
}

/* Graphs that read variables may run side by side; one that writes some runs alone among them. */
static pthread_rwlock_t variables_lock = PTHREAD_RWLOCK_INITIALIZER;
static _Thread_local int variables_held; /* a body run by a graph that holds the lock */

static void lock_variables(const duet_plan *plan) {
    if (!plan->uses_variables || variables_held++) return;
    if (plan->writes_variables)
        pthread_rwlock_wrlock(&variables_lock);
    else
        pthread_rwlock_rdlock(&variables_lock);
}

static void unlock_variables(const duet_plan *plan) {
    if (plan->uses_variables && --variables_held == 0) pthread_rwlock_unlock(&variables_lock);
}

static duet_status make_written_unique(const duet_plan *plan) {
    for (int32_t i = 0; i < plan->graph->n_variables; i++)
        if (plan->written[i]) TRY(duet_variable_make_unique(plan->graph->variables[i], true));
    return DUET_OK;
}

duet_status duet_plan_run(duet_plan *plan, void *const *in, void *const *out) {
    duet_instance *instance = take_instance(plan);
    if (!instance) return DUET_STATUS_MEMORY;
    lock_variables(plan);
    duet_status status = plan->writes_variables ? make_written_unique(plan) : DUET_OK;
    if (status == DUET_OK) {
        patch(plan, instance, in, out);
        status = run_plan(plan, instance);
    }
    if (status == DUET_OK) copy_results(plan, instance, in, out);
    unlock_variables(plan);
    give_back(plan, instance);
    return status;
}

void duet_plan_free(duet_plan *plan) {
    if (!plan) return;
    free_instance(plan, atomic_load(&plan->ready));
    while (plan->idle) {
        duet_instance *next = plan->idle->next;
        free_instance(plan, plan->idle);
        plan->idle = next;
    }
    pthread_mutex_destroy(&plan->lock);
    free(plan->places);
    free(plan->buffer_of);
    free(plan->lifetimes);
    free(plan->offsets);
    free(plan->steps);
    free(plan->branches);
    free(plan->patches);
    free(plan->copies);
    free(plan->written);
    duet_graph_free(plan->graph);
    free(plan);
}
