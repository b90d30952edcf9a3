/* Small products, which the lessons are made of: how much of one core's multiply-adds they use, and
 * OpenBLAS beside them. */
#include "report.h"

#include "blas.h"
#include "kernels/gemm.h"
#include "peak.h"
#include "pool.h"

static const int64_t shapes[][3] = {{64, 64, 20}, {20, 64, 64}, {128, 128, 128}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

typedef struct trial {
    int64_t m, n, k;
    duet_tensor *a, *b, *c; /* held */
} trial;

static double flops_of(const trial *t) { return 2.0 * (double)t->m * (double)t->n * (double)t->k; }

static duet_status by_duet(void *context) {
    const trial *t = context;
    duet_gemm_f32(t->c->data, t->a->data, t->b->data,
                  &(duet_gemm_shape){.m = t->m, .n = t->n, .k = t->k}, NULL);
    sink(t->c->data);
    return DUET_OK;
}

static duet_status by_blas(void *context) {
    const trial *t = context;
    duet_blas_sgemm(t->c->data, t->a->data, t->b->data, t->m, t->n, t->k, t->n, t->k, t->n, false,
                    false);
    sink(t->c->data);
    return DUET_OK;
}

static duet_status by_peak(void *flops) {
    *(double *)flops = peak_work();
    return DUET_OK;
}

static bool trial_new(trial *t, const int64_t *shape) {
    *t = (trial){.m = shape[0], .n = shape[1], .k = shape[2]};
    t->a = held_uniform(DUET_SHAPE(t->m, t->k), 1, 1);
    t->b = held_uniform(DUET_SHAPE(t->k, t->n), 1, 2);
    t->c = held_zeros(DUET_SHAPE(t->m, t->n));
    return t->a && t->b && t->c;
}

static void trial_free(trial *t) {
    duet_release(t->a);
    duet_release(t->b);
    duet_release(t->c);
}

static void report_shape(report *r, const trial *t, double gflops, double blas, double peak) {
    char name[40];
    snprintf(name, sizeof name, "contraction.%dx%dx%d", (int)t->m, (int)t->n, (int)t->k);
    report_derive(r, gflops, "%s.gflops", name);
    report_derive(r, gflops / peak, "%s.share_of_peak", name);
    report_derive(r, blas, "%s.openblas_gflops", name);
    printf("  [%3d,%3d,%3d] %14.1f %18.0f %% %20.1f\n", (int)t->m, (int)t->n, (int)t->k, gflops,
           100 * gflops / peak, blas);
}

/* The peak takes its turn among the products: a machine that changes its pace would otherwise show
 * shares that no kernel has. */
static duet_status measure_all(report *r, trial *trials) {
    static measurement results[1 + 2 * SHAPES];
    contender all[1 + 2 * SHAPES];
    double peak_flops = 0;
    for (int i = 0; i < SHAPES; i++) {
        all[2 * i] = (contender){"duet", &trials[i], by_duet, NULL, NULL};
        all[2 * i + 1] = (contender){"OpenBLAS", &trials[i], by_blas, NULL, NULL};
    }
    all[2 * SHAPES] = (contender){"peak", &peak_flops, by_peak, NULL, NULL};
    const bool full = r->mode == MODE_FULL;
    const measure_plan plan = {0, full ? MAX_REPEATS : 5, full ? 2e6 : 5e5, 0};
    const bench_clock clock = real_clock();
    TRY(measure(results, all, 1 + 2 * SHAPES, &plan, &clock));
    const double peak = peak_flops / results[2 * SHAPES].summary.best / 1e3;
    for (int i = 0; i < SHAPES; i++) {
        const double work = flops_of(&trials[i]) / 1e3;
        report_shape(r, &trials[i], work / results[2 * i].summary.best,
                     work / results[2 * i + 1].summary.best, peak);
    }
    return DUET_OK;
}

static duet_status make_and_measure(report *r) {
    trial trials[SHAPES] = {0};
    bool made = true;
    for (int i = 0; i < SHAPES && made; i++) made = trial_new(&trials[i], shapes[i]);
    duet_status status = made ? measure_all(r, trials) : duet_error_code();
    for (int i = 0; i < SHAPES; i++) trial_free(&trials[i]);
    return status;
}

duet_status report_contractions(report *r) {
    int before = duet_pool_threads();
    printf("\nContractions: small products on one core\n");
    printf("  %-13s %14s %20s %20s\n", "[m,n,k]", "GFLOP/s", "of the core's peak", "OpenBLAS");
    if (before != 1) duet_pool_set_threads(1);
    duet_status status = make_and_measure(r);
    if (before != 1) duet_pool_set_threads(before);
    return status;
}
