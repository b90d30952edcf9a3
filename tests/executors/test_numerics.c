/* Bits that passes and fusion have changed in other systems, and must not here: eager and graph.
 * Each case is a public report with the value that is right. */
#include "expect.h"

/* Eagerly, and as a graph twice. */
static void expect_both(duet_tensor *(*body)(duet_tensor *), duet_tensor *x,
                        duet_tensor *expected) {
    duet_function *f = duet_function_unary("body", body);
    EXPECT_SAME(body(x), expected);
    for (int i = 0; i < 2; i++) EXPECT_SAME(duet_call_unary(f, x), expected);
    duet_function_free(f);
}

static duet_tensor *times_zero(duet_tensor *x) { return duet_mul(x, duet_f32(0)); }
static duet_tensor *minus_itself(duet_tensor *x) { return duet_sub(x, x); }
static duet_tensor *zero_over(duet_tensor *x) { return duet_div(duet_f32(0), x); }

/* Which elements are NaN; the sign of a NaN has no meaning. */
static duet_tensor *nan_to_9(duet_tensor *x) {
    return duet_where(duet_equal(x, x), x, duet_f32(9));
}
static duet_tensor *times_zero_9(duet_tensor *x) { return nan_to_9(times_zero(x)); }
static duet_tensor *minus_itself_9(duet_tensor *x) { return nan_to_9(minus_itself(x)); }
static duet_tensor *zero_over_9(duet_tensor *x) { return nan_to_9(zero_over(x)); }

/* tensorflow #119428 */
static void zero_times_infinity_is_no_number(void **state) {
    (void)state;
    duet_tensor *x = F32(SHAPE(4), 1, INFINITY, -INFINITY, NAN), *zero = F32(SHAPE(3), 0, 2, NAN);
    expect_both(times_zero_9, x, F32(SHAPE(4), 0, 9, 9, 9));
    expect_both(minus_itself_9, x, F32(SHAPE(4), 0, 9, 9, 9));
    expect_both(zero_over_9, zero, F32(SHAPE(3), 9, 0, 9));
}

static duet_tensor *plus_zero(duet_tensor *x) { return duet_add(x, duet_f32(0)); }

static void zeros_keep_their_signs(void **state) {
    (void)state;
    expect_both(plus_zero, F32(SHAPE(2), -0.0f, 0.0f), F32(SHAPE(2), 0.0f, 0.0f));
    expect_both(duet_relu, F32(SHAPE(2), -0.0f, 0.0f), F32(SHAPE(2), -0.0f, 0.0f));
}

static duet_tensor *inverse_twice(duet_tensor *x) {
    return duet_div(duet_f32(1), duet_div(duet_f32(1), x));
}

/* tensorflow #119429: 0x40DFFFFF */
static void an_inverse_does_not_cancel(void **state) {
    (void)state;
    duet_tensor *y = inverse_twice(duet_f32(7));
    uint32_t bits;
    memcpy(&bits, duet_data(y), sizeof bits);
    assert_int_equal(bits, 0x40DFFFFF);
    expect_both(inverse_twice, duet_f32(7), duet_f32(6.99999952f));
    expect_both(inverse_twice, duet_full(SHAPE(67), DUET_F32, 7),
                duet_full(SHAPE(67), DUET_F32, 6.99999952f));
}

static int n_steps;
static duet_tensor *small_steps(duet_tensor *x) {
    for (int i = 0; i < n_steps; i++)
        x = duet_relu(duet_add(duet_mul(x, duet_f32(0.99f)), duet_f32(0.01f)));
    return x;
}

/* pytorch PR#115435: a fused multiply-add gives 0.327504009. */
static void a_product_is_rounded_before_it_is_added(void **state) {
    (void)state;
    n_steps = 1;
    expect_both(small_steps, duet_f32(0.320711106f), duet_f32(0.327503979f));
    expect_both(small_steps, duet_full(SHAPE(10, 10), DUET_F32, 0.320711106f),
                duet_full(SHAPE(10, 10), DUET_F32, 0.327503979f));
    n_steps = 50;
    expect_both(small_steps, F32(SHAPE(2), 0, 2), F32(SHAPE(2), 0.394993901f, 1.60500658f));
    duet_tensor *x = duet_full(SHAPE(3, 67), DUET_F32, 2);
    expect_both(small_steps, x, duet_full(SHAPE(3, 67), DUET_F32, 1.60500658f));
}

static duet_tensor *weights, *bias;
static duet_tensor *affine(duet_tensor *x) { return duet_add(duet_matmul(x, weights), bias); }
static duet_tensor *affine_relu(duet_tensor *x) { return duet_relu(affine(x)); }

