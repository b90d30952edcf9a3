/* Small products: register tiles straight from the operands. Only what a tile cannot load as it
 * lies is copied first, one panel of columns at a time, onto the stack. */
#ifndef DUET_KERNELS_GEMM_TILES_H
#define DUET_KERNELS_GEMM_TILES_H

#include "kernels/gemm_job.h"
#include "kernels/gemm_tile.h"

#include <string.h>

/* The next panel's columns: two vectors; what is left beside them makes the last one a vector wider
 * (overlapping), not an extra panel of its own. */
static inline int64_t panel_width(int64_t left) {
    return left > PANEL && left < PANEL + LANES ? left : min_i64(left, PANEL);
}

/* Rows of tile i when `rows` are cut into tiles of nearly the same size, at most `limit`. */
static inline int64_t tile_begin(int64_t rows, int64_t limit, int64_t i) {
    int64_t tiles = ceil_div(rows, limit), size = rows / tiles, larger = rows % tiles;
    return i * size + min_i64(i, larger);
}

/* Steps p0 .. p0+k-1 of columns j .. j+width-1 as [k, pitch], zeros beside the columns. */
static void pack_b(real *panel, int64_t pitch, const gemm_job *g, int64_t p0, int64_t k, int64_t j,
                   int64_t width) {
    if (!g->trans_b) {
        const real *from = g->b + p0 * g->ldb + j;
        for (int64_t p = 0; p < k; p++, panel += pitch, from += g->ldb) {
            memcpy(panel, from, (size_t)width * sizeof(real));
            for (int64_t i = width; i < pitch; i++) panel[i] = 0;
        }
        return;
    }
    for (int64_t i = 0; i < pitch; i++) {
        const real *from = g->b + (j + i) * g->ldb + p0;
        for (int64_t p = 0; p < k; p++) panel[p * pitch + i] = i < width ? from[p] : 0;
    }
}

static void tile_set_left(tile_args *t, const gemm_job *g, int64_t row, int64_t p0) {
    t->a = g->trans_a ? g->a + p0 * g->lda + row : g->a + row * g->lda + p0;
    t->lda = g->lda;
}

/* One tile, all of k. `panel` holds b's columns when `copied`; when k has several blocks it is
 * refilled for each, and `sum` carries from one to the next. */
static void tile_all_k(const gemm_job *g, real *panel, bool copied, int64_t row, int64_t rows,
                       int64_t j, int64_t width) {
    real sum[ROWS_MAX * 3 * LANES] __attribute__((aligned(64)));
    int64_t blocks = k_blocks(g->k), vectors = ceil_div(width, LANES),
            pitch = max_i64(width, LANES);
    tile_fn run = tile_of[g->trans_a][vectors - 1][rows - 1];
    for (int64_t i = 0; i < blocks; i++) {
        int64_t p0 = k_begin(g->k, i), k = k_begin(g->k, i + 1) - p0;
        bool finish = i + 1 == blocks && width >= LANES;
        tile_args t = {.c = sum, .ldc = pitch, .k = k, .last = pitch - LANES, .ld_sum = pitch};
        tile_set_left(&t, g, row, p0);
        t.sum = i ? sum : NULL;
        t.b = copied ? panel : g->b + p0 * g->ldb + j;
        t.ldb = copied ? pitch : g->ldb;
        if (copied && blocks > 1) pack_b(panel, pitch, g, p0, k, j, width);
        if (finish) {
            t.c = g->c + row * g->ldc + j;
            t.ldc = g->ldc;
            t.bias = g->bias ? g->bias + j : NULL;
            t.rate = g->rate;
            t.relu = g->relu;
        }
        run(&t);
    }
    if (width < LANES)
        for (int64_t i = 0; i < rows; i++)
            finish_row(g, g->c + (row + i) * g->ldc + j, 1, sum + i * LANES, j, width);
}

/* Rows row0 .. row1-1 of columns j0 .. j1-1. */
static void tiles_run(const gemm_job *g, int64_t row0, int64_t row1, int64_t j0, int64_t j1) {
    real panel[K_BLOCK * 3 * LANES] __attribute__((aligned(64)));
    for (int64_t j = j0, width; j < j1; j += width) {
        width = panel_width(j1 - j);
        bool copied = g->trans_b || width < LANES;
        if (copied && k_blocks(g->k) == 1)
            pack_b(panel, max_i64(width, LANES), g, 0, g->k, j, width);
        int64_t limit = tile_rows_limit(ceil_div(width, LANES), g->trans_a), rows = row1 - row0;
        for (int64_t i = 0; i < ceil_div(rows, limit); i++) {
            int64_t begin = tile_begin(rows, limit, i), end = tile_begin(rows, limit, i + 1);
            tile_all_k(g, panel, copied, row0 + begin, end - begin, j, width);
        }
    }
}

#endif
