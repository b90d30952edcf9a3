/* Matrix products against a naive sum in f64, and against each other bit for bit. */
#include "kernels/gemm.h"
#include "pool.h"
#include "vector.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { GUARD = 64 }; /* elements before and behind C, and in the gaps of pitched rows */

/* A number in [-1, 1) that the index alone decides. */
static double noise(uint64_t i) {
    i = (i + 1) * 0x9E3779B97F4A7C15u;
    i = (i ^ (i >> 31)) * 0xD6E8FEB86659FD93u;
    return (double)(int64_t)(i ^ (i >> 29)) / 9223372036854775808.0;
}

static duet_gemm_path forced_path;
static bool forced;

/* ---- one precision's helpers --------------------------------------------------------------------
 */

#define DEFINE(real, bits, epsilon)                                                                \
    typedef struct case_f##bits {                                                                  \
        duet_gemm_shape shape;                                                                     \
        duet_gemm_epilogue_f##bits epilogue;                                                       \
        real *a, *b, *bias, *gate, *memory, *c, rate;                                              \
        int64_t ldc, count; /* elements of c with their gaps */                                    \
    } case_f##bits;                                                                                \
                                                                                                   \
    static real *numbers_f##bits(int64_t count, uint64_t salt) {                                   \
        real *x = malloc((size_t)(count + 1) * sizeof *x);                                         \
        assert_non_null(x);                                                                        \
        for (int64_t i = 0; i < count; i++) x[i] = (real)noise(salt + (uint64_t)i);                \
        return x;                                                                                  \
    }                                                                                              \
                                                                                                   \
    /* C starts as NaN, or as numbers when it is to be updated; guards hold a pattern of bytes. */ \
    static void reset_f##bits(case_f##bits *t) {                                                   \
        memset(t->memory, 0xA5, (size_t)(t->count + 2 * GUARD) * sizeof(real));                    \
        for (int64_t i = 0; i < t->shape.m; i++)                                                   \
            for (int64_t j = 0; j < t->shape.n; j++)                                               \
                t->c[i * t->ldc + j] =                                                             \
                    t->epilogue.rate ? (real)noise(77 + (uint64_t)(i * 1000 + j)) : (real)NAN;     \
    }                                                                                              \
                                                                                                   \
    static void make_f##bits(case_f##bits *t, duet_gemm_shape s, bool bias, bool relu,             \
                             bool rate) {                                                          \
        int64_t lda = s.lda ? s.lda : s.trans_a ? s.m : s.k;                                       \
        int64_t ldb = s.ldb ? s.ldb : s.trans_b ? s.k : s.n;                                       \
        memset(t, 0, sizeof *t);                                                                   \
        t->shape = s;                                                                              \
        t->rate = (real)0.37;                                                                      \
        t->a = numbers_f##bits(lda * (s.trans_a ? s.k : s.m), 1);                                  \
        t->b = numbers_f##bits(ldb * (s.trans_b ? s.n : s.k), 1000001);                            \
        t->bias = numbers_f##bits(s.n, 2000001);                                                   \
        t->ldc = s.ldc ? s.ldc : s.n;                                                              \
        t->count = s.m * t->ldc;                                                                   \
        t->memory = malloc((size_t)(t->count + 2 * GUARD) * sizeof(real));                         \
        assert_non_null(t->memory);                                                                \
        t->c = t->memory + GUARD;                                                                  \
        t->gate = numbers_f##bits(t->count, 3000001);                                              \
        t->epilogue.bias = bias ? t->bias : NULL;                                                  \
        t->epilogue.rate = rate ? &t->rate : NULL;                                                 \
        t->epilogue.relu = relu;                                                                   \
        reset_f##bits(t);                                                                          \
    }                                                                                              \
                                                                                                   \
    static void drop_f##bits(case_f##bits *t) {                                                    \
        free(t->a);                                                                                \
        free(t->b);                                                                                \
        free(t->bias);                                                                             \
        free(t->gate);                                                                             \
        free(t->memory);                                                                           \
    }                                                                                              \
                                                                                                   \
    static void run_f##bits(case_f##bits *t) {                                                     \
        reset_f##bits(t);                                                                          \
        if (forced)                                                                                \
            duet_gemm_f##bits##_by(forced_path, t->c, t->a, t->b, &t->shape, &t->epilogue);        \
        else                                                                                       \
            duet_gemm_f##bits(t->c, t->a, t->b, &t->shape, &t->epilogue);                          \
    }                                                                                              \
                                                                                                   \
    static void check_guards_f##bits(const case_f##bits *t) {                                      \
        for (int64_t at = -GUARD; at < t->count + GUARD; at++) {                                   \
            if (at >= 0 && at < t->count && at % t->ldc < t->shape.n) continue;                    \
            const unsigned char *bytes = (const unsigned char *)(t->c + at);                       \
            for (size_t i = 0; i < sizeof(real); i++)                                              \
                if (bytes[i] != 0xA5) fail_msg("guard %lld was overwritten", (long long)at);       \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Products as naive sums, and the sizes of terms that their errors are measured by. */        \
    static void sum_naively_f##bits(double *sums, double *sizes, const case_f##bits *t) {          \
        const duet_gemm_shape *s = &t->shape;                                                      \
        int64_t lda = s->lda ? s->lda : s->trans_a ? s->m : s->k;                                  \
        int64_t ldb = s->ldb ? s->ldb : s->trans_b ? s->k : s->n;                                  \
        for (int64_t at = 0; at < s->m * s->n; at++) {                                             \
            int64_t i = at / s->n, j = at % s->n;                                                  \
            double sum = 0, size = 0;                                                              \
            for (int64_t p = 0; p < s->k; p++) {                                                   \
                double product = (double)t->a[s->trans_a ? p * lda + i : i * lda + p] *            \
                                 (double)t->b[s->trans_b ? j * ldb + p : p * ldb + j];             \
                sum += product;                                                                    \
                size += fabs(product);                                                             \
            }                                                                                      \
            sums[at] = sum, sizes[at] = size;                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* What C[i,j] should be when the product there is `sum`. */                                   \
    static double expected_f##bits(const case_f##bits *t, int64_t i, int64_t j, double sum) {      \
        if (t->epilogue.bias) sum += (double)t->bias[j];                                           \
        if (t->epilogue.relu) sum = sum < 0 ? 0 : sum;                                             \
        if (t->epilogue.gate && !(t->gate[i * t->ldc + j] > 0)) sum = 0;                           \
        if (t->epilogue.rate)                                                                      \
            sum = (double)(real)noise(77 + (uint64_t)(i * 1000 + j)) - (double)t->rate * sum;      \
        return sum;                                                                                \
    }                                                                                              \
                                                                                                   \
    static void check_f##bits(const case_f##bits *t, const double *sums, const double *sizes) {    \
        const duet_gemm_shape *s = &t->shape;                                                      \
        check_guards_f##bits(t);                                                                   \
        for (int64_t at = 0; at < s->m * s->n; at++) {                                             \
            int64_t i = at / s->n, j = at % s->n;                                                  \
            double want = expected_f##bits(t, i, j, sums[at]);                                     \
            double got = (double)t->c[i * t->ldc + j];                                             \
            double allowed = epsilon * (sizes[at] + 2) * (2 + sqrt((double)s->k));                 \
            if (!(fabs(got - want) <= allowed))                                                    \
                fail_msg("[%lld,%lld,%lld] ta %d tb %d: C[%lld,%lld] is %.9g, not %.9g",           \
                         (long long)s->m, (long long)s->n, (long long)s->k, s->trans_a,            \
                         s->trans_b, (long long)i, (long long)j, got, want);                       \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* The plain product, followed by one pass over C for each step of the epilogue. */            \
    static void run_in_passes_f##bits(case_f##bits *t, real *result) {                             \
        case_f##bits plain = *t;                                                                   \
        volatile real step; /* each step rounds */                                                 \
        memset(&plain.epilogue, 0, sizeof plain.epilogue);                                         \
        run_f##bits(&plain);                                                                       \
        for (int64_t i = 0; i < t->shape.m; i++) {                                                 \
            for (int64_t j = 0; j < t->shape.n; j++) {                                             \
                step = plain.c[i * t->ldc + j];                                                    \
                if (t->epilogue.bias) step = step + t->bias[j];                                    \
                if (t->epilogue.relu) step = step < 0 ? 0 : step;                                  \
                if (t->epilogue.gate) step = t->gate[i * t->ldc + j] > 0 ? step : 0;               \
                if (t->epilogue.rate) {                                                            \
                    step = t->rate * step;                                                         \
                    step = (real)noise(77 + (uint64_t)(i * 1000 + j)) - step;                      \
                }                                                                                  \
                result[i * t->shape.n + j] = step;                                                 \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void check_bits_f##bits(const case_f##bits *t, const real *want, const char *what) {    \
        for (int64_t i = 0; i < t->shape.m; i++)                                                   \
            for (int64_t j = 0; j < t->shape.n; j++)                                               \
                if (memcmp(&t->c[i * t->ldc + j], &want[i * t->shape.n + j], sizeof(real)) != 0)   \
                    fail_msg("%s: [%lld,%lld,%lld] ta %d tb %d: C[%lld,%lld] is %.9g, not %.9g",   \
                             what, (long long)t->shape.m, (long long)t->shape.n,                   \
                             (long long)t->shape.k, t->shape.trans_a, t->shape.trans_b,            \
                             (long long)i, (long long)j, (double)t->c[i * t->ldc + j],             \
                             (double)want[i * t->shape.n + j]);                                    \
    }                                                                                              \
                                                                                                   \
    /* All epilogues, with a gate the plain one and the longest: right, and with the same bits as  \
     * passes over the plain product. All have the same operands, so one naive sum does. */        \
    static void check_epilogues_f##bits(duet_gemm_shape shape) {                                   \
        size_t count = (size_t)(shape.m * shape.n) + 1;                                            \
        real *want = malloc(count * sizeof *want);                                                 \
        double *sums = malloc(2 * count * sizeof *sums), *sizes = sums + count;                    \
        assert_true(want != NULL && sums != NULL);                                                 \
        for (int steps = 0; steps < 16; steps += steps < 8 ? 1 : 7) {                              \
            case_f##bits t;                                                                        \
            make_f##bits(&t, shape, steps & 1, steps & 2, steps & 4);                              \
            if (steps & 8) t.epilogue.gate = t.gate;                                               \
            if (steps == 0) sum_naively_f##bits(sums, sizes, &t);                                  \
            run_in_passes_f##bits(&t, want);                                                       \
            run_f##bits(&t);                                                                       \
            check_f##bits(&t, sums, sizes);                                                        \
            check_bits_f##bits(&t, want, "epilogue");                                              \
            drop_f##bits(&t);                                                                      \
        }                                                                                          \
        free(want);                                                                                \
        free(sums);                                                                                \
    }

DEFINE(float, 32, 6e-8)
DEFINE(double, 64, 1.2e-16)

static void check_shape(duet_gemm_shape shape) {
    check_epilogues_f32(shape);
    check_epilogues_f64(shape);
}

/* All four combinations of transposes. */
static void check_size(int64_t m, int64_t n, int64_t k) {
    for (int flags = 0; flags < 4; flags++)
        check_shape((duet_gemm_shape){
            .m = m, .n = n, .k = k, .trans_a = (flags & 1) != 0, .trans_b = (flags & 2) != 0});
}

/* ---- tests --------------------------------------------------------------------------------------
 */

static void sizes_around_the_vectors_are_right(void **state) {
    (void)state;
    static const int64_t sizes[] = {0, 1, 2, 7, 8, 9, 16, 17, 33, 47, 65};
    static const int64_t depths[] = {0, 1, 2, 33};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++)
            for (size_t p = 0; p < sizeof depths / sizeof *depths; p++)
                check_size(sizes[i], sizes[j], depths[p]);
}

static void every_path_takes_every_shape(void **state) {
    (void)state;
    static const duet_gemm_path paths[] = {DUET_GEMM_TILES, DUET_GEMM_PANELS, DUET_GEMM_BLAS};
    static const int64_t shapes[][3] = {{1, 1, 1},      {3, 5, 7},     {17, 33, 2},  {64, 64, 20},
                                        {20, 64, 64},   {1, 40, 300},  {40, 1, 300}, {29, 70, 257},
                                        {300, 35, 600}, {21, 700, 270}};
    forced = true;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        forced_path = paths[i];
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            check_size(shapes[s][0], shapes[s][1], shapes[s][2]);
    }
    forced = false;
}

