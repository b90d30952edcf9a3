/* The paths put together; gemm_f32.c and gemm_f64.c include this once each. */
#ifndef DUET_KERNELS_GEMM_PATHS_H
#define DUET_KERNELS_GEMM_PATHS_H

#include "blas.h"
#include "kernels/gemm_panels.h"
#include "kernels/gemm_vector.h"

#include <assert.h>

/* BLAS's bits may depend on the number of rows in a call, so C is always cut into the same rows. */
enum { BLAS_ROWS = 256 };

static void zero_run(const gemm_job *g) {
    static const real zero;
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) finish_row(g, g->c + i * g->ldc + j, &zero, j, 1);
}

/* Blocks begin .. end-1 of BLAS_ROWS rows. */
static void blas_task(void *context, int64_t begin, int64_t end) {
    const gemm_job *g = context;
    real *apart = NULL;
    if (g->rate) {
        apart = duet_scratch(DUET_SCRATCH_TASK, (size_t)(BLAS_ROWS * g->n) * sizeof(real));
        if (!apart) {
            tiles_run(g, begin * BLAS_ROWS, min_i64(end * BLAS_ROWS, g->m), 0, g->n);
            return;
        }
    }
    for (int64_t block = begin; block < end; block++) {
        int64_t row = block * BLAS_ROWS, rows = min_i64(BLAS_ROWS, g->m - row);
        real *c = g->c + row * g->ldc, *product = apart ? apart : c;
        int64_t pitch = apart ? g->n : g->ldc;
        blas_gemm(product, g->trans_a ? g->a + row : g->a + row * g->lda, g->b, rows, g->n, g->k,
                  pitch, g->lda, g->ldb, g->trans_a, g->trans_b);
        for (int64_t i = 0; i < rows && (g->bias || g->relu || g->rate); i++)
            finish_row(g, c + i * g->ldc, product + i * pitch, 0, g->n);
    }
}

static void blas_run(gemm_job *g) {
    int64_t blocks = ceil_div(g->m, BLAS_ROWS);
    duet_parallel_for(blocks, grain_of(g, blocks), blas_task, g);
}

static void tiles_task(void *context, int64_t begin, int64_t end) {
    const gemm_job *g = context;
    cut tiles = cut_of(g->m, ROWS_MAX);
    tiles_run(g, cut_begin(&tiles, begin), cut_begin(&tiles, end), 0, g->n);
}

static void vector_task(void *context, int64_t begin, int64_t end) {
    const gemm_job *g = context;
    int64_t count = g->m == 1 ? g->n : g->m;
    vector_run(g, begin * CHUNK, min_i64(end * CHUNK, count));
}

static void outer_task(void *context, int64_t begin, int64_t end) {
    outer_rows(context, begin, end);
}

/* Calls the task in place when the work is too small to split; 2 * flops for paths that are bound
 * by memory, not by arithmetic, are 8 and more. */
static void spread(gemm_job *g, int64_t items, int64_t cost, duet_task task) {
    double work = 2.0 * (double)g->m * (double)g->n * (double)g->k * (double)cost;
    if (work < 2.0 * SPLIT_FLOPS)
        task(g, 0, items);
    else
        duet_parallel_for(items, 1 + (int64_t)(SPLIT_FLOPS * (double)items / work), task, g);
}

static void gemm_run(duet_gemm_path path, gemm_job *g) {
    switch (path) {
    case DUET_GEMM_NOTHING: return;
    case DUET_GEMM_ZERO: zero_run(g); return;
    case DUET_GEMM_OUTER: spread(g, g->m, 32, outer_task); return;
    case DUET_GEMM_VECTOR:
        spread(g, ceil_div(g->m == 1 ? g->n : g->m, CHUNK), 8, vector_task);
        return;
    case DUET_GEMM_TILES: spread(g, ceil_div(g->m, ROWS_MAX), 1, tiles_task); return;
    case DUET_GEMM_PANELS: panels_run(g); return;
    case DUET_GEMM_BLAS: blas_run(g); return;
    }
}

void REAL_PASTE(duet_gemm_f, REAL_BITS, _by)(duet_gemm_path path, real *c, const real *a,
                                             const real *b, const duet_gemm_shape *shape,
                                             const epilogue_t *epilogue) {
    gemm_job g = job_of(c, a, b, shape, epilogue);
    assert(g.m >= 0 && g.n >= 0 && g.k >= 0);
    gemm_run(path, &g);
}

void REAL_PASTE(duet_gemm_f, REAL_BITS, )(real *c, const real *a, const real *b,
                                          const duet_gemm_shape *shape,
                                          const epilogue_t *epilogue) {
    gemm_job g = job_of(c, a, b, shape, epilogue);
    assert(g.m >= 0 && g.n >= 0 && g.k >= 0);
    gemm_run(duet_gemm_choice(shape, REAL_DTYPE), &g);
}

#endif
