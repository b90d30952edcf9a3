/* Test 4: what the first call of a graph function costs, when it has paid for itself, and what
 * makes a function trace again. */
#include "lesson.h"
#include "report.h"

#include "clock.h"

#include <math.h>

enum { CALLS = 50, MAX_RUNS = MAX_REPEATS };

/* Of a fresh function each run, in microseconds: call 1, call 2, calls 1 .. 50, calls 51 .. 100. */
enum { FIRST, SECOND, COLD, WARM, FIGURES };
typedef struct costs {
    double runs[FIGURES][MAX_RUNS], median[FIGURES];
    int n_runs;
} costs;

static duet_status time_calls(double *us, const executor *x, exercise *e, int count) {
    uint64_t begin = duet_clock_ns();
    for (int i = 0; i < count; i++) TRY(x->call(e));
    *us = (double)(duet_clock_ns() - begin) / 1e3;
    return DUET_OK;
}

static duet_status time_run(costs *c, int run, const executor *x, exercise *e) {
    double rest, first, second;
    TRY(time_calls(&first, x, e, 1));
    TRY(time_calls(&second, x, e, 1));
    TRY(time_calls(&rest, x, e, CALLS - 2));
    TRY(time_calls(&c->runs[WARM][run], x, e, CALLS));
    c->runs[FIRST][run] = first;
    c->runs[SECOND][run] = second;
    c->runs[COLD][run] = first + second + rest;
    return DUET_OK;
}

/* Run 0 is not counted: its first call also pays for what the process does once. */
static duet_status measure_executor(costs *c, const executor *x, int n_runs) {
    for (int run = -1; run < n_runs; run++) {
        exercise *e = exercise_new(&lesson_train_step);
        if (!e) return duet_error_code();
        if (x->switch_on) x->switch_on(e, true);
        duet_status status = time_run(c, run < 0 ? 0 : run, x, e);
        if (x->switch_on) x->switch_on(e, false);
        exercise_free(e);
        TRY(status);
    }
    c->n_runs = n_runs;
    for (int f = 0; f < FIGURES; f++) c->median[f] = median_of(c->runs[f], n_runs);
    return DUET_OK;
}

static duet_status add_row(report *r, const char *by, const costs *c) {
    bench_row *added = report_add_row(r, lesson_tracing_cost.name, by);
    if (!added) return duet_error_code();
    measurement *m = &added->m;
    memcpy(m->samples, c->runs[FIRST], sizeof m->samples);
    m->n_samples = c->n_runs;
    m->number = 1;
    m->first_call = c->runs[FIRST][0];
    m->second_call = c->median[SECOND];
    m->steady = true;
    m->summary = summarize(m->samples, m->n_samples);
    printf("  %-8s %12s %12s %12s %12s %12s\n", by, SHOW_US(c->median[FIRST]),
           SHOW_US(c->median[SECOND]), SHOW_US(c->median[WARM] / CALLS), SHOW_US(c->median[COLD]),
           SHOW_US(c->median[WARM]));
    return DUET_OK;
}

/* After how many calls in all the graph, its tracing included, has taken less time than eager. */
static void say_what_it_costs(report *r, const costs *eager, const costs *graph) {
    double eager_call = eager->median[WARM] / CALLS, graph_call = graph->median[WARM] / CALLS;
    double extra = graph->median[FIRST] - graph_call;
    double calls = extra / graph_call, even = ceil(extra / (eager_call - graph_call));
    printf("  the first call costs %.1f normal graph calls more than a normal one", calls);
    if (eager_call > graph_call)
        printf("; it has paid for itself after %.0f calls\n", even);
    else
        printf("; it never pays for itself here\n");
    report_derive(r, calls, "tracing_cost.graph.first_in_calls");
    if (eager_call > graph_call) report_derive(r, even, "tracing_cost.graph.break_even_calls");
    report_derive(r, graph->median[COLD], "tracing_cost.graph.cold_50_us");
    report_derive(r, graph->median[WARM], "tracing_cost.graph.warm_50_us");
    report_derive(r, eager->median[COLD], "tracing_cost.eager.cold_50_us");
    report_derive(r, eager->median[WARM], "tracing_cost.eager.warm_50_us");
}

