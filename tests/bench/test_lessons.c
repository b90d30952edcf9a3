/* The lessons teach only when their executors do the same. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "command.h"
#include "lesson.h"
#include "thread_state.h"

#include "function.h"
#include "pool.h"

#include <string.h>

/* Five calls each on copies that began alike: results and variables, bit for bit between eager and
 * graph, though the variables are no results of the function. */
static void executors_agree(void **state) {
    (void)state;
    for (const lesson *const *l = lessons; *l; l++) {
        if ((*l)->run) continue;
        for (const executor *x = executors; x->name; x++) {
            if (x->kind == BY_HAND && !(*l)->hand) continue;
            bool equal = false;
            const char *where = "";
            if (lesson_compare(*l, x, &equal, &where) != DUET_OK)
                fail_msg("%s %s: %s", (*l)->name, x->name, duet_error_message());
            if (!equal) fail_msg("%s", where);
        }
    }
}

static void the_help_names_every_lesson(void **state) {
    (void)state;
    for (const lesson *const *l = lessons; *l; l++)
        if (!strstr(command_bench.help, (*l)->name)) fail_msg("no word of %s", (*l)->name);
}

/* As many with two threads as it teaches; with one thread never. */
static void only_branches_forks(void **state) {
    (void)state;
    int before = duet_pool_threads();
    for (const lesson *const *l = lessons; *l; l++)
        for (int threads = 1; threads <= 2 && !(*l)->run; threads++) {
            duet_pool_set_threads(threads);
            exercise *e = exercise_new(*l);
            duet_entry *entry = duet_function_entry(e->function, e->in);
            assert_non_null(entry);
            assert_int_equal(entry->plan->n_branches,
                             *l == &lesson_branches && threads == 2 ? 2 : 0);
            duet_entry_release(entry);
            exercise_free(e);
        }
    duet_pool_set_threads(before);
}

static void a_second_graph_call_allocates_nothing(void **state) {
    (void)state;
    const executor *graph = executor_find("graph");
    for (const lesson *const *l = lessons; *l; l++) {
        if ((*l)->run) continue;
        exercise *e = exercise_new(*l);
        assert_non_null(e);
        for (int i = 0; i < 3; i++) assert_int_equal(graph->call(e), DUET_OK);
        uint64_t before = duet_memory_get_stats().system_allocs;
        for (int i = 0; i < 10; i++) assert_int_equal(graph->call(e), DUET_OK);
        assert_true(duet_memory_get_stats().system_allocs == before);
        assert_int_equal(graph->traces(e), 1);
        exercise_free(e);
    }
}

/* Eager and graph are one call, on copies whose inputs and variables have the same bits; what tells
 * them apart is switched before the clock starts. */
static void executors_are_measured_alike(void **state) {
    (void)state;
    const executor *eager = executor_find("eager"), *graph = executor_find("graph");
    assert_true(eager->call == graph->call && eager->traces == graph->traces);
    assert_true(eager->switch_on != NULL && graph->switch_on == NULL);
    for (const lesson *const *l = lessons; *l; l++) {
        if ((*l)->run) continue;
        exercise *a = exercise_new(*l), *b = exercise_new(*l);
        assert_true(contender_of(eager, a).call == contender_of(graph, b).call);
        for (int i = 0; i < (*l)->n_in + (*l)->n_variables; i++) {
            bool input = i < (*l)->n_in;
            duet_tensor *x = input ? a->in[i] : a->variables[i - (*l)->n_in];
            duet_tensor *y = input ? b->in[i] : b->variables[i - (*l)->n_in];
            assert_true(x != y && duet_spec_equal(&x->spec, &y->spec));
            assert_memory_equal(x->data, y->data, duet_spec_bytes(&x->spec));
        }
        exercise_free(a);
        exercise_free(b);
    }
}

/* Op calls are counted by a profiled call of its own; nothing that is timed is profiled. */
static void counting_ops_leaves_no_profiler_on(void **state) {
    (void)state;
    exercise *e = exercise_new(lesson_find("small_ops"));
    const executor *eager = executor_find("eager"), *graph = executor_find("graph");
    assert_true(exercise_dispatches(eager, e) == 150);
    assert_false(duet_thread.profiling);
    assert_int_equal(graph->call(e), DUET_OK);
    assert_true(exercise_dispatches(graph, e) == 1);
    assert_false(duet_thread.profiling);
    exercise_free(e);
}