/* pytorch #178047: with the bias first, 1 would be lost in 1e8. */
static void a_bias_is_added_last(void **state) {
    (void)state;
    weights = F32(SHAPE(2, 2), 1e8f, 1, -1e8f, 2);
    bias = F32(SHAPE(2), 1, -100);
    duet_tensor *x = duet_full(SHAPE(5, 2), DUET_F32, 1), *y = duet_zeros(SHAPE(5, 2), DUET_F32);
    for (int i = 0; i < 5; i++) ((float *)y->data)[2 * i] = 1, ((float *)y->data)[2 * i + 1] = -97;
    expect_both(affine, x, y);
    for (int i = 0; i < 5; i++) ((float *)y->data)[2 * i + 1] = 0;
    expect_both(affine_relu, x, y);
}

static duet_tensor *rng;
static duet_tensor *noise(duet_tensor *x) {
    return duet_add(x, duet_random_uniform(SHAPE(4), DUET_F32, rng, 0, 1));
}

/* tvm #7530 */
static void random_numbers_are_drawn_each_time(void **state) {
    (void)state;
    duet_tensor *x = duet_f32(0), *drawn[3];
    duet_function *f = duet_function_unary("noise", noise);
    rng = duet_rng_new(7);
    for (int i = 0; i < 3; i++) drawn[i] = duet_call_unary(f, x);
    assert_memory_not_equal(duet_data(drawn[0]), duet_data(drawn[1]), 16);
    assert_memory_not_equal(duet_data(drawn[1]), duet_data(drawn[2]), 16);
    duet_release(rng);
    rng = duet_rng_new(7); /* the same seed, eagerly: the same numbers */
    for (int i = 0; i < 3; i++) EXPECT_SAME(noise(x), drawn[i]);
    duet_function_free(f);
    duet_release(rng);
}

static duet_tensor *exp_times_exp(duet_tensor *x) {
    return duet_mul(duet_exp(x), duet_exp(duet_neg(x)));
}

/* tensorflow #123169: exp(100) is infinite, exp(-100) is not 0. */
static void exponentials_are_not_gathered(void **state) {
    (void)state;
    expect_both(exp_times_exp, duet_f32(100), duet_f32(INFINITY));
    expect_both(exp_times_exp, duet_f32(-100), duet_f32(INFINITY));
}

/* ---- kernels, through both executors -----------------------------------------------------------
 */

static duet_tensor *relu_of_sum(duet_tensor *x) { return duet_relu(duet_add(x, duet_f32(1))); }
static duet_tensor *relu_of_product(duet_tensor *x) { /* fused with the product */
    return duet_relu(duet_matmul(duet_reshape(x, SHAPE(-1, 1)), F32(SHAPE(1, 1), 2)));
}

/* pytorch #7999, tensorflow #40072: alone, fused, behind a product; in vectors and their tails. */
static void relu_of_nan_is_nan_at_every_length(void **state) {
    (void)state;
    duet_tensor *(*bodies[])(duet_tensor *) = {duet_relu, relu_of_sum, relu_of_product};
    for (int b = 0; b < LENGTH(bodies); b++) {
        duet_function *f = duet_function_unary("relu", bodies[b]);
        for (int n = 1; n <= 67; n++) {
            duet_scope_open();
            duet_tensor *x = duet_full(SHAPE(n), DUET_F32, NAN);
            EXPECT_ALL(bodies[b](x), NAN);
            EXPECT_ALL(duet_call_unary(f, x), NAN);
            duet_scope_close(NULL);
        }
        duet_function_free(f);
    }
}

static duet_tensor *product_of_nothing(duet_tensor *x) {
    return duet_matmul(x, duet_zeros(SHAPE(0, 4), DUET_F32));
}
static duet_tensor *softmax_of_nothing(duet_tensor *x) {
    return duet_softmax(product_of_nothing(x), 1); /* not a result: in the arena, full of NaN */
}

/* pytorch #31421, tvm #19578 */
static void a_product_of_nothing_is_zeros(void **state) {
    (void)state;
    for (int i = 0; i < 8; i++) { /* what is freed and taken again is no zeros */
        duet_scope_open();
        duet_full(SHAPE(4, 4), DUET_F32, NAN);
        duet_scope_close(NULL);
    }
    duet_tensor *x = duet_zeros(SHAPE(4, 0), DUET_F32);
    expect_both(product_of_nothing, x, duet_zeros(SHAPE(4, 4), DUET_F32));
    expect_both(softmax_of_nothing, x, duet_full(SHAPE(4, 4), DUET_F32, 0.25));
}

static duet_tensor *softmax_of_last(duet_tensor *x) { return duet_softmax(x, -1); }
static duet_tensor *softmax_of_first(duet_tensor *x) { return duet_softmax(x, 0); }

