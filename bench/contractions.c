/* Small products, which the lessons are made of: how much of one core's multiply-adds they use, and
 * OpenBLAS beside them. */
#include "report.h"

#include "blas.h"
#include "kernels/gemm.h"
#include "peak.h"
#include "pool.h"

#include <math.h>

static const int64_t shapes[][3] = {{64, 64, 20}, {20, 64, 64}, {128, 128, 128}};

typedef struct trial {
    int64_t m, n, k;
    const float *a, *b;
    float *c;
} trial;

static duet_status by_duet(void *context) {
    const trial *t = context;
    duet_gemm_f32(t->c, t->a, t->b, &(duet_gemm_shape){.m = t->m, .n = t->n, .k = t->k}, NULL);
    sink(t->c);
    return DUET_OK;
}

static duet_status by_blas(void *context) {
    const trial *t = context;
    duet_blas_sgemm(t->c, t->a, t->b, t->m, t->n, t->k, t->n, t->k, t->n, false, false);
    sink(t->c);
    return DUET_OK;
}

/* The peak is taken on both sides of the products: a machine that changes its pace would otherwise
 * show shares that no kernel has. */
static duet_status measure_shape(report *r, trial *t) {
    static measurement results[2];
    const contender both[] = {{"duet", t, by_duet, NULL, NULL},
                              {"OpenBLAS", t, by_blas, NULL, NULL}};
    const measure_plan plan = {0, r->mode == MODE_FULL ? MAX_REPEATS : 5, 5e5, 400e6};
    const bench_clock clock = real_clock();
    double flops = 2.0 * (double)t->m * (double)t->n * (double)t->k, peak = peak_gflops(1);
    TRY(measure(results, both, 2, &plan, &clock));
    peak = fmax(peak, peak_gflops(1));
    double gflops = flops / results[0].summary.best / 1e3;
    double blas = flops / results[1].summary.best / 1e3;
    char name[40];
    snprintf(name, sizeof name, "contraction.%dx%dx%d", (int)t->m, (int)t->n, (int)t->k);
    report_derive(r, gflops, "%s.gflops", name);
    report_derive(r, gflops / peak, "%s.share_of_peak", name);
    report_derive(r, blas, "%s.openblas_gflops", name);
    printf("  [%3d,%3d,%3d] %14.1f %18.0f %% %20.1f\n", (int)t->m, (int)t->n, (int)t->k, gflops,
           100 * gflops / peak, blas);
    return DUET_OK;
}

static duet_status measure_all(report *r) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int64_t *s = shapes[i];
        duet_tensor *a = held_uniform(DUET_SHAPE(s[0], s[2]), 1, 1);
        duet_tensor *b = held_uniform(DUET_SHAPE(s[2], s[1]), 1, 2);
        duet_tensor *c = held_zeros(DUET_SHAPE(s[0], s[1]));
        duet_status status = duet_error_code();
        if (a && b && c)
            status = measure_shape(r, &(trial){s[0], s[1], s[2], a->data, b->data, c->data});
        duet_release(a);
        duet_release(b);
        duet_release(c);
        TRY(status);
    }
    return DUET_OK;
}

duet_status report_contractions(report *r) {
    int before = duet_pool_threads();
    printf("\nContractions: small products on one core\n");
    printf("  %-13s %14s %20s %20s\n", "[m,n,k]", "GFLOP/s", "of the core's peak", "OpenBLAS");
    if (before != 1) duet_pool_set_threads(1);
    duet_status status = measure_all(r);
    if (before != 1) duet_pool_set_threads(before);
    return status;
}