static void matrix_by_vector_is_right(void **state) {
    (void)state;
    static const int64_t sizes[] = {2, 15, 64, 129, 300};
    static const int64_t depths[] = {2, 3, 4, 17, 63, 64, 65, 100, 257, 600};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t p = 0; p < sizeof depths / sizeof *depths; p++) {
            check_size(sizes[i], 1, depths[p]);
            check_size(1, sizes[i], depths[p]);
        }
        check_size(sizes[i], sizes[i], 1);
    }
}

static void pitched_rows_leave_the_gaps_alone(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{20, 37, 9}, {33, 1, 40}, {1, 33, 40},
                                        {9, 21, 1},  {5, 3, 0},   {40, 50, 300}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int flags = 0; flags < 4; flags++)
            check_shape((duet_gemm_shape){.m = shapes[s][0],
                                          .n = shapes[s][1],
                                          .k = shapes[s][2],
                                          .lda = 301 + flags,
                                          .ldb = 303,
                                          .ldc = shapes[s][1] + 5,
                                          .trans_a = (flags & 1) != 0,
                                          .trans_b = (flags & 2) != 0});
}

static void an_empty_sum_is_zero_whatever_was_there(void **state) {
    (void)state;
    float c[16], x = 0;
    for (int i = 0; i < 16; i++) c[i] = NAN;
    duet_gemm_f32(c, &x, &x, &(duet_gemm_shape){.m = 4, .n = 4, .k = 0}, NULL);
    for (int i = 0; i < 16; i++) assert_true(c[i] == 0 && !signbit(c[i]));
}

