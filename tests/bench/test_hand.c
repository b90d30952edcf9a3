/* The limits by hand compute what they say: against NumPy in double precision, and plain loops. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "hand/hand.h"
#include "reference/train_step.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BATCH = TRAIN_BATCH, INPUTS = TRAIN_INPUTS, HIDDEN = TRAIN_HIDDEN, STEPS = 5 };

/* The numbers of train_step.py, times `scale`. */
static void fill(float *to, int count, uint32_t state, float scale) {
    for (int i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        to[i] = ((float)(state >> 16) / 32768.0f - 1.0f) * scale;
    }
}

static void assert_near(const char *what, int index, double got, double expected) {
    if (!(fabs(got - expected) <= 2e-6 * (1 + fabs(expected))))
        fail_msg("%s %d: expected %.9g, got %.9g", what, index, expected, got);
}

static void training_steps_are_numpys(void **state) {
    (void)state;
    static _Alignas(64) float x[BATCH * INPUTS], t[BATCH], w1[INPUTS * HIDDEN], b1[HIDDEN];
    static _Alignas(64) float w2[HIDDEN], b2[1];
    fill(x, BATCH * INPUTS, 1, 1);
    fill(t, BATCH, 2, 1);
    fill(w1, INPUTS * HIDDEN, 3, 0.25f);
    fill(w2, HIDDEN, 4, 0.25f);
    for (int step = 0; step < STEPS; step++) {
        float loss;
        hand_train_step(&loss, w1, b1, w2, b2, x, t);
        assert_near("loss", step, loss, reference_losses[step]);
    }
    for (int i = 0; i * 53 < INPUTS * HIDDEN; i++)
        assert_near("w1", i * 53, w1[i * 53], reference_w1[i]);
    for (int i = 0; i * 7 < HIDDEN; i++) {
        assert_near("b1", i * 7, b1[i * 7], reference_b1[i]);
        assert_near("w2", i * 7, w2[i * 7], reference_w2[i]);
    }
    assert_near("b2", 0, b2[0], reference_b2[0]);
}

static void fifty_steps_round_as_scalars_do(void **state) {
    (void)state;
    static _Alignas(64) float x[SMALL_OPS_ELEMENTS], y[SMALL_OPS_ELEMENTS + 1];
    fill(x, SMALL_OPS_ELEMENTS, 5, 3);
    x[0] = 0, x[1] = 2, x[2] = NAN, x[3] = -INFINITY, x[4] = INFINITY, x[99] = 0.320711106f;
    y[SMALL_OPS_ELEMENTS] = 77;
    hand_small_ops(y, x);
    for (int i = 0; i < SMALL_OPS_ELEMENTS; i++) {
        volatile float expected = x[i]; /* volatile: each operation is rounded by itself */
        for (int step = 0; step < SMALL_OPS_STEPS; step++) {
            expected = expected * 0.99f;
            expected = expected + 0.01f;
            expected = expected < 0 ? 0 : expected;
        }
        float last = expected;
        if (isnan(last))
            assert_true(isnan(y[i]));
        else
            assert_memory_equal(&y[i], &last, sizeof last);
    }
    assert_true(y[0] == 0.394993901f && y[1] == 1.60500658f);
    assert_true(y[SMALL_OPS_ELEMENTS] == 77); /* nothing behind its end */
}

static void the_matmul_is_one(void **state) {
    (void)state;
    enum { N = 33 };
    static float a[N * N], b[N * N], c[N * N];
    fill(a, N * N, 6, 1);
    fill(b, N * N, 7, 1);
    hand_big_matmul(c, a, b, N, 2);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < N; k++) sum += (double)a[i * N + k] * b[k * N + j];
            assert_near("c", i * N + j, c[i * N + j], sum);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_steps_are_numpys),
        cmocka_unit_test(fifty_steps_round_as_scalars_do),
        cmocka_unit_test(the_matmul_is_one),
    };
    return cmocka_run_group_tests_name("hand", tests, NULL, NULL);
}