/* ---- a learning rate that is a variable is not frozen into the graph ------------------------- */

typedef struct model {
    duet_tensor *w, *rate;
} model;

static duet_status step(duet_tensor **out, duet_tensor *const *in, void *user) {
    model *m = user;
    duet_tape *tape = duet_tape_new(false);
    out[0] = duet_mse(duet_matmul(in[0], m->w), in[1]);
    duet_tensor *gradient;
    duet_status status = duet_gradient(&gradient, tape, out[0], &m->w, 1);
    duet_tape_free(tape);
    TRY(status);
    return duet_sgd(m->w, gradient, m->rate);
}

static void the_learning_rate_can_change(void **state) {
    (void)state;
    duet_scope_open();
    float data[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, before[3], after[3];
    duet_tensor *x = duet_from_data(DUET_SHAPE(4, 3), DUET_F32, data);
    duet_tensor *t = duet_full(DUET_SHAPE(4, 1), DUET_F32, 1);
    model m = {duet_variable_new("w", duet_zeros(DUET_SHAPE(3, 1), DUET_F32)),
               duet_variable_new("rate", duet_f32(0.01f))};
    duet_function *f = duet_function_new("step", step, 2, 1, &m);
    duet_tensor *loss, *in[] = {x, t};
    memcpy(before, duet_data(m.w), sizeof before);
    assert_int_equal(duet_call(f, &loss, in), DUET_OK);
    memcpy(after, duet_data(m.w), sizeof after);
    assert_memory_not_equal(before, after, sizeof after);
    assert_int_equal(duet_assign(m.rate, duet_f32(0)), DUET_OK);
    assert_int_equal(duet_call(f, &loss, in), DUET_OK);
    assert_memory_equal(after, duet_data(m.w), sizeof after);
    assert_int_equal(duet_trace_count(f), 1);
    duet_function_free(f);
    duet_release(m.w);
    duet_release(m.rate);
    duet_scope_close(NULL);
}

/* Where executors differ, that is what is said, and with which element. */
static duet_status wrong_body(duet_tensor **out, duet_tensor *const *in, void *unused) {
    (void)unused;
    out[0] = duet_add(in[0], duet_f32(1));
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status wrong_setup(exercise *e) {
    e->in[0] = held_zeros(DUET_SHAPE(3));
    e->out[0] = held_zeros(DUET_SHAPE(3));
    return e->in[0] && e->out[0] ? DUET_OK : duet_error_code();
}

static void wrong_hand(exercise *e) {
    float *y = e->out[0]->data;
    y[0] = 1, y[1] = 1, y[2] = 0; /* a checker that accepts zeros would not notice */
}

static void a_wrong_result_is_named(void **state) {
    (void)state;
    const lesson wrong = {.name = "wrong",
                          .n_in = 1,
                          .n_out = 1,
                          .tolerance = 1e-5,
                          .setup = wrong_setup,
                          .body = wrong_body,
                          .hand = wrong_hand};
    bool equal;
    const char *where;
    assert_int_equal(lesson_compare(&wrong, executor_find("graph"), &equal, &where), DUET_OK);
    assert_true(equal);
    assert_int_equal(lesson_compare(&wrong, executor_find("hand"), &equal, &where), DUET_OK);
    assert_false(equal);
    assert_string_equal(where, "wrong hand: call 1, result 0, element 2: eager has 1, hand 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(executors_agree),
        cmocka_unit_test(the_help_names_every_lesson),
        cmocka_unit_test(only_branches_forks),
        cmocka_unit_test(a_second_graph_call_allocates_nothing),
        cmocka_unit_test(executors_are_measured_alike),
        cmocka_unit_test(counting_ops_leaves_no_profiler_on),
        cmocka_unit_test(the_learning_rate_can_change),
        cmocka_unit_test(a_wrong_result_is_named),
    };
    return cmocka_run_group_tests_name("lessons", tests, NULL, NULL);
}
