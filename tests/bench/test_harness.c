/* The measuring instrument, with a clock that does what it is told. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "harness.h"

#include "clock.h"
#include "duet.h"
#include "pool.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- a world in which time passes only in calls ---------------------------------------------- */

typedef struct world {
    double now_ns;
    uint64_t allocs;
    char order[512]; /* one letter a repeat */
    int n_order;
} world;

typedef struct actor {
    world *world;
    char letter;
    int calls;
    int64_t traces;
    double steady_ns, first_ns, second_ns; /* what a call takes; 0: as steady_ns */
    int trace_on, alloc_on;                /* numbers of the calls that do so; 0: none */
    int fail_on;
    int switched; /* on minus off */
} actor;

static double world_now(void *context) { return ((world *)context)->now_ns; }
static uint64_t world_allocs(void *context) { return ((world *)context)->allocs; }

static duet_status act(void *context) {
    actor *a = context;
    int call = ++a->calls;
    double ns = a->steady_ns;
    if (call == 1 && a->first_ns > 0) ns = a->first_ns;
    if (call == 2 && a->second_ns > 0) ns = a->second_ns;
    a->world->now_ns += ns;
    a->traces += call == a->trace_on;
    a->world->allocs += call == a->alloc_on;
    assert_int_equal(a->switched, 1);
    if (call == a->fail_on) return duet_fail(DUET_STATUS_ARGUMENT, "call %d failed", call);
    return DUET_OK;
}

static int64_t actor_traces(void *context) { return ((actor *)context)->traces; }

static void switch_actor(void *context, bool on) {
    actor *a = context;
    world *w = a->world;
    a->switched += on ? 1 : -1;
    if (on && w->n_order < 511) w->order[w->n_order++] = a->letter;
}

static contender contender_of_actor(actor *a) {
    return (contender){"actor", a, act, actor_traces, switch_actor};
}

static bench_clock clock_of(world *w) { return (bench_clock){world_now, world_allocs, w}; }

static void run_one(measurement *m, actor *a, int number, int repeats) {
    contender c = contender_of_actor(a);
    measure_plan plan = {number, repeats, 1e6, 0};
    bench_clock clock = clock_of(a->world);
    assert_int_equal(measure(m, &c, 1, &plan, &clock), DUET_OK);
}

/* ---- what must hold -------------------------------------------------------------------------- */

static void first_second_and_steady_calls_are_apart(void **state) {
    (void)state;
    world w = {0};
    actor a = {.world = &w, .steady_ns = 2e5, .first_ns = 2e7, .second_ns = 5e6, .trace_on = 1};
    static measurement m;
    run_one(&m, &a, 10, 5);
    assert_true(m.first_call == 20000);
    assert_true(m.second_call == 5000);
    assert_true(m.summary.best == 200 && m.summary.median == 200 && m.summary.mad == 0);
    assert_int_equal(m.warmup, 3); /* call 1 traced, calls 2 and 3 were quiet */
    assert_true(m.steady && measurement_is_valid(&m));
}

static void warms_up_until_two_calls_in_a_row_are_quiet(void **state) {
    (void)state;
    world w = {0};
    actor a = {.world = &w, .steady_ns = 1000, .trace_on = 1, .alloc_on = 3};
    static measurement m;
    run_one(&m, &a, 1, 3);
    assert_int_equal(m.warmup, 5); /* 1 traced, 2 quiet, 3 allocated, 4 and 5 quiet */
    assert_true(m.steady);
}

static duet_status allocate_always(void *context) {
    world *w = context;
    w->now_ns += 10;
    w->allocs++;
    return DUET_OK;
}

static void gives_warming_up_up_after_a_while(void **state) {
    (void)state;
    world w = {0};
    contender c = {"restless", &w, allocate_always, NULL, NULL};
    measure_plan plan = {1, 3, 0, 0};
    bench_clock clock = clock_of(&w);
    static measurement m;
    assert_int_equal(measure(&m, &c, 1, &plan, &clock), DUET_OK);
    assert_int_equal(m.warmup, MAX_WARMUP);
    assert_false(m.steady);
}

static void a_trace_while_timing_makes_the_row_invalid(void **state) {
    (void)state;
    world w = {0};
    actor a = {.world = &w, .steady_ns = 1000, .trace_on = 7};
    static measurement m;
    run_one(&m, &a, 5, 3);
    assert_false(measurement_is_valid(&m));
    assert_int_equal(m.traces_before, 0);
    assert_int_equal(m.traces_after, 1);
}

