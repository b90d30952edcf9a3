/* The register tile: `rows` x `vectors` accumulators stay in registers over a whole block of k, as
 * in Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (ACM TOMS, 2008)
 * and BLIS. One body, instantiated for every size, so that edges need no masks: fewer rows are a
 * smaller tile, and a last vector that would reach beyond the columns overlaps the one before it.
 */
#ifndef DUET_KERNELS_GEMM_TILE_H
#define DUET_KERNELS_GEMM_TILE_H

#include "kernels/gemm_real.h"

typedef struct tile_args {
    real *c;                        /* [rows, columns], pitch ldc */
    const real *a;                  /* row i at a + i * lda; by columns: step p at a + p * lda */
    const real *b;                  /* step p at b + p * ldb */
    int64_t ldc, lda, ldb, k, last; /* last: the last vector's first column */
    const real *sum;                /* sums of the earlier blocks of k, pitch ld_sum, or NULL */
    int64_t ld_sum;
    const real *bias, *rate; /* bias of the tile's first column */
    bool relu;
} tile_args;

typedef void (*tile_fn)(const tile_args *);

/* Rows per number of vectors: accumulators, the vectors of b and one of a fit in the registers, and
 * A's addresses in the general ones. */
#if DUET_VECTOR_REGISTERS == 32
enum { ROWS_OF_1 = 12, ROWS_OF_2 = 12, ROWS_OF_3 = 8, ROWS_MAX = 12 };
#else
enum { ROWS_OF_1 = 6, ROWS_OF_2 = 6, ROWS_OF_3 = 4, ROWS_MAX = 6 };
#endif
enum { LEFT_POINTERS = (ROWS_MAX + 2) / 3 };

static inline int64_t tile_rows_limit(int64_t vectors) {
    return vectors == 2 ? ROWS_OF_2 : vectors == 3 ? ROWS_OF_3 : ROWS_OF_1;
}

DUET_ALWAYS_INLINE int64_t tile_column(const tile_args *t, int vectors, int v) {
    return v + 1 == vectors ? t->last : v * LANES;
}

DUET_ALWAYS_INLINE void tile_finish(const tile_args *t, vec acc[ROWS_MAX][3], const int rows,
                                    const int vectors) {
    if (t->sum) {
        DUET_UNROLL
        for (int i = 0; i < rows; i++) {
            DUET_UNROLL
            for (int v = 0; v < vectors; v++)
                acc[i][v] =
                    vec_load(t->sum + i * t->ld_sum + tile_column(t, vectors, v)) + acc[i][v];
        }
    }
    if (t->bias) {
        DUET_UNROLL
        for (int v = 0; v < vectors; v++) {
            vec bias = vec_load(t->bias + tile_column(t, vectors, v));
            DUET_UNROLL
            for (int i = 0; i < rows; i++) acc[i][v] += bias;
        }
    }
    if (t->relu) {
        DUET_UNROLL
        for (int i = 0; i < rows; i++) {
            DUET_UNROLL
            for (int v = 0; v < vectors; v++) acc[i][v] = vec_relu(acc[i][v]);
        }
    }
    if (t->rate) { /* all of a row is read before any of it is written: vectors may overlap */
        vec rate = vec_all(*t->rate);
        DUET_UNROLL
        for (int i = 0; i < rows; i++) {
            DUET_UNROLL
            for (int v = 0; v < vectors; v++)
                acc[i][v] =
                    vec_load(t->c + i * t->ldc + tile_column(t, vectors, v)) - rate * acc[i][v];
        }
    }
    DUET_UNROLL
    for (int i = 0; i < rows; i++) {
        DUET_UNROLL
        for (int v = 0; v < vectors; v++)
            vec_store(t->c + i * t->ldc + tile_column(t, vectors, v), acc[i][v]);
    }
}

/* Element of A in row i of the tile. By rows, every third row has a pointer and the two after it
 * are reached through lda, so that all addresses fit in registers: a pointer a row costs GCC 20
 * cycles a tile in moves. */
