/* Small products: register tiles straight from the operands. Only what a tile cannot load as it
 * lies is copied first, one panel of columns at a time, onto the stack. */
#ifndef DUET_KERNELS_GEMM_TILES_H
#define DUET_KERNELS_GEMM_TILES_H

#include "kernels/gemm_pack.h"
#include "kernels/gemm_tile.h"

/* The next panel's columns: two vectors; what is left beside them makes the last one a vector wider
 * (overlapping), not an extra panel of its own. */
static inline int64_t panel_width(int64_t left) {
    return left > PANEL && left < PANEL + LANES ? left : min_i64(left, PANEL);
}

/* One panel of columns, and where its tiles find and leave things. */
typedef struct tile_panel {
    int64_t j, width, pitch; /* pitch: at least a vector */
    bool copied;             /* b's columns are in `copy`, as [k, pitch] */
    real *copy;
    const real *bias; /* as wide as pitch, or NULL */
} tile_panel;

/* The epilogue, and C itself or, where the panel is narrower than a vector, `spill` in its place.
 */
static void tile_set_result(tile_args *t, const gemm_job *g, const tile_panel *w, int64_t row,
                            int64_t rows, real *spill) {
    t->bias = w->bias;
    t->rate = g->rate;
    t->relu = g->relu;
    t->c = g->c + row * g->ldc + w->j;
    t->ldc = g->ldc;
    if (w->width >= LANES) return;
    for (int64_t i = 0; g->rate && i < rows; i++)
        copy_few(spill + i * LANES, t->c + i * g->ldc, w->width);
    t->c = spill;
    t->ldc = LANES;
}

/* The rows of a tile for all of k. With several blocks, `sum` carries from one to the next. */
static void tile_run(const gemm_job *g, const tile_panel *w, int64_t row, int64_t rows) {
    real sum[ROWS_MAX * 3 * LANES] __attribute__((aligned(64)));
    real spill[ROWS_MAX * LANES] __attribute__((aligned(64)));
    tile_fn run = tile_of[g->trans_a][ceil_div(w->width, LANES) - 1][rows - 1];
    const real *a = g->trans_a ? g->a + row : g->a + row * g->lda;
    tile_args t = {.a = a,
                   .lda = g->lda,
                   .b = w->copied ? w->copy : g->b + w->j,
                   .ldb = w->copied ? w->pitch : g->ldb,
                   .k = g->k,
                   .last = w->pitch - LANES};
    if (g->blocks.pieces > 1) {
        t.c = sum;
        t.ldc = t.ld_sum = w->pitch;
        for (int64_t i = 0, p0 = 0; i + 1 < g->blocks.pieces; i++) {
            t.k = cut_begin(&g->blocks, i + 1) - p0;
            if (w->copied) pack_b(w->copy, w->pitch, g, p0, t.k, w->j, w->width);
            run(&t);
            t.sum = sum;
            p0 += t.k;
            t.a = a + (g->trans_a ? p0 * g->lda : p0);
            if (!w->copied) t.b = g->b + p0 * g->ldb + w->j;
            t.k = g->k - p0;
        }
        if (w->copied) pack_b(w->copy, w->pitch, g, g->k - t.k, t.k, w->j, w->width);
    }
    tile_set_result(&t, g, w, row, rows, spill);
    run(&t);
    if (t.c == spill)
        for (int64_t i = 0; i < rows; i++)
            copy_few(g->c + (row + i) * g->ldc + w->j, spill + i * LANES, w->width);
}

/* Rows row0 .. row1-1 of columns j0 .. j1-1. */
static void tiles_run(const gemm_job *g, int64_t row0, int64_t row1, int64_t j0, int64_t j1) {
    real copy[K_BLOCK * 3 * LANES] __attribute__((aligned(64)));
    real bias[LANES];
    tile_panel w = {.j = j0, .copy = copy};
    for (; w.j < j1; w.j += w.width) {
        w.width = panel_width(j1 - w.j);
        w.pitch = max_i64(w.width, LANES);
        w.copied = g->trans_b || w.width < LANES;
        w.bias = g->bias ? g->bias + w.j : NULL;
        if (g->bias && w.width < LANES) {
            vec_store(bias, (vec){0});
            copy_few(bias, w.bias, w.width);
            w.bias = bias;
        }
        if (w.copied && g->blocks.pieces == 1) pack_b(copy, w.pitch, g, 0, g->k, w.j, w.width);
        cut tiles = cut_of(row1 - row0, tile_rows_limit(ceil_div(w.width, LANES), g->trans_a));
        int64_t row = row0;
        for (int64_t i = 0; i < tiles.pieces; i++) {
            int64_t rows = tiles.size + (i < tiles.larger);
            tile_run(g, &w, row, rows);
            row += rows;
        }
    }
}

#endif
