/* What all paths share: the product with its pitches filled in, and the epilogue for elements that
 * are not in a register tile. */
#ifndef DUET_KERNELS_GEMM_JOB_H
#define DUET_KERNELS_GEMM_JOB_H

#include "kernels/gemm_real.h"

#include <string.h>

/* A length cut into pieces of nearly the same size, none above a limit. */
typedef struct cut {
    int64_t pieces, size, larger; /* the first `larger` pieces have one more than `size` */
} cut;

static inline cut cut_of(int64_t length, int64_t limit) {
    int64_t pieces = ceil_div(length, limit);
    return (cut){pieces, pieces ? length / pieces : 0, pieces ? length % pieces : 0};
}
static inline int64_t cut_begin(const cut *c, int64_t piece) {
    return piece * c->size + min_i64(piece, c->larger);
}

typedef struct gemm_job {
    real *c;
    const real *a, *b;
    int64_t m, n, k, ldc, lda, ldb;
    cut blocks; /* of k */
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
        .blocks = cut_of(s->k, K_BLOCK),
        .trans_a = s->trans_a,
        .trans_b = s->trans_b,
        .relu = e ? e->relu : false,
        .bias = e ? e->bias : NULL,
        .rate = e ? e->rate : NULL,
    };
}

/* Copies fewer elements than a vector has; a call of memcpy would cost more than the bytes. */
static inline void copy_few(real *to, const real *from, int64_t count) {
    DUET_UNROLL
    for (int64_t part = LANES / 2; part; part /= 2) {
        if (!(count & part)) continue;
        memcpy(to, from, (size_t)part * sizeof(real));
        to += part;
        from += part;
    }
}

static inline void copy_row(real *to, const real *from, int64_t count) {
    for (; count >= LANES; count -= LANES, to += LANES, from += LANES)
        vec_store(to, vec_load(from));
    copy_few(to, from, count);
}

/* Finishes `count` products of one row, from column j on. */
static inline void finish_row(const gemm_job *g, real *c, const real *product, int64_t j,
                              int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        real p = product[i];
        if (g->bias) p += g->bias[j + i];
        if (g->relu) p = p < 0 ? 0 : p;
        if (g->rate) p = c[i] - *g->rate * p;
        c[i] = p;
    }
}

#endif