DUET_ALWAYS_INLINE vec tile_left(const real *const *left, int64_t lda, int i, bool by_columns) {
    return vec_all(by_columns ? left[0][i] : left[i / 3][i % 3 * lda]);
}

DUET_ALWAYS_INLINE void tile_body(const tile_args *t, const int rows, const int vectors,
                                  const bool by_columns) {
    vec acc[ROWS_MAX][3], right[3];
    const real *left[LEFT_POINTERS], *b = t->b;
    const int64_t lda = t->lda, ldb = t->ldb, last = t->last;
    DUET_UNROLL
    for (int i = 0; i < LEFT_POINTERS; i++) left[i] = t->a + 3 * i * lda;
    DUET_UNROLL
    for (int v = 0; v < vectors; v++) right[v] = vec_load(b + (v + 1 < vectors ? v * LANES : last));
    DUET_UNROLL
    for (int i = 0; i < rows; i++) {
        vec x = tile_left(left, lda, i, by_columns);
        DUET_UNROLL
        for (int v = 0; v < vectors; v++) acc[i][v] = x * right[v];
    }
    for (int64_t p = t->k - 1; p > 0; p--) {
        b += ldb;
        DUET_UNROLL
        for (int i = 0; i < LEFT_POINTERS; i++) left[i] += by_columns ? lda : 1;
        DUET_UNROLL
        for (int v = 0; v < vectors; v++)
            right[v] = vec_load(b + (v + 1 < vectors ? v * LANES : last));
        DUET_UNROLL
        for (int i = 0; i < rows; i++) {
            vec x = tile_left(left, lda, i, by_columns);
            DUET_UNROLL
            for (int v = 0; v < vectors; v++) acc[i][v] = vec_fma(x, right[v], acc[i][v]);
        }
    }
    tile_finish(t, acc, rows, vectors);
}

#define TILE_ROWS_SMALL(X, ...)                                                                    \
    X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(3, __VA_ARGS__) X(4, __VA_ARGS__)
#define TILE_ROWS_6(X, ...) TILE_ROWS_SMALL(X, __VA_ARGS__) X(5, __VA_ARGS__) X(6, __VA_ARGS__)
#define TILE_ROWS_8(X, ...) TILE_ROWS_6(X, __VA_ARGS__) X(7, __VA_ARGS__) X(8, __VA_ARGS__)
#define TILE_ROWS_12(X, ...)                                                                       \
    TILE_ROWS_8(X, __VA_ARGS__)                                                                    \
    X(9, __VA_ARGS__) X(10, __VA_ARGS__) X(11, __VA_ARGS__) X(12, __VA_ARGS__)
#if DUET_VECTOR_REGISTERS == 32
#define TILE_SIZES_BY(X, by)                                                                       \
    TILE_ROWS_12(X, 1, by)                                                                         \
    TILE_ROWS_12(X, 2, by)                                                                         \
    TILE_ROWS_8(X, 3, by)
#else
#define TILE_SIZES_BY(X, by)                                                                       \
    TILE_ROWS_6(X, 1, by)                                                                          \
    TILE_ROWS_6(X, 2, by)                                                                          \
    TILE_ROWS_SMALL(X, 3, by)
#endif
#define TILE_SIZES(X) TILE_SIZES_BY(X, rows) TILE_SIZES_BY(X, columns)

enum { TILE_rows = 0, TILE_columns = 1 };

#define X(rows_, vectors_, by)                                                                     \
    static void tile_##rows_##x##vectors_##_by_##by(const tile_args *t) {                          \
        tile_body(t, rows_, vectors_, TILE_##by);                                                  \
    }
TILE_SIZES(X)
#undef X

/* [by columns][vectors - 1][rows - 1] */
static const tile_fn tile_of[2][3][ROWS_MAX] = {
#define X(rows_, vectors_, by)                                                                     \
    [TILE_##by][vectors_ - 1][rows_ - 1] = tile_##rows_##x##vectors_##_by_##by,
    TILE_SIZES(X)
#undef X
};

#endif
