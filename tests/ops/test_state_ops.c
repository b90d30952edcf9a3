/* Variables and their updates, random numbers, print and check_numerics. */
#include "direct.h"
#include "ops_state.h"

#include <unistd.h>

/* A variable that the test releases. */
static duet_tensor *variable(const char *name, duet_tensor *value) {
    duet_tensor *v = duet_variable_new(name, value);
    assert_non_null(v);
    return v;
}

/* ---- variables ---- */

static void test_assign(void **state) {
    (void)state;
    duet_tensor *v = variable("w", F32(SHAPE(3), 1, 2, 3));
    duet_tensor *old = duet_read(v);
    assert_int_equal(duet_assign(v, F32(SHAPE(3), 4, 5, 6)), DUET_OK);
    EXPECT(v, SHAPE(3), 4, 5, 6);
    EXPECT(old, SHAPE(3), 1, 2, 3);
    assert_int_equal(duet_assign(v, v), DUET_OK);
    EXPECT(v, SHAPE(3), 4, 5, 6);
    assert_int_equal(duet_assign_add(v, F32(SHAPE(3), 1, 1, -1)), DUET_OK);
    EXPECT(v, SHAPE(3), 5, 6, 5);
    assert_int_equal(duet_assign_add(v, v), DUET_OK);
    EXPECT(v, SHAPE(3), 10, 12, 10);
    duet_release(v);
    v = variable(NULL, duet_i32(INT32_MAX));
    assert_int_equal(duet_assign_add(v, duet_i32(1)), DUET_OK);
    EXPECT(v, DUET_SCALAR, INT32_MIN); /* wraps */
    duet_release(v);
}

static void expect_refused(duet_status status, duet_status code, const char *message) {
    assert_string_equal(duet_error_message(), message);
    assert_int_equal(status, code);
}

static void test_updates_name_the_variable(void **state) {
    (void)state;
    duet_tensor *v = variable("w1", F32(SHAPE(3), 1, 2, 3)),
                *flag = variable(NULL, duet_bool(true));
    expect_refused(duet_assign(v, F32(SHAPE(1, 3), 1, 2, 3)), DUET_STATUS_SHAPE,
                   "assign: x: expected the variable's f32[3], got f32[1,3] (variable \"w1\")");
    expect_refused(duet_assign_add(v, F64(SHAPE(3), 1, 2, 3)), DUET_STATUS_DTYPE,
                   "assign_add: x: expected the variable's f32[3], got f64[3] (variable \"w1\")");
    expect_refused(duet_assign_add(flag, duet_bool(true)), DUET_STATUS_DTYPE,
                   "assign_add: variable: expected f32 or f64 or i32, got bool[]");
    expect_refused(duet_sgd(v, F32(SHAPE(2), 1, 2), duet_f32(1)), DUET_STATUS_SHAPE,
                   "sgd: g: expected the variable's f32[3], got f32[2] (variable \"w1\")");
    expect_refused(duet_sgd(v, v, F32(SHAPE(1), 1)), DUET_STATUS_SHAPE,
                   "sgd: lr: expected f32[], got f32[1] (variable \"w1\")");
    expect_refused(duet_sgd(v, v, duet_f64(1)), DUET_STATUS_SHAPE,
                   "sgd: lr: expected f32[], got f64[] (variable \"w1\")");
    expect_refused(duet_sgd_momentum(v, v, duet_f32(1), flag, 0.9, false), DUET_STATUS_DTYPE,
                   "sgd: velocity: expected the variable's f32[3], got bool[] (variable \"w1\")");
    duet_fail(DUET_STATUS_IO, "first");
    expect_refused(duet_assign(v, NULL), DUET_STATUS_IO, "first");
    EXPECT(v, SHAPE(3), 1, 2, 3);
    EXPECT_INFERRED("sgd", "var f32[3], f32[3], f32[]; momentum=0.9",
                    "sgd: momentum 0.9 and nesterov false need the input velocity");
    EXPECT_INFERRED("assign", "var f32[3], f32[?]", "fits");
    duet_release(v);
    duet_release(flag);
}