static void there_is_no_spread_under_three_samples(void **state) {
    (void)state;
    double samples[] = {3, 1, 2, 10};
    summary none = summarize(samples, 0), one = summarize(samples, 1), two = summarize(samples, 2);
    summary three = summarize(samples, 3), four = summarize(samples, 4);
    assert_true(isnan(none.best) && isnan(none.median) && isnan(none.mad));
    assert_true(one.best == 3 && one.median == 3 && isnan(one.mad));
    assert_true(two.best == 1 && two.median == 2 && isnan(two.mad));
    assert_true(three.best == 1 && three.median == 2 && three.mad == 1);
    assert_true(four.median == 2.5 && four.mad == 1); /* distances .5 .5 1.5 7.5 */
}

static void every_sample_is_kept_and_they_sum_to_the_whole(void **state) {
    (void)state;
    world w = {0};
    actor a = {.world = &w, .steady_ns = 730};
    static measurement m;
    run_one(&m, &a, 40, 9);
    assert_int_equal(m.n_samples, 9);
    double sum = 0;
    for (int i = 0; i < m.n_samples; i++) sum += m.samples[i] * m.number * 1e3;
    double whole = w.now_ns - m.warmup * 730;
    assert_true(fabs(sum - whole) < 0.05 * whole);
}

static void repeats_take_turns_and_begin_with_another_each_round(void **state) {
    (void)state;
    world w = {0};
    actor actors[3];
    contender contenders[3];
    for (int i = 0; i < 3; i++) {
        actors[i] = (actor){.world = &w, .letter = "abc"[i], .steady_ns = 1000 * (i + 1)};
        contenders[i] = contender_of_actor(&actors[i]);
    }
    measure_plan plan = {4, 3, 0, 0};
    bench_clock clock = clock_of(&w);
    static measurement m[3];
    assert_int_equal(measure(m, contenders, 3, &plan, &clock), DUET_OK);
    w.order[w.n_order] = '\0';
    assert_string_equal(w.order, "abc" /* warm-up */ "abcbcacab");
    for (int i = 0; i < 3; i++) assert_true(m[i].summary.best == i + 1);
}

static void chooses_a_number_that_fills_the_repeat(void **state) {
    (void)state;
    world w = {0};
    actor quick = {.world = &w, .steady_ns = 50}, slow = {.world = &w, .steady_ns = 3e6};
    static measurement m;
    run_one(&m, &quick, 0, 3);
    assert_int_equal(m.number, 20000); /* of 1 ms */
    run_one(&m, &slow, 0, 3);
    assert_int_equal(m.number, 1);
}

static void keeps_to_its_budget_but_takes_three(void **state) {
    (void)state;
    world w = {0};
    actor a = {.world = &w, .steady_ns = 1e6};
    contender c = contender_of_actor(&a);
    bench_clock clock = clock_of(&w);
    static measurement m;
    measure_plan plan = {0, 100, 1e6, 8e6};
    assert_int_equal(measure(&m, &c, 1, &plan, &clock), DUET_OK);
    assert_int_equal(m.n_samples, 8);
    plan.budget_ns = 1;
    assert_int_equal(measure(&m, &c, 1, &plan, &clock), DUET_OK);
    assert_int_equal(m.n_samples, 3);
}

static void a_call_that_fails_ends_the_measuring(void **state) {
    (void)state;
    world w = {0};
    actor a = {.world = &w, .steady_ns = 1000, .fail_on = 6};
    contender c = contender_of_actor(&a);
    measure_plan plan = {5, 3, 0, 0};
    bench_clock clock = clock_of(&w);
    static measurement m;
    assert_int_equal(measure(&m, &c, 1, &plan, &clock), DUET_STATUS_ARGUMENT);
    assert_string_equal(duet_error_message(), "call 6 failed");
    assert_int_equal(a.switched, 0);
}

static void a_regression_is_more_than_the_noise_of_both(void **state) {
    (void)state;
    summary before = {100, 102, 2};
    assert_false(is_regression(&before, &(summary){101, 104, 2}));
    assert_false(is_regression(&before, &(summary){103, 112, 3})); /* within 3 sigma of both */
    assert_false(
        is_regression(&before, &(summary){99, 150, 2})); /* a disturbed run: best is fine */
    assert_true(is_regression(&before, &(summary){120, 122, 2}));
    assert_false(is_regression(&before, &(summary){80, 81, 2}));
    summary still = {100, 100, 0}; /* no spread at all: five per cent are still noise */
    assert_false(is_regression(&still, &(summary){104, 104, 0}));
    assert_true(is_regression(&still, &(summary){106, 106, 0}));
    summary alone = {100, 100, NAN};
    assert_true(is_regression(&alone, &(summary){110, 110, NAN}));
}

static void a_line_is_not_turned_by_one_bad_point(void **state) {
    (void)state;
    double x[] = {1, 2, 4, 8, 16, 32}, y[6];
    for (int i = 0; i < 6; i++) y[i] = 7 + 3 * x[i];
    y[4] = 1000;
    line_fit fit = fit_line(x, y, 6);
    assert_true(fabs(fit.slope - 3) < 1e-12 && fabs(fit.start - 7) < 1e-12);
    assert_true(isnan(fit_line(x, y, 1).slope));
}

