#include "blas.h"

#include "cpu.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <strings.h>

/* Weak, so that the library also links to a BLAS that is not OpenBLAS. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern char *openblas_get_config(void) __attribute__((weak));
extern char *openblas_get_corename(void) __attribute__((weak));

static void use_one_thread(void) {
    if (openblas_set_num_threads) openblas_set_num_threads(1);
}

static void prepare(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, use_one_thread);
}

static int narrow(int64_t size) {
    assert(size >= 0 && size <= INT_MAX);
    return (int)size;
}

static CBLAS_TRANSPOSE op(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }

void duet_blas_sgemm(float *c, const float *a, const float *b, int64_t m, int64_t n, int64_t k,
                     int64_t ldc, int64_t lda, int64_t ldb, bool trans_a, bool trans_b) {
    prepare();
    cblas_sgemm(CblasRowMajor, op(trans_a), op(trans_b), narrow(m), narrow(n), narrow(k), 1, a,
                narrow(lda), b, narrow(ldb), 0, c, narrow(ldc));
}

void duet_blas_dgemm(double *c, const double *a, const double *b, int64_t m, int64_t n, int64_t k,
                     int64_t ldc, int64_t lda, int64_t ldb, bool trans_a, bool trans_b) {
    prepare();
    cblas_dgemm(CblasRowMajor, op(trans_a), op(trans_b), narrow(m), narrow(n), narrow(k), 1, a,
                narrow(lda), b, narrow(ldb), 0, c, narrow(ldc));
}

void duet_blas_sgemm_own_threads(float *c, const float *a, const float *b, int64_t m, int64_t n,
                                 int64_t k, int threads) {
    prepare();
    if (openblas_set_num_threads) openblas_set_num_threads(threads);
    duet_blas_sgemm(c, a, b, m, n, k, n, k, n, false, false);
    use_one_thread();
}

const char *duet_blas_config(void) {
    prepare();
    return openblas_get_config ? openblas_get_config() : "";
}

const char *duet_blas_corename(void) {
    prepare();
    return openblas_get_corename ? openblas_get_corename() : "";
}

/* OpenBLAS's families by the width of their single-precision kernels (its cpuid_x86.c and
 * kernel/x86_64/KERNEL.*). A name that is not listed is newer than this list, thus trusted. */
int duet_blas_bits_of_core(const char *corename) {
    static const char *const wide[] = {"SkylakeX", "Cooperlake", "Sapphirerapids"};
    static const char *const avx2[] = {"Haswell", "Zen", "Excavator"};
    static const char *const old[] = {
        "Prescott",     "Core2",     "Penryn",    "Dunnington", "Nehalem",
        "Sandybridge",  "Atom",      "Nano",      "Katmai",     "Coppermine",
        "Banias",       "Northwood", "Athlon",    "Opteron",    "Barcelona",
        "Opteron_SSE3", "Bobcat",    "Bulldozer", "Piledriver", "Steamroller",
    };
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (strcasecmp(corename, wide[i]) == 0) return 512;
    for (size_t i = 0; i < sizeof avx2 / sizeof *avx2; i++)
        if (strcasecmp(corename, avx2[i]) == 0) return 256;
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (strcasecmp(corename, old[i]) == 0) return 128;
    return 0;
}

int duet_blas_vector_bits(void) { return duet_blas_bits_of_core(duet_blas_corename()); }

int duet_blas_possible_bits(void) {
#ifdef __x86_64__
    return duet_cpu_has_avx512() ? 512 : duet_cpu_has_avx2() ? 256 : 128;
#else
    return 0;
#endif
}

const char *duet_blas_fitting_coretype(void) {
    int runs = duet_blas_vector_bits(), possible = duet_blas_possible_bits();
    if (runs == 0 || runs >= possible) return NULL;
    return possible == 512 ? "SKYLAKEX" : "HASWELL";
}