/* Three steps from w = 1 with g = 1, the momentum 0.9 and the rates given. */
static void check_sgd(duet_dtype dtype, const double rates[3], bool nesterov,
                      const double expected[3]) {
    duet_tensor *w = variable("w", duet_full(SHAPE(5), dtype, 1));
    duet_tensor *velocity = variable("m", duet_zeros(SHAPE(5), dtype));
    duet_tensor *g = duet_full(SHAPE(5), dtype, 1);
    double tolerance = dtype == DUET_F32 ? 2e-7 : 1e-15;
    for (int step = 0; step < 3; step++) {
        duet_tensor *lr = duet_full(DUET_SCALAR, dtype, rates[step]);
        assert_int_equal(duet_sgd_momentum(w, g, lr, velocity, 0.9, nesterov), DUET_OK);
        for (int i = 0; i < 5; i++)
            assert_true(fabs(duet_item(w, i) - expected[step]) <= tolerance);
    }
    duet_release(w);
    duet_release(velocity);
}

static void test_sgd_with_momentum(void **state) {
    (void)state;
    for (int dtype = DUET_F32; dtype <= DUET_F64; dtype++) {
        const double same[3] = {.1, .1, .1}, falling[3] = {.1, .01, .01};
        check_sgd((duet_dtype)dtype, same, false, (double[]){.9, .71, .439});
        check_sgd((duet_dtype)dtype, same, true, (double[]){.81, .539, .1951});
        check_sgd((duet_dtype)dtype, falling, false, (double[]){.9, .8, .7});
    }
}

/* The product is rounded before it is taken away: with one rounding the last bit would differ. */
static void test_sgd_rounds_twice(void **state) {
    (void)state;
    int differ = 0;
    for (int i = 0; i < 100; i++) {
        volatile float w = (float)noise((uint64_t)i), g = (float)noise((uint64_t)i + 1000),
                       lr = 0.1f;
        volatile float product = lr * g, expected = w - product;
        duet_tensor *v = variable(NULL, duet_f32(w));
        assert_int_equal(duet_sgd(v, duet_f32(g), duet_f32(lr)), DUET_OK);
        assert_true(duet_item(v, 0) == (double)expected);
        differ += expected != fmaf(-lr, g, w);
        duet_release(v);
    }
    assert_true(differ > 0); /* so the numbers above can tell */
}

static void test_sgd_of_a_zero_rate_changes_no_bit(void **state) {
    (void)state;
    duet_tensor *first = noisy(&(duet_spec){SHAPE(67), DUET_F32}, 1), *v = variable("w", first);
    duet_tensor *lr = variable("lr", duet_f32(0));
    assert_int_equal(duet_sgd(v, noisy(&(duet_spec){SHAPE(67), DUET_F32}, 2), lr), DUET_OK);
    expect_same_bits(v, first);
    duet_release(v);
    duet_release(lr);
}

static void test_constant(void **state) {
    (void)state;
    EXPECT(duet_constant(F32(SHAPE(2), 3, 4)), SHAPE(2), 3, 4);
    EXPECT_INFERRED("constant", "", "constant: value: expected a tensor with data, got none");
}

/* ---- random numbers ---- */

static void test_the_stream_goes_on(void **state) {
    (void)state;
    duet_tensor *a = duet_rng_new(2024), *b = duet_rng_new(2024), *c = duet_rng_new(2025);
    duet_tensor *whole = duet_random_uniform(SHAPE(10), DUET_F32, a, 0, 1);
    duet_tensor *first = duet_random_uniform(SHAPE(3), DUET_F32, b, 0, 1);
    duet_tensor *rest = duet_random_uniform(SHAPE(7), DUET_F32, b, 0, 1);
    duet_tensor *other = duet_random_uniform(SHAPE(10), DUET_F32, c, 0, 1);
    int differ = 0;
    for (int i = 0; i < 10; i++) {
        double expected = i < 3 ? duet_item(first, i) : duet_item(rest, i - 3);
        assert_true(duet_item(whole, i) == expected);
        differ += duet_item(other, i) != expected;
    }
    assert_true(differ > 5);
    expect_same_bits(a, b);
    EXPECT(a, SHAPE(4), 2024, 0, 10, 0);
    duet_release(a);
    duet_release(b);
    duet_release(c);
}

