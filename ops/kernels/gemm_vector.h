/* Products in which one of the three sizes is 1. They move as many bytes as they do
 * multiplications, so nothing is packed; every loop reads memory in the order in which it lies. */
#ifndef DUET_KERNELS_GEMM_VECTOR_H
#define DUET_KERNELS_GEMM_VECTOR_H

#include "kernels/gemm_job.h"

enum { CHUNK = 8 * LANES, GATHER = K_BLOCK };

/* ---- k = 1: C[i,j] = a[i] * b[j] ---------------------------------------------------------------
 */

/* Rows row0 .. row1-1 of at most CHUNK columns from j on; b holds those columns' factors. */
static void outer_chunk(const gemm_job *g, const real *b, int64_t row0, int64_t row1, int64_t j,
                        int64_t width) {
    for (int64_t i = row0; i < row1; i++) {
        vec left = vec_all(g->trans_a ? g->a[i] : g->a[i * g->lda]);
        real *c = g->c + i * g->ldc + j;
        int64_t q = 0;
        for (; q + LANES <= width; q += LANES) {
            vec p = left * vec_load(b + q);
            if (g->bias) p += vec_load(g->bias + j + q);
            if (g->relu) p = vec_relu(p);
            if (g->rate) p = vec_load(c + q) - vec_all(*g->rate) * p;
            vec_store(c + q, p);
        }
        if (q == width) continue;
        real rest[LANES];
        for (int64_t r = q; r < width; r++) rest[r - q] = left[0] * b[r];
        finish_row(g, c + q, rest, j + q, width - q);
    }
}

static void outer_rows(const gemm_job *g, int64_t row0, int64_t row1) {
    real gathered[CHUNK];
    for (int64_t j = 0, width; j < g->n; j += width) {
        width = min_i64(g->n - j, g->trans_b && g->ldb != 1 ? CHUNK : g->n);
        const real *b = g->b + (g->trans_b ? j * g->ldb : j);
        if (g->trans_b && g->ldb != 1) {
            for (int64_t i = 0; i < width; i++) gathered[i] = b[i * g->ldb];
            b = gathered;
        }
        outer_chunk(g, b, row0, row1, j, width);
    }
}

/* ---- m = 1 or n = 1: y = M · x ------------------------------------------------------------------
 */

/* The two operands as a matrix, whose rows lie `pitch` apart, and a vector. */
typedef struct matvec {
    const real *matrix, *x;
    int64_t pitch, stride; /* of x */
    bool along;            /* the sum runs along the matrix's rows; otherwise down its columns */
    int64_t count;         /* elements of y */
} matvec;

static matvec matvec_of(const gemm_job *g) {
    if (g->n == 1) return (matvec){g->a, g->b, g->lda, g->trans_b ? 1 : g->ldb, !g->trans_a, g->m};
    return (matvec){g->b, g->a, g->ldb, g->trans_a ? g->lda : 1, g->trans_b, g->n};
}

/* Stores products of elements i .. i+count-1 of y. */
static void matvec_finish(const gemm_job *g, const real *product, int64_t i, int64_t count) {
    if (g->m == 1) {
        finish_row(g, g->c + i, product, i, count);
        return;
    }
    for (int64_t q = 0; q < count; q++) finish_row(g, g->c + (i + q) * g->ldc, product + q, 0, 1);
}

/* The vector's lanes in pairs, halving. */
static real lanes_sum(vec x) {
    for (int half = LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++) x[i] += x[i + half];
    return x[0];
}

/* The dot products of x with `rows` rows: four chains of vectors each, added in pairs, then the
 * lanes in pairs, then what is left as one scalar chain. The order depends on k alone. */
DUET_ALWAYS_INLINE void dots(real *product, const real *row, int64_t pitch, const real *x,
                             int64_t k, const int rows) {
    enum { WAYS = 4, MOST = 2 };
    vec acc[MOST][WAYS] = {0};
    int64_t p = 0;
    if (k >= WAYS * LANES) DUET_UNROLL
    for (int w = 0; w < WAYS; w++, p += LANES) DUET_UNROLL
    for (int i = 0; i < rows; i++) acc[i][w] = vec_load(row + i * pitch + p) * vec_load(x + p);
    for (; p + WAYS * LANES <= k; p += WAYS * LANES) {
        DUET_UNROLL
        for (int w = 0; w < WAYS; w++) {
            vec right = vec_load(x + p + w * LANES);
            DUET_UNROLL
            for (int i = 0; i < rows; i++)
                acc[i][w] = vec_fma(vec_load(row + i * pitch + p + w * LANES), right, acc[i][w]);
        }
    }
    int64_t wide = p;
    for (int i = 0; i < rows; i++) {
        vec sum = wide ? (acc[i][0] + acc[i][1]) + (acc[i][2] + acc[i][3]) : (vec){0};
        const real *left = row + i * pitch;
        for (p = wide; p + LANES <= k; p += LANES)
            sum = p ? vec_fma(vec_load(left + p), vec_load(x + p), sum)
                    : vec_load(left) * vec_load(x);
        real total = p ? lanes_sum(sum) : left[0] * x[0];
        for (p = p ? p : 1; p < k; p++) total = real_fma(left[p], x[p], total);
        product[i] = total;
    }
}