/* dwave-optimization #555 */
static void softmax_neither_over_nor_underflows(void **state) {
    (void)state;
    duet_tensor *(*along[])(duet_tensor *) = {softmax_of_last, softmax_of_first};
    for (int i = 0; i < 2; i++) {
        float third = 1.0f / 3;
        expect_both(along[i], F32(SHAPE(3), 800, 1, 1), F32(SHAPE(3), 1, 0, 0));
        expect_both(along[i], F32(SHAPE(3), 1000, 1000, 1000), F32(SHAPE(3), third, third, third));
        expect_both(along[i], F32(SHAPE(2), -10000, -10000), F32(SHAPE(2), .5f, .5f));
    }
    duet_tensor *columns = F32(SHAPE(2, 2), -10000, 800, -10000, 1);
    expect_both(softmax_of_first, columns, F32(SHAPE(2, 2), .5f, 1, .5f, 0));
}

static duet_tensor *sum_of_all(duet_tensor *x) { return duet_sum(x, DUET_NO_AXES, false); }
static duet_tensor *sum_of_computed(duet_tensor *x) { /* as it is computed */
    return sum_of_all(duet_mul(x, duet_f32(0.5f)));
}

/* tensorflow #6039: one running f32 gives 77149.2. */
static void many_small_numbers_are_summed_closely(void **state) {
    (void)state;
    duet_tensor *x = duet_full(SHAPE(62500), DUET_F32, 1.23456);
    duet_tensor *twice = duet_full(SHAPE(62500), DUET_F32, 2 * 1.23456);
    assert_true(fabs(duet_item(sum_of_all(x), 0) - 77160) <= 0.01);
    expect_both(sum_of_all, x, sum_of_all(x));
    assert_true(fabs(duet_item(sum_of_computed(twice), 0) - 77160) <= 0.01);
    expect_both(sum_of_computed, twice, sum_of_computed(twice));
}

typedef struct momentum_state {
    duet_tensor *w, *velocity, *rate;
    bool nesterov;
} momentum_state;

static duet_status momentum_step(duet_tensor **out, duet_tensor *const *in, void *user) {
    const momentum_state *s = user;
    TRY(duet_sgd_momentum(s->w, in[0], s->rate, s->velocity, 0.9, s->nesterov));
    out[0] = duet_read(s->w);
    return DUET_OK;
}

/* pytorch #1099, mlx PR#473: w 1, g 1, momentum .9. Keras's velocity has the rate in it. */
static void momentum_is_keras_s(void **state) {
    (void)state;
    static const struct {
        bool nesterov;
        double rates[3], expected[3];
    } cases[] = {{false, {.1, .1, .1}, {.9, .71, .439}},
                 {true, {.1, .1, .1}, {.81, .539, .1951}},
                 {false, {.1, .01, .01}, {.9, .800, .7}}};
    duet_tensor *one = duet_f32(1), *w;
    for (int i = 0; i < LENGTH(cases); i++)
        for (int graph = 0; graph <= 1; graph++) {
            momentum_state s = {duet_variable_new("w", one),
                                duet_variable_new("velocity", duet_f32(0)),
                                duet_variable_new("rate", duet_f32(0)), cases[i].nesterov};
            duet_function *f = duet_function_new("momentum_step", momentum_step, 1, 1, &s);
            for (int step = 0; step < 3; step++) {
                EXPECT_OK(duet_assign(s.rate, duet_f32((float)cases[i].rates[step])));
                EXPECT_OK(graph ? duet_call(f, &w, &one) : momentum_step(&w, &one, &s));
                assert_true(fabs(duet_item(w, 0) - cases[i].expected[step]) < 2e-7);
            }
            duet_function_free(f);
            duet_release(s.w);
            duet_release(s.velocity);
            duet_release(s.rate);
        }
}

int main(void) {
    setenv("DUET_VERIFY", "1", 1);
    setenv("DUET_POISON", "1", 1);
    const struct CMUnitTest tests[] = {
        TEST(zero_times_infinity_is_no_number),
        TEST(zeros_keep_their_signs),
        TEST(an_inverse_does_not_cancel),
        TEST(a_product_is_rounded_before_it_is_added),
        TEST(a_bias_is_added_last),
        TEST(random_numbers_are_drawn_each_time),
        TEST(exponentials_are_not_gathered),
        TEST(relu_of_nan_is_nan_at_every_length),
        TEST(a_product_of_nothing_is_zeros),
        TEST(softmax_neither_over_nor_underflows),
        TEST(many_small_numbers_are_summed_closely),
        TEST(momentum_is_keras_s),
    };
    return cmocka_run_group_tests_name("numerics", tests, NULL, NULL);
}
