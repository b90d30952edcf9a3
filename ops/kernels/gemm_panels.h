/* Large products: the same tiles over copies of the operands that lie as they are read, blocked for
 * the caches as in Goto and van de Geijn (2008). B is packed once for all threads; each task then
 * takes a range of rows (or of columns, when there are more of those). */
#ifndef DUET_KERNELS_GEMM_PANELS_H
#define DUET_KERNELS_GEMM_PANELS_H

#include "kernels/gemm_tiles.h"
#include "pool.h"
#include "kernels/scratch.h"

enum {
    GROUP_ROWS = 128,     /* A's and C's part of the second cache */
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
        int64_t p0 = k_begin(w->g.k, block), k = k_begin(w->g.k, block + 1) - p0;
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

static void pack_left(const panels_job *w, const group *r, int64_t p0, int64_t k) {
    int64_t rows = r->row1 - r->row0, tiles = ceil_div(rows, ROWS_BY_COLUMNS);
    for (int64_t i = 0; i < tiles; i++) {
        int64_t begin = tile_begin(rows, ROWS_BY_COLUMNS, i);
        int64_t count = tile_begin(rows, ROWS_BY_COLUMNS, i + 1) - begin;
        const real *from = w->g.a + p0 * w->g.lda + r->row0 + begin;
        real *to = r->left + begin * k;
        for (int64_t p = 0; p < k; p++, from += w->g.lda, to += count)
            for (int64_t q = 0; q < count; q++) to[q] = from[q];
    }
}

/* One tile of a block of k. A tile that holds columns beyond C's goes through `spill`. */
static void group_tile(const panels_job *w, const group *r, int64_t block, int64_t begin,
                       int64_t rows, int64_t j) {
    const gemm_job *g = &w->g;
    real spill[ROWS_MAX * PANEL] __attribute__((aligned(64)));
    int64_t p0 = k_begin(g->k, block), k = k_begin(g->k, block + 1) - p0, row = r->row0 + begin;
    int64_t pitch = packed_width(w, j), width = min_i64(pitch, w->width - j);
    bool last = block + 1 == k_blocks(g->k), whole = width == pitch;
    real *c = g->c + row * g->ldc + w->j0 + j;
    real *sum = r->sum ? r->sum + begin * GROUP_COLUMNS + j - r->j0 : c;
    int64_t ld_sum = r->sum ? GROUP_COLUMNS : g->ldc;
    tile_args t = {.b = packed_panel(w, p0, k, j), .ldb = pitch, .k = k, .last = pitch - LANES};
    t.c = !whole ? spill : last ? c : sum;
    t.ldc = !whole ? PANEL : last ? g->ldc : ld_sum;
    t.a = g->trans_a ? r->left + begin * k : g->a + row * g->lda + p0;
    t.lda = g->trans_a ? rows : g->lda;
    if (whole) {
        t.sum = block ? sum : NULL;
        t.ld_sum = ld_sum;
        if (last) {
            t.bias = g->bias ? g->bias + w->j0 + j : NULL;
            t.rate = g->rate;
            t.relu = g->relu;
        }
    }
    tile_of[g->trans_a][pitch / LANES - 1][rows - 1](&t);
    if (whole) return;
    for (int64_t i = 0; i < rows; i++) {
        real *row_sum = sum + i * ld_sum, *product = spill + i * PANEL;
        for (int64_t q = 0; block && q < width; q++) product[q] = row_sum[q] + product[q];
        if (last)
            finish_row(g, c + i * g->ldc, 1, product, w->j0 + j, width);
        else
            memcpy(row_sum, product, (size_t)width * sizeof(real));
    }
}

static void group_run(const panels_job *w, const group *r) {
    int64_t rows = r->row1 - r->row0, limit = tile_rows_limit(2, w->g.trans_a);
    int64_t tiles = ceil_div(rows, limit);
    for (int64_t block = 0; block < k_blocks(w->g.k); block++) {
        int64_t p0 = k_begin(w->g.k, block), k = k_begin(w->g.k, block + 1) - p0;
        if (w->g.trans_a) pack_left(w, r, p0, k);
        for (int64_t j = r->j0; j < r->j1; j += PANEL) {
            for (int64_t i = 0; i < tiles; i++) {
                int64_t begin = tile_begin(rows, limit, i);
                group_tile(w, r, block, begin, tile_begin(rows, limit, i + 1) - begin, j);
            }
        }
    }
}

/* Rows row0 .. row1-1 and columns j0 .. j1-1 of the turn, group by group. */
static void panels_range(const panels_job *w, int64_t row0, int64_t row1, int64_t j0, int64_t j1) {
    const gemm_job *g = &w->g;
    bool needs_sum = g->rate && k_blocks(g->k) > 1;
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
    int64_t groups = ceil_div(row1 - row0, GROUP_ROWS);
    for (r.j0 = j0; r.j0 < j1; r.j0 = r.j1) {
        r.j1 = min_i64(r.j0 + GROUP_COLUMNS, j1);
        for (int64_t i = 0; i < groups; i++) {
            r.row0 = row0 + tile_begin(row1 - row0, GROUP_ROWS, i);
            r.row1 = row0 + tile_begin(row1 - row0, GROUP_ROWS, i + 1);
            group_run(w, &r);
        }
    }
}

/* Items are tiles of rows, or panels of columns. */
static void panels_task(void *context, int64_t begin, int64_t end) {
    const panels_job *w = context;
    int64_t limit = tile_rows_limit(2, w->g.trans_a);
    if (w->split_columns)
        panels_range(w, 0, w->g.m, begin * PANEL, min_i64(end * PANEL, w->width));
    else
        panels_range(w, tile_begin(w->g.m, limit, begin), tile_begin(w->g.m, limit, end), 0,
                     w->width);
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
        int64_t tiles = ceil_div(g->m, tile_rows_limit(2, g->trans_a));
        w.split_columns = panels > tiles;
        int64_t items = w.split_columns ? panels : tiles;
        duet_parallel_for(panels * k_blocks(g->k), 1 + 65536 / (K_BLOCK * PANEL), pack_task, &w);
        duet_parallel_for(items, grain_of(g, items), panels_task, &w);
    }
}

#endif