/* ---- with the real clock --------------------------------------------------------------------- */

/* An op that works on a worker alone: the caller's part ends when the worker's has begun. */
static _Atomic bool worker_began;
static _Thread_local bool is_caller;

static void part_of_sleep(void *unused, int64_t begin, int64_t end) {
    (void)unused, (void)begin, (void)end;
    if (is_caller) {
        while (!worker_began) sched_yield();
        return;
    }
    worker_began = true;
    nanosleep(&(struct timespec){0, 5000000}, NULL);
}

static duet_status sleep_infer(duet_spec *out, const duet_op_call *call) {
    *out = *call->in[0];
    return DUET_OK;
}

static duet_status sleep_run(const duet_kernel *kernel) {
    worker_began = false;
    is_caller = true;
    duet_parallel_for(2, 1, part_of_sleep, NULL);
    is_caller = false;
    memcpy(kernel->out[0].data, kernel->in[0].data, duet_spec_bytes(kernel->in[0].spec));
    return DUET_OK;
}

static const duet_op op_sleep = {.name = "sleep_on_a_worker",
                                 .doc = "x, after 5 ms on another thread",
                                 .n_in = 1,
                                 .n_out = 1,
                                 .in_names = {"x"},
                                 .traits = DUET_OP_STATEFUL,
                                 .infer = sleep_infer,
                                 .run = sleep_run,
                                 .samples = {"f32[3]"}};

static duet_tensor *sleeping(duet_tensor *x) { return duet_apply1(&op_sleep, x); }

static duet_status call_sleeper(void *context) {
    duet_scope_open();
    duet_tensor *y = duet_call_unary(context, duet_f32(1));
    duet_scope_close(NULL);
    return y ? DUET_OK : duet_error_code();
}

/* What a worker computes is waited for, with either executor. */
static void work_on_workers_is_waited_for(void **state) {
    (void)state;
    int threads = duet_pool_threads();
    duet_pool_set_threads(2);
    assert_int_equal(duet_op_register(&op_sleep), DUET_OK);
    for (int graph = 0; graph <= 1; graph++) {
        duet_function *f = duet_function_unary("sleeping", sleeping);
        contender c = {"sleeper", f, call_sleeper, NULL, NULL};
        measure_plan plan = {1, 3, 0, 0};
        bench_clock clock = real_clock();
        static measurement m;
        bool before = duet_run_eagerly(!graph);
        assert_int_equal(measure(&m, &c, 1, &plan, &clock), DUET_OK);
        duet_run_eagerly(before);
        assert_true(m.summary.best >= 5000);
        assert_int_equal(duet_trace_count(f), graph);
        duet_function_free(f);
    }
    duet_pool_set_threads(threads);
}

static duet_status add_up(void *context) {
    const float *x = context;
    float sum = 0;
    for (int i = 0; i < 10000; i++) sum += x[i];
    sink(&sum);
    return DUET_OK;
}

/* The additions wait for one another; a compiler that dropped them would need no time. */
static void what_goes_to_the_sink_is_computed(void **state) {
    (void)state;
    static float x[10000];
    contender c = {"sum", x, add_up, NULL, NULL};
    measure_plan plan = {10, 5, 0, 0};
    bench_clock clock = real_clock();
    static measurement m;
    assert_int_equal(measure(&m, &c, 1, &plan, &clock), DUET_OK);
    assert_true(m.summary.best > 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_second_and_steady_calls_are_apart),
        cmocka_unit_test(warms_up_until_two_calls_in_a_row_are_quiet),
        cmocka_unit_test(gives_warming_up_up_after_a_while),
        cmocka_unit_test(a_trace_while_timing_makes_the_row_invalid),
        cmocka_unit_test(there_is_no_spread_under_three_samples),
        cmocka_unit_test(every_sample_is_kept_and_they_sum_to_the_whole),
        cmocka_unit_test(repeats_take_turns_and_begin_with_another_each_round),
        cmocka_unit_test(chooses_a_number_that_fills_the_repeat),
        cmocka_unit_test(keeps_to_its_budget_but_takes_three),
        cmocka_unit_test(a_call_that_fails_ends_the_measuring),
        cmocka_unit_test(a_regression_is_more_than_the_noise_of_both),
        cmocka_unit_test(a_line_is_not_turned_by_one_bad_point),
        cmocka_unit_test(work_on_workers_is_waited_for),
        cmocka_unit_test(what_goes_to_the_sink_is_computed),
    };
    return cmocka_run_group_tests_name("harness", tests, NULL, NULL);
}
