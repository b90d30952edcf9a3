/* A training step against NumPy in double precision (tests/reference/train_step.py), op by op and
 * as a graph. */
#include "expect.h"
#include "train_step.h"
#include "reference/train_step.h"

enum { STEPS = LENGTH(reference_losses), W1_STRIDE = 53, STRIDE = 7 };

static void expect_near(const char *what, int index, double got, double expected) {
    if (!(fabs(got - expected) <= 2e-6 * (1 + fabs(expected))))
        fail_msg("%s %d: expected %.9g, got %.9g", what, index, expected, got);
}

/* Every `stride`-th element. */
static void expect_array(const char *what, const duet_tensor *got, const double *expected,
                         int count, int stride) {
    assert_non_null(got);
    assert_int_equal((duet_tensor_count(got) + stride - 1) / stride, count);
    for (int i = 0; i < count; i++)
        expect_near(what, i * stride, duet_item(got, i * stride), expected[i]);
}
#define EXPECT_ARRAY(what, got, expected, stride)                                                  \
    expect_array(what, got, expected, LENGTH(expected), stride)

static void train(bool graph) {
    train_network network;
    duet_tensor *in[2], *loss;
    train_network_make(&network);
    train_batch(in);
    duet_function *f = duet_function_new("train_step", train_step, 2, 1, &network);
    for (int step = 0; step < STEPS; step++) {
        EXPECT_OK(graph ? duet_call(f, &loss, in) : train_step(&loss, in, &network));
        expect_near("loss", step, duet_item(loss, 0), reference_losses[step]);
    }
    EXPECT_ARRAY("w1", network.variables[TRAIN_W1], reference_w1, W1_STRIDE);
    EXPECT_ARRAY("b1", network.variables[TRAIN_B1], reference_b1, STRIDE);
    EXPECT_ARRAY("w2", network.variables[TRAIN_W2], reference_w2, STRIDE);
    EXPECT_ARRAY("b2", network.variables[TRAIN_B2], reference_b2, 1);
    assert_int_equal(duet_trace_count(f), graph);
    duet_function_free(f);
    train_network_release(&network);
}

static void eager_steps_are_numpys(void **state) {
    (void)state;
    train(false);
}

static void graph_steps_are_numpys(void **state) {
    (void)state;
    train(true);
}

static void gradients_are_numpys(void **state) {
    (void)state;
    train_network network;
    duet_tensor *in[2], *out[1 + TRAIN_VARIABLES];
    train_network_make(&network);
    train_batch(in);
    duet_function *f = duet_function_new("gradients", train_gradients, 2, LENGTH(out), &network);
    for (int graph = 0; graph < 2; graph++) {
        EXPECT_OK(graph ? duet_call(f, out, in) : train_gradients(out, in, &network));
        EXPECT_ARRAY("gradient by w1", out[1 + TRAIN_W1], reference_by_w1, W1_STRIDE);
        EXPECT_ARRAY("gradient by b1", out[1 + TRAIN_B1], reference_by_b1, STRIDE);
        EXPECT_ARRAY("gradient by w2", out[1 + TRAIN_W2], reference_by_w2, STRIDE);
        EXPECT_ARRAY("gradient by b2", out[1 + TRAIN_B2], reference_by_b2, 1);
    }
    duet_function_free(f);
    train_network_release(&network);
}

int main(void) {
    setenv("DUET_VERIFY", "1", 1);
    const struct CMUnitTest tests[] = {
        TEST(eager_steps_are_numpys),
        TEST(graph_steps_are_numpys),
        TEST(gradients_are_numpys),
    };
    return cmocka_run_group_tests_name("train_step", tests, NULL, NULL);
}
