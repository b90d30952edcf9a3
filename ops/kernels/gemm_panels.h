/* Large products: the same tiles over copies of the operands that lie as they are read, blocked for
 * the caches as in Goto and van de Geijn (2008). B is packed once for all threads; each task then
 * takes a range of rows (or of columns, when there are more of those). */
#ifndef DUET_KERNELS_GEMM_PANELS_H
#define DUET_KERNELS_GEMM_PANELS_H

#include "kernels/gemm_tiles.h"
#include "pool.h"
#include "kernels/scratch.h"

enum {
    GROUP_ROWS = 144,     /* A's and C's part of the second cache */
    GROUP_COLUMNS = 512,  /* B's, times K_BLOCK */
    WORKSPACE = 64 << 20, /* packed B, bytes; beyond: in turns */
    SPLIT_FLOPS = 20000 * 4 * LANES * DUET_VECTOR_REGISTERS / 16, /* about 20 us of one core */
};

typedef struct panels_job {
    gemm_job g;
    int64_t j0, width; /* the columns in turn */
    int64_t pitch;     /* width, rounded up to what the panels hold */
    real *packed;      /* block of k, panel, step, column */
    bool split_columns;
} panels_job;

static int64_t panels_pitch(int64_t width) { return ceil_div(width, LANES) * LANES; }

/* The panel at column j (of the turn) in the block that begins at step p0 and has k steps. */
static real *packed_panel(const panels_job *w, int64_t p0, int64_t k, int64_t j) {
    return w->packed + p0 * w->pitch + j * k;
}

/* Columns that a packed panel holds: two vectors, or one at the end. */
static int64_t packed_width(const panels_job *w, int64_t j) { return min_i64(w->pitch - j, PANEL); }

static void pack_task(void *context, int64_t begin, int64_t end) {
    const panels_job *w = context;
    int64_t panels = ceil_div(w->width, PANEL);
    for (int64_t item = begin; item < end; item++) {
        int64_t block = item / panels, j = item % panels * PANEL;
        int64_t p0 = cut_begin(&w->g.blocks, block), k = cut_begin(&w->g.blocks, block + 1) - p0;
        pack_b(packed_panel(w, p0, k, j), packed_width(w, j), &w->g, p0, k, w->j0 + j,
               min_i64(w->width - j, PANEL));
    }
}

/* A range of C, within which the operands stay in the second cache. */
typedef struct group {
    int64_t row0, row1, j0, j1; /* columns of the turn */
    real *left;                 /* A's rows of one block of k, when A is stored by columns */
    real *sum; /* sums of earlier blocks where C must keep its old value, or NULL */
} group;

/* A's rows as [tile, step, row of the tile]. */
static void pack_left(const panels_job *w, const group *r, const cut *tiles, int64_t p0,
                      int64_t k) {
    for (int64_t i = 0; i < tiles->pieces; i++) {
        int64_t begin = cut_begin(tiles, i), rows = cut_begin(tiles, i + 1) - begin;
        const real *from = w->g.a + p0 * w->g.lda + r->row0 + begin;
        real *to = r->left + begin * k;
        for (int64_t p = 0; p < k; p++, from += w->g.lda, to += rows) copy_row(to, from, rows);
    }
}

static void copy_rows(real *to, int64_t to_pitch, const real *from, int64_t from_pitch,
                      int64_t rows, int64_t width) {
    for (int64_t i = 0; i < rows; i++) copy_row(to + i * to_pitch, from + i * from_pitch, width);
}

/* A tile that holds columns beyond C's: everything that it reads and writes goes through copies. */
static void spilled_tile(tile_args t, tile_fn run, int64_t rows, int64_t width) {
    real c[ROWS_MAX * PANEL] __attribute__((aligned(64)));
    real sum[ROWS_MAX * PANEL] __attribute__((aligned(64)));
    real bias[PANEL] = {0}, *result = t.c;
    int64_t pitch = t.ldc;
    if (t.rate) copy_rows(c, PANEL, result, pitch, rows, width);
    if (t.sum) copy_rows(sum, PANEL, t.sum, t.ld_sum, rows, width);
    if (t.bias) copy_row(bias, t.bias, width);
    t.c = c;
    t.ldc = t.ld_sum = PANEL;
    t.sum = t.sum ? sum : NULL;
    t.bias = t.bias ? bias : NULL;
    run(&t);
    copy_rows(result, pitch, c, PANEL, rows, width);
}