/* y[i] for i in [begin, end), each a dot product along a row, in blocks of k. */
static void matvec_along(const gemm_job *g, const matvec *mv, int64_t begin, int64_t end) {
    real gathered[K_BLOCK];
    for (int64_t i = begin, rows; i < end; i += rows) {
        real product[2], sum[2] = {0};
        rows = min_i64(end - i, 2);
        for (int64_t block = 0; block < g->blocks.pieces; block++) {
            int64_t p0 = cut_begin(&g->blocks, block), k = cut_begin(&g->blocks, block + 1) - p0;
            const real *x = mv->x + p0 * mv->stride, *row = mv->matrix + i * mv->pitch + p0;
            if (mv->stride != 1) {
                for (int64_t p = 0; p < k; p++) gathered[p] = x[p * mv->stride];
                x = gathered;
            }
            if (rows == 2)
                dots(product, row, mv->pitch, x, k, 2);
            else
                dots(product, row, mv->pitch, x, k, 1);
            for (int q = 0; q < rows; q++) sum[q] = block ? sum[q] + product[q] : product[q];
        }
        matvec_finish(g, sum, i, rows);
    }
}

/* `vectors` vectors of y from column `row` on: down the columns, as a tile with one row. */
DUET_ALWAYS_INLINE void column_sums(real *product, const real *row, const matvec *mv, int64_t p0,
                                    int64_t k, const int vectors) {
    vec acc[CHUNK / LANES];
    const real *x = mv->x + p0 * mv->stride;
    row += p0 * mv->pitch;
    DUET_UNROLL
    for (int v = 0; v < vectors; v++) acc[v] = vec_all(*x) * vec_load(row + v * LANES);
    for (int64_t p = 1; p < k; p++) {
        vec left = vec_all(x[p * mv->stride]);
        row += mv->pitch;
        DUET_UNROLL
        for (int v = 0; v < vectors; v++) acc[v] = vec_fma(left, vec_load(row + v * LANES), acc[v]);
    }
    for (int v = 0; v < vectors; v++) {
        vec before = p0 ? vec_load(product + v * LANES) : (vec){0};
        vec_store(product + v * LANES, p0 ? before + acc[v] : acc[v]);
    }
}

/* The same for fewer columns than a vector has, one at a time. */
static void column_sums_narrow(real *product, const real *row, const matvec *mv, int64_t p0,
                               int64_t k, int64_t width) {
    for (int64_t j = 0; j < width; j++) {
        const real *m = row + p0 * mv->pitch + j, *x = mv->x + p0 * mv->stride;
        real sum = *x * *m;
        for (int64_t p = 1; p < k; p++) sum = real_fma(x[p * mv->stride], m[p * mv->pitch], sum);
        product[j] = p0 ? product[j] + sum : sum;
    }
}

/* y[i] for i in [begin, end), each a sum down a column: a chain over k within each block. */
static void matvec_down(const gemm_job *g, const matvec *mv, int64_t begin, int64_t end) {
    for (int64_t i = begin, width; i < end; i += width) {
        int64_t left = end - i;
        real product[CHUNK];
        width = left >= CHUNK ? CHUNK : left >= 4 * LANES ? 4 * LANES : min_i64(left, LANES);
        for (int64_t block = 0; block < g->blocks.pieces; block++) {
            int64_t p0 = cut_begin(&g->blocks, block), k = cut_begin(&g->blocks, block + 1) - p0;
            const real *columns = mv->matrix + i;
            if (width == CHUNK)
                column_sums(product, columns, mv, p0, k, CHUNK / LANES);
            else if (width == 4 * LANES)
                column_sums(product, columns, mv, p0, k, 4);
            else if (width == LANES)
                column_sums(product, columns, mv, p0, k, 1);
            else
                column_sums_narrow(product, columns, mv, p0, k, width);
        }
        matvec_finish(g, product, i, width);
    }
}

static void vector_run(const gemm_job *g, int64_t begin, int64_t end) {
    matvec mv = matvec_of(g);
    if (mv.along)
        matvec_along(g, &mv, begin, end);
    else
        matvec_down(g, &mv, begin, end);
}

#endif
