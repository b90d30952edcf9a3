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

/* What the first tile of a panel has, with all of k in one block. */
static tile_args panel_tile(const gemm_job *g, const tile_panel *w, int64_t row) {
    return (tile_args){.a = g->trans_a ? g->a + row : g->a + row * g->lda,
                       .lda = g->lda,
                       .b = w->copied ? w->copy : g->b + w->j,
                       .ldb = w->copied ? w->pitch : g->ldb,
                       .c = g->c + row * g->ldc + w->j,
                       .ldc = g->ldc,
                       .k = g->k,
                       .last = w->pitch - LANES,
                       .bias = w->bias,
                       .rate = g->rate,
                       .relu = g->relu};
}

/* The usual case: one block of k, and at least a vector of columns. */
static void tiles_plain(const gemm_job *g, const tile_panel *w, int64_t row0, const cut *tiles) {
    const tile_fn *of = tile_of[g->trans_a][ceil_div(w->width, LANES) - 1];
    tile_args t = panel_tile(g, w, row0);
    int64_t left_step = g->trans_a ? 1 : g->lda;
    for (int64_t i = 0; i < tiles->pieces; i++) {
        int64_t rows = tiles->size + (i < tiles->larger);
        of[rows - 1](&t);
        t.a += rows * left_step;
        t.c += rows * t.ldc;
    }
}

/* All blocks of k but the last: their sum in `sum`, and `t` ready for the last one. */
static void tile_first_blocks(tile_args *t, const gemm_job *g, const tile_panel *w, tile_fn run,
                              real *sum) {
    tile_args part = {.a = t->a, .lda = t->lda, .b = t->b, .ldb = t->ldb, .last = t->last};
    part.c = sum;
    part.ldc = part.ld_sum = t->ld_sum = w->pitch;
    for (int64_t i = 0, p0 = 0; i + 1 < g->blocks.pieces; i++) {
        part.k = cut_begin(&g->blocks, i + 1) - p0;
        if (w->copied) pack_b(w->copy, w->pitch, g, p0, part.k, w->j, w->width);
        run(&part);
        part.sum = t->sum = sum;
        p0 += part.k;
        t->k = g->k - p0;
        part.a += g->trans_a ? part.k * g->lda : part.k;
        if (!w->copied) part.b += part.k * g->ldb;
    }
    t->a = part.a;
    t->b = part.b;
    if (w->copied) pack_b(w->copy, w->pitch, g, g->k - t->k, t->k, w->j, w->width);
}

/* One tile in any case. Where the panel is narrower than a vector, `spill` is in C's place. */
static void tile_general(const gemm_job *g, const tile_panel *w, int64_t row, int64_t rows) {
    real sum[ROWS_MAX * 3 * LANES] __attribute__((aligned(64)));
    real spill[ROWS_MAX * LANES] __attribute__((aligned(64)));
    tile_fn run = tile_of[g->trans_a][ceil_div(w->width, LANES) - 1][rows - 1];
    tile_args t = panel_tile(g, w, row);
    real *c = t.c;
    if (g->blocks.pieces > 1) tile_first_blocks(&t, g, w, run, sum);
    if (w->width >= LANES) {
        run(&t);
        return;
    }
    for (int64_t i = 0; g->rate && i < rows; i++)
        copy_few(spill + i * LANES, c + i * g->ldc, w->width);
    t.c = spill;
    t.ldc = LANES;
    run(&t);
    for (int64_t i = 0; i < rows; i++) copy_few(c + i * g->ldc, spill + i * LANES, w->width);
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
        cut tiles = cut_of(row1 - row0, tile_rows_limit(ceil_div(w.width, LANES)));
        if (w.width >= LANES && g->blocks.pieces == 1) {
            tiles_plain(g, &w, row0, &tiles);
            continue;
        }
        for (int64_t i = 0; i < tiles.pieces; i++) {
            int64_t begin = cut_begin(&tiles, i), end = cut_begin(&tiles, i + 1);
            tile_general(g, &w, row0 + begin, end - begin);
        }
    }
}

#endif