/* All tiles of one panel in one block of k, steps p0 .. p0+k-1. */
static void panel_run(const panels_job *w, const group *r, const cut *tiles, bool first, bool last,
                      int64_t p0, int64_t k, int64_t j) {
    const gemm_job *g = &w->g;
    int64_t pitch = packed_width(w, j), width = min_i64(pitch, w->width - j), begin = 0;
    tile_args t = {.b = packed_panel(w, p0, k, j), .ldb = pitch, .k = k, .last = pitch - LANES};
    if (last) {
        t.bias = g->bias ? g->bias + w->j0 + j : NULL;
        t.rate = g->rate;
        t.relu = g->relu;
    }
    for (int64_t i = 0; i < tiles->pieces; i++) {
        int64_t rows = tiles->size + (i < tiles->larger), row = r->row0 + begin;
        tile_fn run = tile_of[g->trans_a][pitch / LANES - 1][rows - 1];
        real *c = g->c + row * g->ldc + w->j0 + j;
        real *sum = r->sum ? r->sum + begin * GROUP_COLUMNS + j - r->j0 : c;
        int64_t ld_sum = r->sum ? GROUP_COLUMNS : g->ldc;
        t.a = g->trans_a ? r->left + begin * k : g->a + row * g->lda + p0;
        t.lda = g->trans_a ? rows : g->lda;
        t.c = last ? c : sum;
        t.ldc = last ? g->ldc : ld_sum;
        t.sum = first ? NULL : sum;
        t.ld_sum = ld_sum;
        if (width == pitch)
            run(&t);
        else
            spilled_tile(t, run, rows, width);
        begin += rows;
    }
}

static void group_run(const panels_job *w, const group *r) {
    const cut *blocks = &w->g.blocks;
    cut tiles = cut_of(r->row1 - r->row0, ROWS_MAX);
    for (int64_t i = 0; i < blocks->pieces; i++) {
        int64_t p0 = cut_begin(blocks, i), k = cut_begin(blocks, i + 1) - p0;
        if (w->g.trans_a) pack_left(w, r, &tiles, p0, k);
        for (int64_t j = r->j0; j < r->j1; j += PANEL)
            panel_run(w, r, &tiles, i == 0, i + 1 == blocks->pieces, p0, k, j);
    }
}

/* Rows row0 .. row1-1 and columns j0 .. j1-1 of the turn, group by group. */
static void panels_range(const panels_job *w, int64_t row0, int64_t row1, int64_t j0, int64_t j1) {
    const gemm_job *g = &w->g;
    bool needs_sum = g->rate && g->blocks.pieces > 1;
    int64_t left = g->trans_a ? GROUP_ROWS * K_BLOCK : 0;
    int64_t sum = needs_sum ? GROUP_ROWS * GROUP_COLUMNS : 0;
    real *scratch = NULL;
    if (left + sum) {
        scratch = duet_scratch(DUET_SCRATCH_TASK, (size_t)(left + sum) * sizeof(real));
        if (!scratch) {
            tiles_run(g, row0, row1, w->j0 + j0, w->j0 + j1);
            return;
        }
    }
    group r = {.left = scratch, .sum = needs_sum ? scratch + left : NULL};
    cut groups = cut_of(row1 - row0, GROUP_ROWS);
    for (r.j0 = j0; r.j0 < j1; r.j0 = r.j1) {
        r.j1 = min_i64(r.j0 + GROUP_COLUMNS, j1);
        for (int64_t i = 0; i < groups.pieces; i++) {
            r.row0 = row0 + cut_begin(&groups, i);
            r.row1 = row0 + cut_begin(&groups, i + 1);
            group_run(w, &r);
        }
    }
}

/* Items are tiles of rows, or panels of columns. */
static void panels_task(void *context, int64_t begin, int64_t end) {
    const panels_job *w = context;
    cut tiles = cut_of(w->g.m, ROWS_MAX);
    if (w->split_columns)
        panels_range(w, 0, w->g.m, begin * PANEL, min_i64(end * PANEL, w->width));
    else
        panels_range(w, cut_begin(&tiles, begin), cut_begin(&tiles, end), 0, w->width);
}

/* Items per task that make it worth handing over. */
static int64_t grain_of(const gemm_job *g, int64_t items) {
    double flops = 2.0 * (double)g->m * (double)g->n * (double)g->k / (double)items;
    return 1 + (int64_t)(SPLIT_FLOPS / (flops + 1));
}

static void panels_run(const gemm_job *g) {
    int64_t turn = WORKSPACE / (int64_t)sizeof(real) / g->k / PANEL * PANEL;
    panels_job w = {.g = *g};
    turn = min_i64(max_i64(turn, PANEL), panels_pitch(g->n));
    w.packed = duet_scratch(DUET_SCRATCH_CALL, (size_t)(turn * g->k) * sizeof(real));
    if (!w.packed) {
        tiles_run(g, 0, g->m, 0, g->n);
        return;
    }
    for (w.j0 = 0; w.j0 < g->n; w.j0 += turn) {
        w.width = min_i64(turn, g->n - w.j0);
        w.pitch = panels_pitch(w.width);
        int64_t panels = ceil_div(w.width, PANEL);
        int64_t tiles = ceil_div(g->m, ROWS_MAX);
        w.split_columns = panels > tiles;
        int64_t items = w.split_columns ? panels : tiles;
        duet_parallel_for(panels * g->blocks.pieces, 1 + 65536 / (K_BLOCK * PANEL), pack_task, &w);
        duet_parallel_for(items, grain_of(g, items), panels_task, &w);
    }
}

#endif
