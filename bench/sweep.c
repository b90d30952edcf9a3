/* How cost grows: chains of mul, add, relu ... of more and more ops, and on more and more elements.
 * Slopes tell what a dispatch and what an element costs, apart from what a call costs. */
#include "report.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_POINTS = 16, FIXED_OPS = 150, FIXED_ELEMENTS = 100 };

typedef struct chain {
    int ops;
    duet_tensor *x;
    duet_function *function;
} chain;

typedef struct points {
    double size[MAX_POINTS], eager[MAX_POINTS], graph[MAX_POINTS]; /* times: best, us a call */
    int count;
} points;

static duet_status body(duet_tensor **out, duet_tensor *const *in, void *user) {
    duet_tensor *x = in[0];
    for (int i = 0; i < ((chain *)user)->ops; i++)
        x = i % 3 == 0   ? duet_mul(x, duet_f32(0.99f))
            : i % 3 == 1 ? duet_add(x, duet_f32(0.01f))
                         : duet_relu(x);
    out[0] = x;
    return x ? DUET_OK : duet_error_code();
}

static duet_status call(void *context) {
    chain *c = context;
    duet_tensor *out;
    duet_scope_open();
    duet_status status = duet_call(c->function, &out, &c->x);
    if (status == DUET_OK) sink(out->data);
    duet_scope_close(NULL);
    return status;
}

static int64_t traces(void *context) { return duet_trace_count(((chain *)context)->function); }

static void run_eagerly(void *unused, bool on) { (void)unused, (void)duet_run_eagerly(on); }

/* Each contender has a chain of its own: the eager one never traces. */
static duet_status measure_chains(report *r, chain *c, points *p, double size, const char *name) {
    static measurement results[2];
    const contender both[] = {{"eager", &c[0], call, traces, run_eagerly},
                              {"graph", &c[1], call, traces, NULL}};
    const measure_plan plan = {0, r->mode == MODE_FULL ? 25 : 7, 1e6, 200e6};
    const bench_clock clock = real_clock();
    TRY(measure(results, both, 2, &plan, &clock));
    for (int i = 0; i < 2; i++) {
        bench_row *added = report_add_row(r, name, both[i].name);
        if (!added) return duet_error_code();
        added->m = results[i];
        if (!measurement_is_valid(&added->m))
            report_complain(r, "%s %s is not valid: it traced while it was timed", name,
                            both[i].name);
    }
    p->size[p->count] = size;
    p->eager[p->count] = results[0].summary.best;
    p->graph[p->count++] = results[1].summary.best;
    printf("  %10.0f %12s %12s %9.2fx\n", size, SHOW_US(results[0].summary.best),
           SHOW_US(results[1].summary.best), results[0].summary.best / results[1].summary.best);
    return DUET_OK;
}

static duet_status add_point(report *r, points *p, int ops, int64_t elements, double size,
                             const char *name) {
    duet_shape shape = elements == FIXED_ELEMENTS ? DUET_SHAPE(10, 10) : DUET_SHAPE(elements);
    duet_tensor *x = held_normal(shape, 1);
    chain c[2];
    for (int i = 0; i < 2; i++) {
        c[i] = (chain){.ops = ops, .x = x};
        c[i].function = x ? duet_function_new("chain", body, 1, 1, &c[i]) : NULL;
    }
    duet_status status =
        c[0].function && c[1].function ? measure_chains(r, c, p, size, name) : duet_error_code();
    for (int i = 0; i < 2; i++) duet_function_free(c[i].function);
    duet_release(x);
    return status;
}

/* Rows keep the pointer, so each point has a name for good. */
static const char *point_name(const char *what, int64_t size) {
    static char names[2 * MAX_POINTS][32];
    static int used;
    char *name = names[used++ % (2 * MAX_POINTS)];
    snprintf(name, sizeof names[0], "sweep.%s.%d", what, (int)size);
    return name;
}

static duet_status sweep_ops(report *r, points *p) {
    printf("\nSweep: more and more ops on a 10x10 tensor\n");
    printf("  %10s %12s %12s %10s\n", "ops", "eager", "graph", "x eager");
    for (int ops = 1; ops <= 512; ops *= 2)
        TRY(add_point(r, p, ops, FIXED_ELEMENTS, ops, point_name("ops", ops)));
    line_fit eager = fit_line(p->size, p->eager, p->count);
    line_fit graph = fit_line(p->size, p->graph, p->count);
    printf("  eager: %.1f ns an op and %.0f ns a call; graph: %.1f ns an op and %.0f ns a call\n",
           eager.slope * 1e3, eager.start * 1e3, graph.slope * 1e3, graph.start * 1e3);
    report_derive(r, eager.slope * 1e3, "sweep.eager.ns_per_dispatch");
    report_derive(r, graph.slope * 1e3, "sweep.graph.ns_per_op");
    return DUET_OK;
}

/* The least size from which on eager takes at most a tenth longer; NAN: none that was tried. */
static double meeting_point(const points *p) {
    double size = NAN;
    for (int i = p->count - 1; i >= 0 && p->eager[i] <= 1.1 * p->graph[i]; i--) size = p->size[i];
    return size;
}

static duet_status sweep_elements(report *r, points *p) {
    printf("\nSweep: %d ops on more and more elements\n", FIXED_OPS);
    printf("  %10s %12s %12s %10s\n", "elements", "eager", "graph", "x eager");
    int64_t most = r->mode == MODE_QUICK ? 100000 : 1000000;
    for (int64_t elements = 1; elements <= most; elements *= 10)
        TRY(add_point(r, p, FIXED_OPS, elements, (double)elements,
                      point_name("elements", elements)));
    line_fit eager = fit_line(p->size, p->eager, p->count);
    line_fit graph = fit_line(p->size, p->graph, p->count);
    double eager_ns = eager.slope * 1e3 / FIXED_OPS, graph_ns = graph.slope * 1e3 / FIXED_OPS;
    printf("  eager: %.4f ns an element and op; graph: %.4f\n", eager_ns, graph_ns);
    report_derive(r, eager_ns, "sweep.eager.ns_per_element");
    report_derive(r, graph_ns, "sweep.graph.ns_per_element");
    double meet = meeting_point(p);
    if (isfinite(meet))
        printf("  they meet within 10 %% from %.0f elements on\n", meet);
    else
        printf("  they do not meet within 10 %% up to %.0f elements: fused, the graph reads and "
               "writes memory once, eager once an op\n",
               (double)most);
    report_derive(r, meet, "sweep.meet_elements");
    return DUET_OK;
}

duet_status report_sweep(report *r) {
    points ops = {.count = 0}, elements = {.count = 0};
    TRY(sweep_ops(r, &ops));
    return sweep_elements(r, &elements);
}