static void a_transposed_left_operand_reads_columns(void **state) {
    (void)state;
    const float a[] = {0.7f, -1.3f, 2.1f, -0.4f, 1.9f, -3.2f}, ones[] = {1, 1, 1, 1};
    const float want[] = {0.7f - 0.4f, -1.3f + 1.9f, 2.1f - 3.2f};
    float c[6];
    duet_gemm_shape shape = {.m = 3, .n = 2, .k = 2, .trans_a = true};
    duet_gemm_f32(c, a, ones, &shape, NULL);
    for (int i = 0; i < 6; i++) assert_true(c[i] == want[i / 2]);
    assert_true(fabsf(c[0] - 0.3f) < 1e-6f && fabsf(c[2] - 0.6f) < 1e-6f);
    assert_true(fabsf(c[4] + 1.1f) < 1e-6f);
}

/* A sum of one product is that product: -0 stays -0, where a sum that starts from 0 would lose it.
 */
static void one_product_is_exactly_a_multiply(void **state) {
    (void)state;
    const float a[] = {-0.0f, 3.1f, -2.7f, 1e-42f, INFINITY};
    float b[40], c[5 * 40];
    static const duet_gemm_path paths[] = {DUET_GEMM_OUTER, DUET_GEMM_TILES, DUET_GEMM_PANELS};
    for (int j = 0; j < 40; j++) b[j] = (float)noise((uint64_t)j);
    b[7] = 0;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        duet_gemm_f32_by(paths[i], c, a, b, &(duet_gemm_shape){.m = 5, .n = 40, .k = 1}, NULL);
        for (int at = 0; at < 200; at++) {
            volatile float want = a[at / 40] * b[at % 40];
            if (isnan(want))
                assert_true(isnan(c[at]));
            else
                assert_true(want == c[at] && signbit(want) == signbit(c[at]));
        }
    }
    const float zeros[70] = {0};
    float minus[70], y[2];
    for (int i = 0; i < 70; i++) minus[i] = -1;
    for (int k = 1; k <= 35; k++) {
        duet_gemm_f32(y, minus, zeros, &(duet_gemm_shape){.m = 2, .n = 1, .k = k}, NULL);
        assert_true(y[1] == 0 && signbit(y[1]));
        duet_gemm_f32(y, minus, zeros, &(duet_gemm_shape){.m = 1, .n = 2, .k = k}, NULL);
        assert_true(y[1] == 0 && signbit(y[1]));
    }
}

