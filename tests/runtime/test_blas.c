/* The processor and the BLAS library: what they say of themselves, and plain products. */
#include "blas.h"
#include "cpu.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { M = 5, N = 3, K = 4 };

/* Small whole numbers: every sum is exact, in any order. */
static int left(int i, int p) { return i * K + p - 7; }
static int right(int p, int j) { return 3 * j - 2 * p + 1; }
static int product(int i, int j) {
    int sum = 0;
    for (int p = 0; p < K; p++) sum += left(i, p) * right(p, j);
    return sum;
}

#define DEFINE_PRODUCTS(real, letter)                                                              \
    static void letter##gemm_takes_pitches_and_transposes(void **state) {                          \
        (void)state;                                                                               \
        for (int flags = 0; flags < 4; flags++) {                                                  \
            bool trans_a = flags & 1, trans_b = flags & 2;                                         \
            real a[64] = {0}, b[64] = {0}, c[64];                                                  \
            for (int i = 0; i < 64; i++) c[i] = (real)NAN;                                         \
            for (int p = 0; p < K; p++) {                                                          \
                for (int i = 0; i < M; i++) a[trans_a ? p * 8 + i : i * 8 + p] = (real)left(i, p); \
                for (int j = 0; j < N; j++)                                                        \
                    b[trans_b ? j * 7 + p : p * 7 + j] = (real)right(p, j);                        \
            }                                                                                      \
            duet_blas_##letter##gemm(c, a, b, M, N, K, 6, 8, 7, trans_a, trans_b);                 \
            for (int i = 0; i < M; i++)                                                            \
                for (int j = 0; j < 6; j++)                                                        \
                    assert_true(j < N ? c[i * 6 + j] == product(i, j) : isnan(c[i * 6 + j]));      \
        }                                                                                          \
    }

DEFINE_PRODUCTS(float, s)
DEFINE_PRODUCTS(double, d)

static void own_threads_give_the_product(void **state) {
    (void)state;
    enum { SIZE = 96 };
    static float a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE];
    for (int i = 0; i < SIZE * SIZE; i++) {
        a[i] = (float)(i % 7 - 3);
        b[i] = i / SIZE == i % SIZE ? 2.0f : 0.0f;
    }
    for (int threads = 1; threads <= 3; threads++) {
        memset(c, 0xFF, sizeof c);
        duet_blas_sgemm_own_threads(c, a, b, SIZE, SIZE, SIZE, threads);
        for (int i = 0; i < SIZE * SIZE; i++) assert_true(c[i] == 2 * a[i]);
    }
}

static void a_core_narrower_than_the_processor_is_seen(void **state) {
    (void)state;
    assert_int_equal(duet_blas_bits_of_core("Prescott"), 128);
    assert_int_equal(duet_blas_bits_of_core("Sandybridge"), 128);
    assert_int_equal(duet_blas_bits_of_core("Haswell"), 256);
    assert_int_equal(duet_blas_bits_of_core("Zen"), 256);
    assert_int_equal(duet_blas_bits_of_core("SkylakeX"), 512);
    assert_int_equal(duet_blas_bits_of_core("SomethingNew"), 0);
    assert_int_equal(duet_blas_bits_of_core(""), 0);

    const char *fitting = duet_blas_fitting_coretype();
    int runs = duet_blas_vector_bits(), possible = duet_blas_possible_bits();
    print_message("core type %s (%d bits), %d possible\n", duet_blas_corename(), runs, possible);
    if (runs == 0 || runs >= possible)
        assert_null(fitting);
    else
        assert_string_equal(fitting, possible == 512 ? "SKYLAKEX" : "HASWELL");
}

/* This program once more, with OPENBLAS_CORETYPE set: it answers by its exit status. */
static int status_with_core(const char *core) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("OPENBLAS_CORETYPE", core, 1);
        execl("/proc/self/exe", "test_blas", "--what-fits", (char *)NULL);
        _exit(127);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

enum { FITS = 10, WANTS_HASWELL = 11, WANTS_SKYLAKEX = 12, WRONG_PRODUCT = 13 };

static int what_fits(void) {
    const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
    float c[4];
    duet_blas_sgemm(c, a, b, 2, 2, 2, 2, 2, 2, false, false);
    if (c[0] != 19 || c[1] != 22 || c[2] != 43 || c[3] != 50) return WRONG_PRODUCT;
    const char *fitting = duet_blas_fitting_coretype();
    if (!fitting) return FITS;
    return strcmp(fitting, "HASWELL") == 0 ? WANTS_HASWELL : WANTS_SKYLAKEX;
}

static void a_forced_prescott_is_noticed_and_mended(void **state) {
    (void)state;
    int possible = duet_blas_possible_bits();
    if (!duet_blas_corename()[0] || possible < 256) skip(); /* not OpenBLAS, or nothing better */
    int wanted = possible == 512 ? WANTS_SKYLAKEX : WANTS_HASWELL;
    assert_int_equal(status_with_core("Prescott"), wanted);
    assert_int_equal(status_with_core(possible == 512 ? "SKYLAKEX" : "HASWELL"), FITS);
}

static void the_processor_names_itself(void **state) {
    (void)state;
    assert_non_null(duet_cpu_name());
    assert_ptr_equal(duet_cpu_name(), duet_cpu_name());
    assert_null(strchr(duet_cpu_name(), '\n'));
    assert_true(duet_cpu_count() >= 1 && duet_cpu_count() <= sysconf(_SC_NPROCESSORS_CONF));
    assert_true(duet_cpu_has_avx2() || !duet_cpu_has_avx512());
#ifdef __AVX2__ /* this program would not run otherwise */
    assert_true(duet_cpu_has_avx2());
#endif
    assert_non_null(duet_blas_config());
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--what-fits") == 0) return what_fits();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sgemm_takes_pitches_and_transposes),
        cmocka_unit_test(dgemm_takes_pitches_and_transposes),
        cmocka_unit_test(own_threads_give_the_product),
        cmocka_unit_test(a_core_narrower_than_the_processor_is_seen),
        cmocka_unit_test(a_forced_prescott_is_noticed_and_mended),
        cmocka_unit_test(the_processor_names_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