/* The counter carries into its high word; seeds have 64 bits. */
static void test_the_state_is_64_bits_wide(void **state) {
    (void)state;
    duet_tensor *rng = duet_rng_new(0x123456789abcdef0u);
    assert_int_equal(((uint32_t *)rng->data)[0], 0x9abcdef0u);
    assert_int_equal(((uint32_t *)rng->data)[1], 0x12345678u);
    ((uint32_t *)rng->data)[2] = 0xfffffffe;
    assert_non_null(duet_random_normal(SHAPE(5), DUET_F64, rng));
    assert_int_equal(((uint32_t *)rng->data)[2], 3);
    assert_int_equal(((uint32_t *)rng->data)[3], 1);
    duet_release(rng);
}

/* Mean and variance of 40,000 numbers, within five standard errors. */
static void check_moments(duet_tensor *x, double mean, double variance, double fourth) {
    int64_t n = duet_tensor_count(x);
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        double away = duet_item(x, i) - mean;
        sum += away;
        squares += away * away;
    }
    assert_true(fabs(sum / (double)n) < 5 * sqrt(variance / (double)n));
    double error = sqrt((fourth - variance * variance) / (double)n);
    assert_true(fabs(squares / (double)n - variance) < 5 * error);
}

static void test_distributions(void **state) {
    (void)state;
    duet_tensor *rng = duet_rng_new(7);
    for (int dtype = DUET_F32; dtype <= DUET_F64; dtype++) {
        duet_dtype type = (duet_dtype)dtype;
        duet_tensor *u = duet_random_uniform(SHAPE(200, 200), type, rng, -1, 3);
        check_moments(u, 1, 16. / 12, 256. / 80);
        for (int64_t i = 0; i < 40000; i++)
            assert_true(duet_item(u, i) >= -1 && duet_item(u, i) < 3);
        check_moments(duet_random_normal(SHAPE(40000), type, rng), 0, 1, 3);
        check_moments(duet_random_normal_scaled(SHAPE(40000), type, rng, 5, 2), 5, 4, 48);
        duet_tensor *like = duet_zeros(SHAPE(2, 3), DUET_I32);
        expect_shape(duet_random_normal_like(like, type, rng, 0, 1), SHAPE(2, 3));
        expect_shape(duet_random_uniform_like(like, type, rng, 0, 1), SHAPE(2, 3));
        duet_tensor *w = duet_glorot_uniform(SHAPE(3, 3, 50, 70), type, rng);
        double range = sqrt(6. / (9 * 120));
        check_moments(w, 0, range * range / 3, range * range * range * range / 5);
    }
    duet_release(rng);
}

/* [low, high) with hardly a number inside: high never comes out. */
static void test_uniform_never_reaches_high(void **state) {
    (void)state;
    duet_tensor *rng = duet_rng_new(1);
    float low = 16777216, high = 16777220;
    duet_tensor *x = duet_random_uniform(SHAPE(1000), DUET_F32, rng, (double)low, (double)high);
    for (int i = 0; i < 1000; i++)
        assert_true(duet_item(x, i) >= (double)low && duet_item(x, i) < (double)high);
    duet_release(rng);
}