static void nan_stays_in_its_row_and_survives_relu(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{9, 37, 21}, {9, 1, 70}, {9, 37, 1}, {250, 250, 250}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        case_f32 t;
        duet_gemm_shape shape = {.m = shapes[s][0], .n = shapes[s][1], .k = shapes[s][2]};
        make_f32(&t, shape, true, true, false);
        t.a[4 * shape.k + shape.k / 2] = NAN;
        run_f32(&t);
        check_guards_f32(&t);
        for (int64_t i = 0; i < shape.m; i++)
            for (int64_t j = 0; j < shape.n; j++)
                assert_int_equal(isnan(t.c[i * shape.n + j]) != 0, i == 4);
        drop_f32(&t);
    }
}

/* Runs the case once more in another way and compares with what the first way gave. */
static void check_same_bits(case_f32 *t, const float *want, const char *what) {
    run_f32(t);
    check_guards_f32(t);
    check_bits_f32(t, want, what);
}

static void tiles_and_panels_give_the_same_bits(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{5, 3, 7},       {64, 64, 20},    {33, 47, 129},
                                        {130, 200, 256}, {61, 97, 257},   {31, 530, 700},
                                        {270, 40, 520},  {157, 530, 520}, {27, 40, 300}};
    forced = true;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int flags = 0; flags < 8; flags++) {
            case_f32 t;
            duet_gemm_shape shape = {.m = shapes[s][0],
                                     .n = shapes[s][1],
                                     .k = shapes[s][2],
                                     .trans_a = (flags & 1) != 0,
                                     .trans_b = (flags & 2) != 0};
            make_f32(&t, shape, true, false, flags & 4);
            float *want = malloc((size_t)(shape.m * shape.n) * sizeof *want);
            assert_non_null(want);
            forced_path = DUET_GEMM_TILES;
            run_f32(&t);
            memcpy(want, t.c, (size_t)(shape.m * shape.n) * sizeof *want);
            forced_path = DUET_GEMM_PANELS;
            check_same_bits(&t, want, "panels");
            free(want);
            drop_f32(&t);
        }
    }
    forced = false;
}

