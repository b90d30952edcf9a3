/* Copies of B's columns that lie as the tiles read them: step after step of one panel. */
#ifndef DUET_KERNELS_GEMM_PACK_H
#define DUET_KERNELS_GEMM_PACK_H

#include "kernels/gemm_job.h"

/* Rows of fewer columns than a vector has. Where they lie without gaps whole vectors are copied,
 * and what they hold of the next row lands in lanes that nobody looks at. */
static void pack_narrow(real *panel, const real *from, int64_t ldb, int64_t k, int64_t width) {
    int64_t whole = ldb == width ? k - ceil_div(LANES, width) : 0, p = 0;
    for (; p < whole; p++) vec_store(panel + p * LANES, vec_load(from + p * ldb));
    for (; p < k; p++) {
        vec_store(panel + p * LANES, (vec){0});
        copy_few(panel + p * LANES, from + p * ldb, width);
    }
}

static void pack_rows(real *panel, int64_t pitch, const real *from, int64_t ldb, int64_t k,
                      int64_t width) {
    for (int64_t p = 0; p < k; p++, panel += pitch, from += ldb) {
        if (width < pitch) vec_store(panel + pitch - LANES, (vec){0});
        copy_row(panel, from, width);
    }
}

/* Four by four at a time: b's rows are columns here. */
typedef real quad __attribute__((vector_size(4 * sizeof(real)), aligned(sizeof(real)), may_alias));

DUET_ALWAYS_INLINE void transpose_quad(real *to, int64_t pitch, const real *from, int64_t ldb) {
    quad r0 = *(const quad *)from, r1 = *(const quad *)(from + ldb);
    quad r2 = *(const quad *)(from + 2 * ldb), r3 = *(const quad *)(from + 3 * ldb);
    quad low01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
    quad low23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
    quad high01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
    quad high23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
    *(quad *)to = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
    *(quad *)(to + pitch) = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
    *(quad *)(to + 2 * pitch) = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
    *(quad *)(to + 3 * pitch) = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

/* Four columns for all steps, then the next four: b is read along its rows. */
static void pack_columns(real *panel, int64_t pitch, const real *from, int64_t ldb, int64_t k,
                         int64_t width) {
    int64_t j = 0;
    for (; j + 4 <= width; j += 4) {
        const real *columns = from + j * ldb;
        int64_t p = 0;
        for (; p + 4 <= k; p += 4) transpose_quad(panel + p * pitch + j, pitch, columns + p, ldb);
        for (; p < k; p++)
            for (int64_t i = 0; i < 4; i++) panel[p * pitch + j + i] = columns[i * ldb + p];
    }
    for (; j < pitch; j++)
        for (int64_t p = 0; p < k; p++) panel[p * pitch + j] = j < width ? from[j * ldb + p] : 0;
}

/* Steps p0 .. p0+k-1 of columns j .. j+width-1 as [k, pitch]; what lies beside the columns is of no
 * use to anybody, but not uninitialised. pitch is less than width + LANES. */
static void pack_b(real *panel, int64_t pitch, const gemm_job *g, int64_t p0, int64_t k, int64_t j,
                   int64_t width) {
    if (g->trans_b)
        pack_columns(panel, pitch, g->b + j * g->ldb + p0, g->ldb, k, width);
    else if (width < LANES)
        pack_narrow(panel, g->b + p0 * g->ldb + j, g->ldb, k, width);
    else
        pack_rows(panel, pitch, g->b + p0 * g->ldb + j, g->ldb, k, width);
}

#endif
