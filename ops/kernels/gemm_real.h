/* One source for both precisions: REAL_BITS (32 or 64) says which one this file's includer is. */
#ifndef DUET_KERNELS_GEMM_REAL_H
#define DUET_KERNELS_GEMM_REAL_H

#ifndef REAL_BITS
#error "define REAL_BITS as 32 or 64 first"
#endif

#include "kernels/gemm.h"
#include "vector.h"

#define REAL_PASTE2(prefix, bits, suffix) prefix##bits##suffix
#define REAL_PASTE(prefix, bits, suffix) REAL_PASTE2(prefix, bits, suffix)

#if REAL_BITS == 32
typedef float real;
#define REAL_DTYPE DUET_F32
#define blas_gemm duet_blas_sgemm
#else
typedef double real;
#define REAL_DTYPE DUET_F64
#define blas_gemm duet_blas_dgemm
#endif

typedef REAL_PASTE(duet_vf, REAL_BITS, ) vec;
typedef REAL_PASTE(duet_gemm_epilogue_f, REAL_BITS, ) epilogue_t;
#define vec_load REAL_PASTE(duet_vf, REAL_BITS, _load)
#define vec_store REAL_PASTE(duet_vf, REAL_BITS, _store)
#define vec_all REAL_PASTE(duet_vf, REAL_BITS, _all)
#define vec_fma REAL_PASTE(duet_vf, REAL_BITS, _fma)
#define vec_relu REAL_PASTE(duet_vf, REAL_BITS, _relu)
#define real_fma REAL_PASTE(duet_f, REAL_BITS, _fma)

enum {
    LANES = REAL_PASTE(DUET_LANES_F, REAL_BITS, ),
    PANEL = 2 * LANES,
    K_BLOCK = DUET_GEMM_K_BLOCK
};

static inline int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

#endif