/* The chain of multiply-adds that gemm.h promises, in blocks of k. */
static void tiles_sum_as_documented(void **state) {
    (void)state;
    case_f32 t;
    duet_gemm_shape shape = {.m = 13, .n = 45, .k = 600};
    make_f32(&t, shape, false, false, false);
    forced = true;
    forced_path = DUET_GEMM_TILES;
    run_f32(&t);
    forced = false;
    for (int64_t at = 0; at < shape.m * shape.n; at++) {
        float total = 0;
        for (int64_t begin = 0; begin < 600; begin += 200) {
            const float *a = t.a + at / 45 * 600 + begin, *b = t.b + begin * 45 + at % 45;
            float sum = a[0] * b[0];
            for (int64_t p = 1; p < 200; p++) sum = duet_f32_fma(a[p], b[p * 45], sum);
            total = begin ? total + sum : sum;
        }
        assert_true(t.c[at] == total);
    }
    drop_f32(&t);
}

static const int64_t varied[][3] = {{64, 64, 20},   {200, 200, 200}, {515, 300, 270},
                                    {30, 900, 300}, {20000, 1, 70},  {1, 20000, 70},
                                    {700, 600, 1},  {7, 3, 5}};

static void results_do_not_depend_on_threads(void **state) {
    (void)state;
    int before = duet_pool_threads();
    for (size_t s = 0; s < sizeof varied / sizeof *varied; s++) {
        for (int flags = 0; flags < 10; flags++) {
            case_f32 t;
            duet_gemm_shape shape = {.m = varied[s][0],
                                     .n = varied[s][1],
                                     .k = varied[s][2],
                                     .trans_a = (flags & 1) != 0,
                                     .trans_b = (flags & 2) != 0};
            forced = flags >= 8;
            forced_path = DUET_GEMM_BLAS;
            make_f32(&t, shape, true, false, flags & 4);
            duet_pool_set_threads(1);
            run_f32(&t);
            float *want = malloc((size_t)(shape.m * shape.n) * sizeof *want);
            assert_non_null(want);
            memcpy(want, t.c, (size_t)(shape.m * shape.n) * sizeof *want);
            for (int threads = 2; threads <= 5; threads++) {
                duet_pool_set_threads(threads);
                check_same_bits(&t, want, "threads");
            }
            free(want);
            drop_f32(&t);
        }
    }
    forced = false;
    duet_pool_set_threads(before);
}

