#include "kernels/gemm.h"

#include "blas.h"
#include "vector.h"

#include <limits.h>

/* Up to here tiles read the operands where they lie; above, packing pays. Measured. Columns of a
 * transposed B are copied in any case, and with several blocks of k once per tile of rows. */
static bool is_small(const duet_gemm_shape *s) {
    if (s->trans_b && s->k > DUET_GEMM_K_BLOCK && s->m > 8) return false;
    return (double)s->m * (double)s->n * (double)s->k <= 192. * 192 * 192;
}

/* BLAS takes a large product only where its kernels are wider than what this library was compiled
 * for: at the same width the panels are about as fast (0.9 to 1.05 of its time at 1000^3), and they
 * take an epilogue along. It counts in int. */
static bool blas_is_better(const duet_gemm_shape *s) {
    if (s->m > INT_MAX || s->n > INT_MAX || s->k > INT_MAX) return false;
    if (s->lda > INT_MAX || s->ldb > INT_MAX || s->ldc > INT_MAX) return false;
    return duet_blas_vector_bits() > 32 * DUET_VL;
}

duet_gemm_path duet_gemm_choice(const duet_gemm_shape *s, duet_dtype dtype) {
    (void)dtype;
    if (s->m == 0 || s->n == 0) return DUET_GEMM_NOTHING;
    if (s->k == 0) return DUET_GEMM_ZERO;
    if (s->k == 1) return DUET_GEMM_OUTER;
    if (s->m == 1 || s->n == 1) return DUET_GEMM_VECTOR;
    if (is_small(s)) return DUET_GEMM_TILES;
    return blas_is_better(s) ? DUET_GEMM_BLAS : DUET_GEMM_PANELS;
}

const char *duet_gemm_path_name(duet_gemm_path path) {
    static const char *const names[] = {
#define X(name, text) #name,
        DUET_GEMM_PATHS(X)
#undef X
    };
    return names[path];
}