/* ---- what makes a function trace again
 * ----------------------------------------------------------- */

static duet_status scaled(duet_tensor **out, duet_tensor *const *in, void *unused) {
    (void)unused;
    out[0] = duet_relu(duet_mul(in[0], in[1]));
    return out[0] ? DUET_OK : duet_error_code();
}

/* One call that should trace `expected` times. */
static duet_status try_call(report *r, duet_function *f, const char *what, duet_tensor *x,
                            duet_tensor *scale, int expected) {
    duet_tensor *out[1];
    int64_t before = duet_trace_count(f);
    uint64_t begin = duet_clock_ns();
    TRY(duet_call(f, out, (duet_tensor *[]){x, scale}));
    double us = (double)(duet_clock_ns() - begin) / 1e3;
    int traced = (int)(duet_trace_count(f) - before);
    printf("  %-34s %10s  %s\n", what, SHOW_US(us), traced ? "traced" : "replayed");
    if (traced != expected)
        report_complain(r, "expected %d traces of this call, got %d", expected, traced);
    return DUET_OK;
}

static duet_status show_retraces(report *r, duet_function *f) {
    duet_tensor *x = duet_full(DUET_SHAPE(10, 10), DUET_F32, 1.5);
    duet_tensor *other = duet_full(DUET_SHAPE(10, 10), DUET_F32, -2.5);
    duet_tensor *longer = duet_full(DUET_SHAPE(11, 10), DUET_F32, 1.5);
    duet_tensor *wider = duet_full(DUET_SHAPE(10, 10), DUET_F64, 1.5);
    printf("\n  relu(x * s), where s is a literal:\n");
    TRY(try_call(r, f, "the first call, f32[10,10], s = 0.5", x, duet_literal_f32(0.5f), 1));
    TRY(try_call(r, f, "other values", other, duet_literal_f32(0.5f), 0));
    TRY(try_call(r, f, "a new shape, f32[11,10]", longer, duet_literal_f32(0.5f), 1));
    TRY(try_call(r, f, "a new dtype, f64[10,10]", wider, duet_literal_f64(0.5), 1));
    TRY(try_call(r, f, "a new literal, s = 0.25", x, duet_literal_f32(0.25f), 1));
    return try_call(r, f, "the first signature again", x, duet_literal_f32(0.5f), 0);
}

static duet_status run(report *r) {
    static costs eager, graph; /* large */
    bool with_eager = report_chose(r, "eager"), with_graph = report_chose(r, "graph");
    int runs = r->mode == MODE_QUICK ? 5 : r->mode == MODE_FULL ? 100 : 25;
    if (with_eager) TRY(measure_executor(&eager, executor_find("eager"), runs));
    if (with_graph) TRY(measure_executor(&graph, executor_find("graph"), runs));
    if (with_eager || with_graph)
        printf("  %-8s %12s %12s %12s %12s %12s\n", "", "first call", "second call", "normal call",
               "50 cold", "50 warm");
    if (with_eager) TRY(add_row(r, "eager", &eager));
    if (with_graph) TRY(add_row(r, "graph", &graph));
    if (with_eager && with_graph) say_what_it_costs(r, &eager, &graph);
    if (!with_graph) return puts("  only the graph executor traces"), DUET_OK;

    duet_function *f = duet_function_new("scaled", scaled, 2, 1, NULL);
    if (!f) return duet_error_code();
    duet_scope_open();
    duet_status status = show_retraces(r, f);
    duet_scope_close(NULL);
    duet_function_free(f);
    if (status == DUET_OK) printf("  -> %s\n", lesson_tracing_cost.shows);
    return status;
}

const lesson lesson_tracing_cost = {
    .name = "tracing_cost",
    .title = "Test 4: the cost of tracing (train_step as a fresh function; medians)",
    .shows =
        "The first call traces, rewrites and plans, once for each signature: shape, dtype or a "
        "literal that changes makes another trace, other values do not.",
    .run = run,
    .subject = &lesson_train_step,
};
