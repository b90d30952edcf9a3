/* The only door to BLAS: row-major products with one thread, and what is known of the library.
 *
 * OpenBLAS is told once to use one thread; duet splits work over its own pool. Its results may
 * depend on how many rows one call is given, so callers that split must split the same way always.
 */
#ifndef DUET_BLAS_H
#define DUET_BLAS_H

#include <stdbool.h>
#include <stdint.h>

/* c[m,n] = op(a) · op(b) with row pitches in elements. a is stored [m,k], or [k,m] when trans_a;
 * b is stored [k,n], or [n,k] when trans_b. All sizes and pitches fit in an int (asserted). */
void duet_blas_sgemm(float *c, const float *a, const float *b, int64_t m, int64_t n, int64_t k,
                     int64_t ldc, int64_t lda, int64_t ldb, bool trans_a, bool trans_b);
void duet_blas_dgemm(double *c, const double *a, const double *b, int64_t m, int64_t n, int64_t k,
                     int64_t ldc, int64_t lda, int64_t ldb, bool trans_a, bool trans_b);

/* The f32 product with OpenBLAS's own threads, dense and not transposed, to compare with; back to
 * one thread before it returns. Not while other threads use BLAS. */
void duet_blas_sgemm_own_threads(float *c, const float *a, const float *b, int64_t m, int64_t n,
                                 int64_t k, int threads);

/* OpenBLAS's version and build options, and the processor family whose kernels it runs
 * ("SkylakeX", "Prescott"); "" for another BLAS. */
const char *duet_blas_config(void);
const char *duet_blas_corename(void);

/* OpenBLAS chooses its kernels while it loads, and takes processors newer than itself for older
 * ones (OpenBLAS issue 4267). Vector widths in bits of the kernels that run (0: not known) and of
 * the best that this processor could run (0 on other architectures). */
int duet_blas_vector_bits(void);
int duet_blas_possible_bits(void);

/* Where the kernels are narrower than they could be: the OPENBLAS_CORETYPE to start the process
 * with, "SKYLAKEX" or "HASWELL". NULL where nothing is to be mended. */
const char *duet_blas_fitting_coretype(void);

/* The rule behind it, as a function of its inputs: for tests. */
int duet_blas_bits_of_core(const char *corename);

#endif
