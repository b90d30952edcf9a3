/* Matrix products: C[m,n] = op(A) · op(B), row-major, f32 and f64, with what follows a product
 * (bias, ReLU, its gradient's gate, SGD update) applied while the result is still in registers.
 *
 * The bits of a result depend on sizes, flags and data only: not on the number of threads, on
 * alignment, on row pitches, or on whether an epilogue rides along. With an epilogue the result is
 * that of the plain product followed by the same elementwise steps.
 *
 * Every element is a sum over k in blocks of DUET_GEMM_K_BLOCK or a little less: within a block a
 * chain of fused multiply-adds that starts from the first product, then the blocks' sums in order.
 * So all tile kernels give the same bits, however they cut C. (Matrix-vector products sum in vector
 * lanes, and BLAS in its own way; gemm_choice says who takes what.) */
#ifndef DUET_KERNELS_GEMM_H
#define DUET_KERNELS_GEMM_H

#include "dtype.h"

/* Sizes, and row pitches in elements; pitch 0 means dense. A is stored [m,k], or [k,m] when
 * trans_a; B is stored [k,n], or [n,k] when trans_b. C may not overlap A, B or the bias. */
typedef struct duet_gemm_shape {
    int64_t m, n, k;
    int64_t lda, ldb, ldc;
    bool trans_a, trans_b;
} duet_gemm_shape;

/* What follows the product p, in this order; each step rounds on its own.
 *   bias  p + bias[column]              NULL: none. Added last, after the whole sum.
 *   relu  p < 0 ? 0 : p                 keeps NaN and -0
 *   gate  gate[i,j] > 0 ? p : 0         NULL: none. Lies as C does, with its pitch; no part of C.
 *   rate  C - *rate * p, in place of p  NULL: C is written, never read. */
typedef struct duet_gemm_epilogue_f32 {
    const float *bias, *gate, *rate;
    bool relu;
} duet_gemm_epilogue_f32;

typedef struct duet_gemm_epilogue_f64 {
    const double *bias, *gate, *rate;
    bool relu;
} duet_gemm_epilogue_f64;

/* epilogue may be NULL. Never fails: without memory for packing it takes a slower way. */
void duet_gemm_f32(float *c, const float *a, const float *b, const duet_gemm_shape *shape,
                   const duet_gemm_epilogue_f32 *epilogue);
void duet_gemm_f64(double *c, const double *a, const double *b, const duet_gemm_shape *shape,
                   const duet_gemm_epilogue_f64 *epilogue);

enum { DUET_GEMM_K_BLOCK = 256 };

/* name, what it is for */
#define DUET_GEMM_PATHS(X)                                                                         \
    X(NOTHING, "m or n is 0")                                                                      \
    X(ZERO, "k is 0: the product is zeros")                                                        \
    X(OUTER, "k is 1: an outer product")                                                           \
    X(VECTOR, "m or n is 1: matrix by vector")                                                     \
    X(TILES, "small: register tiles straight from the operands")                                   \
    X(PANELS, "large: register tiles over packed panels")                                          \
    X(BLAS, "large, where BLAS measured faster")

typedef enum duet_gemm_path {
#define X(name, text) DUET_GEMM_##name,
    DUET_GEMM_PATHS(X)
#undef X
} duet_gemm_path;

/* The path that a product takes: a function of sizes, flags and dtype, the build and the processor.
 */
duet_gemm_path duet_gemm_choice(const duet_gemm_shape *shape, duet_dtype dtype);
const char *duet_gemm_path_name(duet_gemm_path path);

/* Runs a given path, for tests and benchmarks. TILES, PANELS and BLAS take every shape without a 0;
 * the others only those that they are for. */
void duet_gemm_f32_by(duet_gemm_path path, float *c, const float *a, const float *b,
                      const duet_gemm_shape *shape, const duet_gemm_epilogue_f32 *epilogue);
void duet_gemm_f64_by(duet_gemm_path path, double *c, const double *a, const double *b,
                      const duet_gemm_shape *shape, const duet_gemm_epilogue_f64 *epilogue);

#endif