static void test_random_infers(void **state) {
    (void)state;
    EXPECT_INFERRED("random_uniform", "var i32[4]; shape=[-1,3]",
                    "random_uniform: expected dimensions of 0 or more, got -1 as dimension 0 of "
                    "[?,3]");
    EXPECT_INFERRED("random_uniform", "var i32[4]; shape=[3], low=1, high=1",
                    "random_uniform: expected low < high, got 1 and 1");
    EXPECT_INFERRED(
        "random_normal", "var i32[4]; shape=[3], stddev=-1",
        "random_normal: expected a finite mean and a stddev of 0 or more, got 0 and -1");
    EXPECT_INFERRED("random_normal", "var f32[4]; shape=[3]",
                    "random_normal: rng: expected i32[4] as from duet_rng_new, got f32[4]");
    EXPECT_INFERRED("random_normal", "var i32[4]; shape=[3], dtype=i32",
                    "random_normal: dtype: expected f32 or f64, got i32");
    EXPECT_INFERRED("random_normal", "var i32[4], f32[?,20]", "f32[?,20]");
    assert_non_null(
        strstr(inferred("random_normal", "var i32[4]; shape=[4611686018427387904]"), "bytes"));
}

/* ---- watching values ---- */

/* What `x` printed makes on stderr. */
static const char *printed(duet_tensor *x, const char *label, int64_t edge) {
    static char text[512];
    FILE *file = tmpfile();
    fflush(stderr);
    int saved = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    duet_tensor *same = duet_print(x, label, edge);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    expect_same_bits(same, x);
    return text;
}

static void test_print(void **state) {
    (void)state;
    duet_tensor *x = F32(SHAPE(2, 3), 1, -0.1f, -NAN, 1.0f / 3, INFINITY, 1e-20f);
    assert_string_equal(printed(x, "x", 3),
                        "x f32[2,3] [[1, -0.1, nan], [0.33333334, inf, 1e-20]]\n");
    assert_string_equal(printed(duet_f64(0.1), NULL, 3), "f64[] 0.1\n");
    assert_string_equal(printed(duet_bool(true), "", 0), "bool[] true\n");
    duet_tensor *seven = I32(SHAPE(7), 1, 2, 3, 4, 5, 6, 7);
    assert_string_equal(printed(seven, "n", 3), "n i32[7] [1, 2, 3, ..., 5, 6, 7]\n");
    assert_string_equal(printed(seven, "n", 1), "n i32[7] [1, ..., 7]\n");
    assert_string_equal(printed(seven, "n", 0), "n i32[7] [...]\n");
    assert_string_equal(printed(seven, "n", -1), "n i32[7] [1, 2, 3, 4, 5, 6, 7]\n");
    assert_string_equal(printed(duet_zeros(SHAPE(2, 0), DUET_F32), "n", 1),
                        "n f32[2,0] [[], []]\n");
}

static void test_check_numerics(void **state) {
    (void)state;
    duet_tensor *x = noisy(&(duet_spec){SHAPE(3, 200), DUET_F32}, 1);
    expect_same_bits(duet_check_numerics(x, "loss"), x);
    ((float *)x->data)[599] = -INFINITY;
    assert_null(duet_check_numerics(x, NULL));
    assert_string_equal(duet_error_message(), "check_numerics: x: expected numbers only, got -Inf "
                                              "as element 599 of f32[3,200]");
    ((float *)x->data)[300] = NAN;
    assert_null(duet_check_numerics(x, "loss"));
    assert_string_equal(duet_error_message(), "check_numerics: x: expected numbers only, got NaN "
                                              "as element 300 of f32[3,200]: loss");
    assert_null(duet_check_numerics(duet_f64(INFINITY), ""));
    assert_non_null(duet_check_numerics(F64(SHAPE(2), 1.7e308, 4e-324), ""));
    check_gradients("check_numerics");
    EXPECT_INFERRED("check_numerics", "i32[3]",
                    "check_numerics: x: expected f32 or f64, got i32[3]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_assign),
        TEST(test_updates_name_the_variable),
        TEST(test_sgd_with_momentum),
        TEST(test_sgd_rounds_twice),
        TEST(test_sgd_of_a_zero_rate_changes_no_bit),
        TEST(test_constant),
        TEST(test_the_stream_goes_on),
        TEST(test_the_state_is_64_bits_wide),
        TEST(test_distributions),
        TEST(test_uniform_never_reaches_high),
        TEST(test_random_infers),
        TEST(test_print),
        TEST(test_check_numerics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