/* Operands and result move by single elements; the bits stay. */
static void results_do_not_depend_on_alignment(void **state) {
    (void)state;
    for (size_t s = 0; s < sizeof varied / sizeof *varied; s++) {
        case_f32 t, moved;
        duet_gemm_shape shape = {.m = varied[s][0], .n = varied[s][1], .k = varied[s][2]};
        make_f32(&t, shape, false, true, false);
        run_f32(&t);
        for (int shift = 1; shift <= 3; shift++) {
            moved = t;
            size_t a = (size_t)(shape.m * shape.k), b = (size_t)(shape.k * shape.n);
            moved.a = calloc(a + 8, sizeof(float));
            moved.b = calloc(b + 8, sizeof(float));
            moved.memory = calloc((size_t)t.count + 2 * GUARD + 8, sizeof(float));
            assert_true(moved.a && moved.b && moved.memory);
            float *base[3] = {moved.a, moved.b, moved.memory};
            moved.a = memcpy(moved.a + shift, t.a, a * sizeof(float));
            moved.b = memcpy(moved.b + 2 * shift, t.b, b * sizeof(float));
            moved.memory += 3 * shift % 8;
            moved.c = moved.memory + GUARD;
            check_same_bits(&moved, t.c, "alignment");
            for (int i = 0; i < 3; i++) free(base[i]);
        }
        drop_f32(&t);
    }
}

static void the_choice_is_by_shape_alone(void **state) {
    (void)state;
    static const struct {
        int64_t m, n, k;
        duet_gemm_path path;
    } want[] = {
        {0, 5, 3, DUET_GEMM_NOTHING},  {5, 0, 3, DUET_GEMM_NOTHING},
        {5, 4, 0, DUET_GEMM_ZERO},     {5, 4, 1, DUET_GEMM_OUTER},
        {1, 4, 3, DUET_GEMM_VECTOR},   {4, 1, 3, DUET_GEMM_VECTOR},
        {64, 64, 20, DUET_GEMM_TILES}, {128, 128, 128, DUET_GEMM_TILES},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        duet_gemm_shape shape = {.m = want[i].m, .n = want[i].n, .k = want[i].k};
        assert_int_equal(duet_gemm_choice(&shape, DUET_F32), want[i].path);
        assert_int_equal(duet_gemm_choice(&shape, DUET_F64), want[i].path);
    }
    duet_gemm_shape large = {.m = 1000, .n = 1000, .k = 1000}, pitched = large;
    pitched.lda = pitched.ldb = pitched.ldc = 1234;
    duet_gemm_path path = duet_gemm_choice(&large, DUET_F32);
    assert_true(path == DUET_GEMM_PANELS || path == DUET_GEMM_BLAS);
    assert_int_equal(duet_gemm_choice(&pitched, DUET_F32), path);
    assert_string_equal(duet_gemm_path_name(DUET_GEMM_TILES), "TILES");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_around_the_vectors_are_right),
        cmocka_unit_test(every_path_takes_every_shape),
        cmocka_unit_test(matrix_by_vector_is_right),
        cmocka_unit_test(pitched_rows_leave_the_gaps_alone),
        cmocka_unit_test(an_empty_sum_is_zero_whatever_was_there),
        cmocka_unit_test(a_transposed_left_operand_reads_columns),
        cmocka_unit_test(one_product_is_exactly_a_multiply),
        cmocka_unit_test(nan_stays_in_its_row_and_survives_relu),
        cmocka_unit_test(tiles_and_panels_give_the_same_bits),
        cmocka_unit_test(tiles_sum_as_documented),
        cmocka_unit_test(results_do_not_depend_on_threads),
        cmocka_unit_test(results_do_not_depend_on_alignment),
        cmocka_unit_test(the_choice_is_by_shape_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
