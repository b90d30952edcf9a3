/* What all paths share: the product with its pitches filled in, and the epilogue for elements that
 * are not in a register tile. */
#ifndef DUET_KERNELS_GEMM_JOB_H
#define DUET_KERNELS_GEMM_JOB_H

#include "kernels/gemm_real.h"

typedef struct gemm_job {
    real *c;
    const real *a, *b;
    int64_t m, n, k, ldc, lda, ldb;
    bool trans_a, trans_b, relu;
    const real *bias, *rate;
} gemm_job;

static gemm_job job_of(real *c, const real *a, const real *b, const duet_gemm_shape *s,
                       const epilogue_t *e) {
    return (gemm_job){
        .c = c,
        .a = a,
        .b = b,
        .m = s->m,
        .n = s->n,
        .k = s->k,
        .ldc = s->ldc ? s->ldc : s->n,
        .lda = s->lda       ? s->lda
               : s->trans_a ? s->m
                            : s->k,
        .ldb = s->ldb       ? s->ldb
               : s->trans_b ? s->k
                            : s->n,
        .trans_a = s->trans_a,
        .trans_b = s->trans_b,
        .relu = e ? e->relu : false,
        .bias = e ? e->bias : NULL,
        .rate = e ? e->rate : NULL,
    };
}

/* Where block i of k begins: as many blocks as K_BLOCK asks for, of nearly the same size. */
static inline int64_t k_blocks(int64_t k) { return ceil_div(k, K_BLOCK); }
static inline int64_t k_begin(int64_t k, int64_t i) {
    int64_t blocks = k_blocks(k), size = k / blocks, larger = k % blocks;
    return i * size + min_i64(i, larger);
}

/* Finishes `count` products of one row, from column j on, whose elements of C lie `stride` apart.
 */
static inline void finish_row(const gemm_job *g, real *c, int64_t stride, const real *product,
                              int64_t j, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        real p = product[i];
        if (g->bias) p += g->bias[j + i];
        if (g->relu) p = p < 0 ? 0 : p;
        if (g->rate) p = c[i * stride] - *g->rate * p;
        c[i * stride] = p;
    }
}

#endif
