/* Philox against its published answers; fills that may be cut anywhere; the distributions. */
#include "pool.h"
#include "random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* Random123's kat_vectors, "philox4x32 10". */
static const struct {
    uint32_t counter[4], key[2], out[4];
} known_answers[] = {
    {{0}, {0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

static void test_philox_known_answers(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(known_answers); i++) {
        uint32_t words[4];
        duet_philox(words, known_answers[i].counter, known_answers[i].key);
        assert_memory_equal(words, known_answers[i].out, sizeof words);
        memcpy(words, known_answers[i].counter, sizeof words);
        duet_philox(words, words, known_answers[i].key);
        assert_memory_equal(words, known_answers[i].out, sizeof words);
    }
}

/* The four fills as bytes, so that each test is written once. */
typedef void (*filler)(void *out, int64_t count, uint64_t key, uint64_t first);
#define FILLER(name, type)                                                                         \
    static void name(void *out, int64_t count, uint64_t key, uint64_t first) {                     \
        duet_random_##name((type *)out, count, key, first);                                        \
    }
FILLER(uniform_f32, float)
FILLER(uniform_f64, double)
FILLER(normal_f32, float)
FILLER(normal_f64, double)

static const struct {
    filler fill;
    size_t size; /* bytes an element */
} fills[] = {{uniform_f32, 4}, {uniform_f64, 8}, {normal_f32, 4}, {normal_f64, 8}};

static void test_stream_is_philox_by_counter(void **state) {
    (void)state;
    const uint64_t key = 0x299f31d0a4093822, block = 0x300000001;
    float f[4];
    double d[2];
    uint32_t words[4], keys[2] = {0xa4093822, 0x299f31d0};
    duet_philox(words, (uint32_t[]){1, 3, 0, 0}, keys);
    duet_random_uniform_f32(f, 4, key, 4 * block);
    for (int i = 0; i < 4; i++) assert_true(f[i] == (float)(words[i] >> 8) / 16777216.0f);
    duet_philox(words, (uint32_t[]){1, 3, 0, 1}, keys);
    duet_random_uniform_f64(d, 2, key, 2 * block);
    for (int i = 0; i < 2; i++) {
        uint64_t bits = ((uint64_t)words[2 * i + 1] << 32) + words[2 * i];
        assert_true(d[i] == (double)(bits / 2048) / 9007199254740992.0);
    }
}

/* Any piece of a stream equals that part of the whole, and nothing beside it is written. */
static void test_streams_may_be_cut_anywhere(void **state) {
    (void)state;
    enum { COUNT = 700, GUARD = 0xA5 };
    const uint64_t base = 0xfffffffeull * 2; /* a carry into the counter's second word on the way */
    static unsigned char whole[COUNT * 8], part[COUNT * 8 + 16], guard[8];
    memset(guard, GUARD, sizeof guard);
    for (size_t k = 0; k < LENGTH(fills); k++) {
        size_t size = fills[k].size;
        fills[k].fill(whole, COUNT, 7, base);
        for (size_t first = 0; first < 9; first++) {
            for (size_t count = 0; first + count <= COUNT; count += count < 12 ? 1 : 61) {
                memset(part, GUARD, sizeof part);
                fills[k].fill(part + 8, (int64_t)count, 7, base + first);
                assert_memory_equal(part + 8, whole + first * size, count * size);
                assert_memory_equal(part, guard, 8);
                assert_memory_equal(part + 8 + count * size, guard, 8);
            }
        }
    }
}

static void test_threads_do_not_change_the_stream(void **state) {
    (void)state;
    enum { COUNT = 200001 };
    unsigned char *one = malloc(COUNT * 8), *many = malloc(COUNT * 8);
    for (size_t k = 0; k < LENGTH(fills); k++) {
        duet_pool_set_threads(1);
        fills[k].fill(one, COUNT, 99, 3);
        for (int threads = 2; threads <= 5; threads++) {
            duet_pool_set_threads(threads);
            memset(many, 0, COUNT * 8);
            fills[k].fill(many, COUNT, 99, 3);
            assert_memory_equal(one, many, COUNT * fills[k].size);
        }
    }
    free(one);
    free(many);
}

/* Independent streams agree in almost no element. */
static void test_keys_and_kinds_have_streams_of_their_own(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    const uint64_t keys[] = {0, 1, 1ull << 32, UINT64_MAX};
    static float a[COUNT], b[COUNT];
    static double wide[COUNT];
    for (size_t i = 0; i < LENGTH(keys); i++) {
        duet_random_uniform_f32(a, COUNT, keys[i], 0);
        for (size_t j = 0; j <= LENGTH(keys); j++) {
            int same = 0;
            if (j < LENGTH(keys))
                duet_random_uniform_f32(b, COUNT, keys[j], 0);
            else
                duet_random_uniform_f64(wide, COUNT, keys[i], 0);
            for (int k = 0; k < COUNT; k++)
                same += j < LENGTH(keys) ? a[k] == b[k] : fabs(a[k] - wide[k / 2]) < 1e-6;
            assert_true(i == j ? same == COUNT : same < 3);
        }
    }
}

/* ---- distributions, with fixed keys: bounds are about five standard errors ---- */

enum { SAMPLES = 1 << 20 };

static double *samples(size_t kind, uint64_t key) {
    double *x = malloc(SAMPLES * sizeof *x);
    fills[kind].fill(x, SAMPLES, key, 0);
    if (fills[kind].size == 4) /* widened from the end, in place */
        for (int64_t i = SAMPLES; i-- > 0;) {
            float narrow;
            memcpy(&narrow, (char *)x + 4 * i, 4);
            x[i] = narrow;
        }
    return x;
}

/* Mean of (x[i] - centre)^power. */
static double moment(const double *x, double centre, int power) {
    double sum = 0;
    for (int i = 0; i < SAMPLES; i++) sum += pow(x[i] - centre, power);
    return sum / SAMPLES;
}

static double neighbour_covariance(const double *x, double centre, int lag) {
    double sum = 0;
    for (int i = lag; i < SAMPLES; i++) sum += (x[i] - centre) * (x[i - lag] - centre);
    return sum / (SAMPLES - lag);
}

static void test_uniform_distribution(void **state) {
    (void)state;
    const double error = 5 / sqrt(SAMPLES);
    for (size_t kind = 0; kind < 2; kind++) {
        double *x = samples(kind, 2024), chi_square = 0;
        int bins[256] = {0};
        for (int i = 0; i < SAMPLES; i++) {
            assert_true(x[i] >= 0 && x[i] < 1);
            double steps = x[i] * (kind == 0 ? 0x1p24 : 0x1p53);
            assert_true(steps == floor(steps));
            bins[(int)(x[i] * 256)]++;
        }
        for (int i = 0; i < 256; i++)
            chi_square += pow(bins[i] - SAMPLES / 256, 2) / (SAMPLES / 256);
        assert_true(fabs(moment(x, 0.5, 1)) < error * sqrt(1.0 / 12));
        assert_true(fabs(moment(x, 0.5, 2) - 1.0 / 12) < error * sqrt(1.0 / 180));
        assert_true(chi_square > 150 && chi_square < 370); /* 255 +- 5 * sqrt(2 * 255) */
        for (int lag = 1; lag <= 8; lag++)
            assert_true(fabs(neighbour_covariance(x, 0.5, lag)) < error / 12);
        free(x);
    }
}

static void test_normal_distribution(void **state) {
    (void)state;
    const double error = 5 / sqrt(SAMPLES);
    for (size_t kind = 2; kind < 4; kind++) {
        double *x = samples(kind, 2025), beyond_2 = 0, beyond_4 = 0;
        for (int i = 0; i < SAMPLES; i++) {
            assert_true(isfinite(x[i]) && fabs(x[i]) < (kind == 2 ? 6.7 : 8.6));
            beyond_2 += fabs(x[i]) > 2;
            beyond_4 += fabs(x[i]) > 4;
        }
        assert_true(fabs(moment(x, 0, 1)) < error);
        assert_true(fabs(moment(x, 0, 2) - 1) < error * sqrt(2));
        assert_true(fabs(moment(x, 0, 3)) < error * sqrt(15));
        assert_true(fabs(moment(x, 0, 4) - 3) < error * sqrt(96));
        assert_true(fabs(beyond_2 / SAMPLES - erfc(sqrt(2))) < error * 0.21);
        assert_true(beyond_4 > 25 && beyond_4 < 110); /* 66 expected */
        for (int lag = 1; lag <= 8; lag++)
            assert_true(fabs(neighbour_covariance(x, 0, lag)) < error);
        free(x);
    }
}

int main(void) {
    duet_pool_set_threads(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox_known_answers),
        cmocka_unit_test(test_stream_is_philox_by_counter),
        cmocka_unit_test(test_streams_may_be_cut_anywhere),
        cmocka_unit_test(test_threads_do_not_change_the_stream),
        cmocka_unit_test(test_keys_and_kinds_have_streams_of_their_own),
        cmocka_unit_test(test_uniform_distribution),
        cmocka_unit_test(test_normal_distribution),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
