/* From which size on does a second core pay? One op on one thread and on several, side by side; and
 * a graph of two chains, which may use it where none of its ops does. */
#include "report.h"

#include "pool.h"

#include <math.h>

enum { MAX_COUNTS = 6, MAX_SIZES = 12 }; /* thread counts; sizes of a kind */

typedef struct kind {
    const char *name, *unit;
    duet_tensor *(*call)(duet_tensor *x);
    bool square; /* [n,n] instead of [n] */
    int64_t sizes[MAX_SIZES];
} kind;

static duet_tensor *matmul(duet_tensor *x) { return duet_matmul(x, x); }
static duet_tensor *add(duet_tensor *x) { return duet_add(x, x); }
static duet_tensor *exponential(duet_tensor *x) { return duet_exp(x); }
static duet_tensor *sum(duet_tensor *x) { return duet_sum(x, (duet_ints){0}, false); }

static duet_function *chains; /* lives for the process */

static duet_tensor *power(duet_tensor *x) {
    return duet_matmul(duet_matmul(duet_matmul(x, x), x), x);
}

static duet_tensor *two_chains(duet_tensor *x) {
    duet_tensor *a = power(x), *b = power(duet_neg(x));
    return duet_add(a, b);
}

static duet_tensor *as_graph(duet_tensor *x) {
    if (!chains) chains = duet_function_unary("two_chains", two_chains);
    return chains ? duet_call_unary(chains, x) : NULL;
}

static const kind kinds[] = {
    {"matmul", "rows and columns", matmul, true, {32, 64, 96, 128, 192, 256, 384, 512, 1024}},
    {"branches", "rows and columns", as_graph, true, {32, 64, 96, 128, 192, 256, 384, 512}},
    {"add", "elements", add, false, {1000, 10000, 30000, 100000, 300000, 1000000, 4000000}},
    {"exp", "elements", exponential, false, {1000, 3000, 10000, 30000, 100000, 1000000}},
    {"sum", "elements", sum, false, {1000, 10000, 30000, 100000, 300000, 1000000, 4000000}},
};

typedef struct trial {
    const kind *kind;
    duet_tensor *x;
    int threads;
} trial;

static duet_status call(void *context) {
    trial *t = context;
    duet_scope_open();
    duet_tensor *y = t->kind->call(t->x);
    if (y) sink(y->data);
    duet_scope_close(NULL);
    return y ? DUET_OK : duet_error_code();
}

/* Workers are started, and warm, before the clock is; a plan is made for a number of threads. */
static void use_threads(void *context, bool on) {
    trial *t = context;
    if (!on) return;
    duet_pool_set_threads(t->threads);
    if (chains) duet_function_clear(chains);
    if (call(t) != DUET_OK) duet_error_clear();
}

/* 1, 2, 4 ... and as many as there are to use. */
static int thread_counts(int *counts, int most) {
    int count = 0;
    for (int threads = 1; threads < most && count < MAX_COUNTS - 1; threads *= 2)
        counts[count++] = threads;
    counts[count++] = most;
    return count;
}

static duet_status measure_size(report *r, const kind *k, duet_tensor *x, const int *counts,
                                int n_counts, double *speedup) {
    static measurement results[MAX_COUNTS];
    trial trials[MAX_COUNTS];
    contender contenders[MAX_COUNTS];
    for (int i = 0; i < n_counts; i++) {
        trials[i] = (trial){k, x, counts[i]};
        contenders[i] = (contender){k->name, &trials[i], call, NULL, use_threads};
    }
    const measure_plan plan = {0, r->mode == MODE_FULL ? 25 : 9, 1e6, 200e6};
    const bench_clock clock = real_clock();
    TRY(measure(results, contenders, n_counts, &plan, &clock));
    for (int i = 0; i < n_counts; i++) printf(" %10s", SHOW_US(results[i].summary.best));
    *speedup = results[0].summary.best / results[n_counts - 1].summary.best;
    printf(" %9.2fx\n", *speedup);
    return DUET_OK;
}

static duet_status scale_kind(report *r, const kind *k, const int *counts, int n_counts) {
    double pays_from = NAN;
    printf("\nScaling: %s\n  %10s", k->name, "size");
    for (int i = 0; i < n_counts; i++)
        printf(" %3d thread%s", counts[i], counts[i] > 1 ? "s" : " ");
    printf("   speed-up\n");
    for (const int64_t *n = k->sizes; *n; n++) {
        duet_tensor *x = held_uniform(k->square ? DUET_SHAPE(*n, *n) : DUET_SHAPE(*n), 1, 1);
        if (!x) return duet_error_code();
        double speedup = 0;
        printf("  %10d", (int)*n);
        duet_status status = measure_size(r, k, x, counts, n_counts, &speedup);
        duet_release(x);
        TRY(status);
        report_derive(r, speedup, "scaling.%s.%d.speedup", k->name, (int)*n);
        if (speedup < 1.1)
            pays_from = NAN;
        else if (isnan(pays_from))
            pays_from = (double)*n;
    }
    if (isfinite(pays_from))
        printf("  more than one core pays from %.0f %s on\n", pays_from, k->unit);
    else
        printf("  more than one core does not pay here\n");
    report_derive(r, pays_from, "scaling.%s.pays_from", k->name);
    return DUET_OK;
}

duet_status report_scaling(report *r) {
    int counts[MAX_COUNTS], before = duet_pool_threads(), n_counts = thread_counts(counts, before);
    if (n_counts == 1) {
        printf("\nScaling: there is nothing to compare with one thread\n");
        return DUET_OK;
    }
    printf("\nHanding work to a thread costs %.1f us\n", duet_pool_handover_ns() / 1e3);
    duet_status status = DUET_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && status == DUET_OK; i++)
        status = scale_kind(r, &kinds[i], counts, n_counts);
    duet_pool_set_threads(before);
    return status;
}
