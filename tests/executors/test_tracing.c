/* What a body may do while it is traced, and what becomes of host values: frozen, and said so. Most
 * cases are public reports of systems that got them wrong; each says which. */
#include "expect.h"

#include <unistd.h>

/* ---- effects ------------------------------------------------------------------------------------
 */

static int host_count;
static duet_tensor *counting(duet_tensor *x) {
    host_count++;
    return duet_print(duet_add(x, duet_f32(1)), "counting", 2);
}

/* Lines that `calls` calls put on stderr. */
static int printed_lines(duet_function *f, int calls) {
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO), lines = 0;
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    for (int i = 0; i < calls; i++) duet_call_unary(f, duet_f32((float)i));
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    for (int c; (c = fgetc(file)) != EOF;) lines += c == '\n';
    fclose(file);
    return lines;
}

/* tensorflow #31362: the host's own effects happen while tracing only; an op's happen each time. */
static void a_host_effect_happens_once_an_op_s_each_time(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("counting", counting);
    host_count = 0;
    bool before = duet_run_eagerly(true);
    assert_int_equal(printed_lines(f, 5), 5);
    assert_int_equal(host_count, 5);
    duet_run_eagerly(before);
    host_count = 0;
    assert_int_equal(printed_lines(f, 5), 5);
    assert_int_equal(host_count, 1);
    duet_function_free(f);
}

/* ---- host values
 * ---------------------------------------------------------------------------------- */

static float multiplier;
static duet_tensor *scaled(duet_tensor *x) { return duet_mul(x, duet_f32(multiplier)); }
enum { SCALED_LINE = __LINE__ - 1 };

/* tinygrad's list of jit footguns */
static void a_captured_host_value_is_frozen(void **state) {
    (void)state;
    float expected[] = {10, 20, 20, 20, 20}; /* as tinygrad: its first call runs eagerly */
    duet_function *f = duet_function_unary("scaled", scaled);
    for (int i = 1; i <= 5; i++) {
        multiplier = (float)i;
        if (i == 1)
            EXPECT(scaled(duet_f32(10)), expected[0]);
        else
            EXPECT(duet_call_unary(f, duet_f32(10)), expected[i - 1]);
    }
    duet_function_free(f);
}

static void a_frozen_value_that_has_changed_is_reported(void **state) {
    (void)state;
    char where[64];
    duet_tensor *x = duet_f32(10);
    duet_function *f = duet_function_unary("scaled", scaled);
    multiplier = 2;
    duet_call_unary(f, x);
    EXPECT_OK(duet_check_trace(f, &x));
    multiplier = 5;
    assert_int_equal(duet_check_trace(f, &x), DUET_STATUS_STATE);
    snprintf(where, sizeof where, "test_tracing.c:%d: element 0: 2 -> 5", SCALED_LINE);
    assert_non_null(strstr(duet_error_message(), "function scaled: a host value"));
    EXPECT_ERROR(DUET_STATUS_STATE, where);
    assert_int_equal(duet_trace_count(f), 1); /* checking is no call */
    EXPECT(duet_call_unary(f, x), 20);        /* and mends nothing */
    duet_function_free(f);
}

static void a_frozen_one_that_the_passes_dropped_is_reported(void **state) {
    (void)state;
    duet_tensor *x = duet_f32(10);
    duet_function *f = duet_function_unary("scaled", scaled);
    multiplier = 1; /* x * 1 is x: no node is left of it */
    EXPECT(duet_call_unary(f, x), 10);
    multiplier = 7;
    assert_int_not_equal(duet_check_trace(f, &x), DUET_OK);
    EXPECT_ERROR(DUET_STATUS_STATE, "element 0: 1 -> 7");
    duet_function_free(f);
}

static void frozen_values_are_listed(void **state) {
    (void)state;
    char got[128] = "", expected[128];
    duet_function *f = duet_function_unary("scaled", scaled);
    multiplier = 0.5f;
    duet_call_unary(f, duet_f32(1));
    FILE *file = tmpfile();
    duet_function_print_frozen(file, f);
    rewind(file);
    assert_true(fread(got, 1, sizeof got - 1, file) > 0);
    fclose(file);
    snprintf(expected, sizeof expected, "f32[] 0.5  # test_tracing.c:%d\n", SCALED_LINE);
    assert_string_equal(got, expected);
    duet_function_free(f);
}

static duet_tensor *times(duet_tensor *x, duet_tensor *y) { return duet_mul(x, y); }

static void the_same_value_as_a_tensor_is_not_frozen(void **state) {
    (void)state;
    duet_function *f = duet_function_binary("times", times);
    for (int i = 1; i <= 5; i++)
        EXPECT(duet_call_binary(f, duet_f32(10), duet_f32((float)i)), 10 * i);
    assert_int_equal(duet_trace_count(f), 1);
    duet_function_free(f);
}

typedef struct sgd_state {
    duet_tensor *weights, *rate; /* variables */
} sgd_state;

static duet_status sgd_step(duet_tensor **out, duet_tensor *const *in, void *user) {
    sgd_state *s = user;
    TRY(duet_sgd(s->weights, in[0], s->rate));
    out[0] = duet_read(s->weights);
    return DUET_OK;
}

/* tensorflow #31323 */
static void a_learning_rate_in_a_variable_is_not_frozen(void **state) {
    (void)state;
    sgd_state s = {duet_variable_new("weights", F32(SHAPE(2), 1, 0.3f)),
                   duet_variable_new("rate", duet_f32(0.1f))};
    duet_function *f = duet_function_new("sgd_step", sgd_step, 1, 1, &s);
    duet_tensor *g = F32(SHAPE(2), 1, 2);
    EXPECT(duet_call_unary(f, g), 1.0f - 0.1f * 1, 0.3f - 0.1f * 2);
    duet_tensor *first = duet_read(s.weights);
    EXPECT_OK(duet_assign(s.rate, duet_f32(0)));
    EXPECT_SAME(duet_call_unary(f, g), first);
    assert_int_equal(duet_trace_count(f), 1);
    duet_function_free(f);
    duet_release(s.weights);
    duet_release(s.rate);
}

/* ---- impure bodies
 * --------------------------------------------------------------------------------- */

static int noise;
static duet_tensor *noisy(duet_tensor *x) { return duet_add(x, duet_f32((float)noise++)); }
static duet_tensor *fickle(duet_tensor *x) { return noise++ % 2 ? duet_exp(x) : duet_neg(x); }
static duet_tensor *fickle_axis(duet_tensor *x) {
    return duet_sum(x, DUET_INTS(noise++ % 2), true);
}

static void expect_impure(duet_tensor *(*body)(duet_tensor *), const char *difference) {
    duet_tensor *x = duet_full(SHAPE(2, 2), DUET_F32, 1);
    duet_function *f = duet_function_unary("impure", body);
    noise = 0;
    assert_int_equal(duet_check_trace(f, &x), DUET_STATUS_STATE);
    assert_non_null(strstr(duet_error_message(), "function impure is not pure"));
    EXPECT_ERROR(DUET_STATUS_STATE, difference);
    duet_function_free(f);
}

/* jax #1141 */
static void an_impure_body_is_noticed(void **state) {
    (void)state;
    expect_impure(noisy, "element 0: 0 -> 1");
    expect_impure(fickle, "neg -> exp");
    expect_impure(fickle_axis, "axes: [0] -> [1]");
}

static void a_pure_body_passes_before_and_after_its_first_call(void **state) {
    (void)state;
    duet_tensor *in[] = {duet_f32(1), duet_f32(2)};
    duet_function *f = duet_function_binary("times", times);
    EXPECT_OK(duet_check_trace(f, in));
    duet_call_binary(f, in[0], in[1]);
    EXPECT_OK(duet_check_trace(f, in));
    duet_function_free(f);
    f = duet_function_unary("relu", duet_relu);
    EXPECT_OK(duet_function_declare(f, "f32[?]"));
    duet_tensor *x = F32(SHAPE(2), -1, 1);
    EXPECT(duet_call_unary(f, x), 0, 1);
    EXPECT_OK(duet_check_trace(f, &x));
    duet_function_free(f);
}

static bool took_another_way;
static duet_tensor *changing_its_mind(duet_tensor *x) {
    return took_another_way ? duet_exp(duet_neg(x)) : duet_neg(x);
}

static void a_body_that_takes_another_way_now_is_noticed(void **state) {
    (void)state;
    duet_tensor *x = duet_f32(1);
    duet_function *f = duet_function_unary("changing", changing_its_mind);
    took_another_way = false;
    EXPECT(duet_call_unary(f, x), -1);
    took_another_way = true;
    assert_int_not_equal(duet_check_trace(f, &x), DUET_OK);
    EXPECT_ERROR(DUET_STATUS_STATE, "its body no longer does what was traced");
    duet_function_free(f);
}

/* ---- variables and values that belong elsewhere
 * ---------------------------------------------------- */

static duet_tensor *made[8];
static int n_made;
static duet_tensor *making_variables(duet_tensor *x) {
    duet_tensor *v = duet_variable_new("momentum", duet_f32(1));
    if (!v) return NULL;
    made[n_made++] = v;
    return duet_mul(x, v);
}

/* tensorflow #27120 */
static void a_variable_is_made_in_the_first_trace_only(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("making", making_variables);
    n_made = 0;
    EXPECT(duet_call_unary(f, duet_f32(3)), 3);
    EXPECT(duet_call_unary(f, duet_f32(4)), 4); /* replayed */
    assert_null(duet_call_unary(f, F32(SHAPE(1), 3)));
    EXPECT_ERROR(DUET_STATUS_STATE,
                 "variable momentum: made while function making is traced again");
    assert_int_equal(n_made, 1);
    assert_non_null(made[1] = duet_variable_new("later", duet_f32(1))); /* outside all is well */
    EXPECT(duet_call_unary(f, duet_f32(5)), 5);
    duet_function_free(f);
    duet_release(made[0]);
    duet_release(made[1]);
}

static duet_tensor *captured;
static duet_tensor *using_captured(duet_tensor *x) { return duet_mul(x, captured); }

/* tensorflow #30768 */
static void a_function_holds_what_it_captured(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("using", using_captured);
    captured = duet_variable_new("captured", F32(SHAPE(2), 2, 3));
    EXPECT(duet_call_unary(f, F32(SHAPE(2), 1, 1)), 2, 3);
    duet_release(captured); /* its owner lets it go */
    duet_memory_trim();
    EXPECT(duet_call_unary(f, F32(SHAPE(2), 10, 10)), 20, 30);
    duet_function_free(f);
}

static void a_captured_value_is_held_too(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("using", using_captured);
    duet_scope_open();
    captured = F32(SHAPE(2), 2, 3);
    EXPECT(duet_call_unary(f, F32(SHAPE(2), 1, 1)), 2, 3);
    duet_scope_close(NULL);
    duet_memory_trim();
    EXPECT(duet_call_unary(f, F32(SHAPE(2), 10, 10)), 20, 30);
    duet_function_free(f);
}

static duet_tensor *reading(duet_tensor *x) {
    float value = (float)duet_item(x, 0); /* NaN, and a message */
    return duet_add(x, duet_f32(value));
}
static duet_tensor *choosing(duet_tensor *x) {
    return duet_item(x, 0) > 0 ? duet_relu(x) : duet_neg(x);
}

/* tinygrad's list of jit footguns */
static void a_value_cannot_be_read_while_tracing(void **state) {
    (void)state;
    duet_tensor *(*bodies[])(duet_tensor *) = {reading, choosing};
    for (int i = 0; i < LENGTH(bodies); i++) {
        duet_function *f = duet_function_unary("reading", bodies[i]);
        assert_null(duet_call_unary(f, duet_f32(1)));
        EXPECT_ERROR(DUET_STATUS_STATE, "not available while tracing");
        assert_int_equal(duet_trace_count(f), 0);
        EXPECT(duet_call_unary(f, duet_literal_f32(1)), i ? 1 : 2); /* a literal can */
        duet_function_free(f);
    }
}

static duet_tensor *leaked;
static duet_tensor *leaking(duet_tensor *x) { return duet_keep(leaked = duet_neg(x)); }
static duet_tensor *using_leaked(duet_tensor *x) { return duet_add(x, leaked); }

static void a_traced_value_is_of_no_use_outside(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("leaking", leaking);
    EXPECT(duet_call_unary(f, duet_f32(1)), -1);
    assert_null(duet_add(leaked, duet_f32(1)));
    EXPECT_ERROR(DUET_STATUS_STATE, "value of a function's trace that has ended");
    assert_null(duet_data(leaked));
    duet_error_clear();
    duet_function *g = duet_function_unary("using_leaked", using_leaked);
    assert_null(duet_call_unary(g, duet_f32(1)));
    EXPECT_ERROR(DUET_STATUS_STATE, "another function's trace");
    duet_function_free(f);
    duet_function_free(g);
    duet_release(leaked);
}

/* ---- functions in functions, arguments that are the same
 * ------------------------------------------ */

static duet_function *inner_function;
static duet_tensor *inner(duet_tensor *x) { return duet_add(x, duet_f32(1)); }
static duet_tensor *outer(duet_tensor *x) {
    return duet_mul(duet_call_unary(inner_function, x), duet_f32(3));
}

/* tinygrad's list of jit footguns */
static void a_nested_function_is_inlined(void **state) {
    (void)state;
    inner_function = duet_function_unary("inner", inner);
    duet_function *f = duet_function_unary("outer", outer);
    for (int i = 1; i <= 3; i++) EXPECT(duet_call_unary(f, duet_f32((float)i)), 3 * (i + 1));
    assert_int_equal(duet_trace_count(f), 1);
    assert_int_equal(duet_trace_count(inner_function), 0);
    EXPECT(duet_call_unary(inner_function, duet_f32(1)), 2);
    duet_function_free(f);
    duet_function_free(inner_function);
}

static duet_function *ouroboros;
static duet_tensor *calling_itself(duet_tensor *x) { return duet_call_unary(ouroboros, x); }

static void a_function_that_calls_itself_is_refused(void **state) {
    (void)state;
    ouroboros = duet_function_unary("ouroboros", calling_itself);
    assert_null(duet_call_unary(ouroboros, duet_f32(1)));
    EXPECT_ERROR(DUET_STATUS_STATE, "function ouroboros: functions are nested 64 deep");
    duet_function_free(ouroboros);
}

static duet_tensor *sum_of(duet_tensor *x, duet_tensor *y) { return duet_add(x, y); }

/* tinygrad's list of jit footguns */
static void one_tensor_may_be_two_arguments(void **state) {
    (void)state;
    duet_function *f = duet_function_binary("sum_of", sum_of);
    duet_tensor *x = F32(SHAPE(3), 1, 2, 3), *y = F32(SHAPE(3), 10, 20, 30);
    EXPECT(duet_call_binary(f, x, x), 2, 4, 6);
    EXPECT(duet_call_binary(f, x, y), 11, 22, 33);
    assert_int_equal(duet_trace_count(f), 1);
    duet_function_free(f);
}

static void errors_in_a_body_are_the_call_s(void **state) {
    (void)state;
    duet_function *f = duet_function_binary("sum_of", sum_of);
    assert_null(
        duet_call_binary(f, duet_zeros(SHAPE(2), DUET_F32), duet_zeros(SHAPE(3), DUET_F32)));
    EXPECT_ERROR(DUET_STATUS_SHAPE, "tests/executors/test_tracing.c:");
    assert_null(duet_call_binary(f, NULL, duet_f32(1)));
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "function sum_of: argument 0 is NULL");
    EXPECT(duet_call_binary(f, duet_f32(1), duet_f32(2)), 3);
    duet_function_free(f);
}

static duet_status failing_silently(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)out, (void)in, (void)user;
    return DUET_STATUS_ARGUMENT;
}

static duet_status failing_otherwise(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)out, (void)in, (void)user;
    duet_fail(DUET_STATUS_IO, "no such thing");
    return DUET_STATUS_STATE;
}

static duet_status identity(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = in[0];
    return DUET_OK;
}

static duet_tensor *with_failing_branch(duet_tensor *x) {
    duet_tensor *out;
    duet_status status =
        duet_cond(&out, 1, duet_bool(false), identity, failing_silently, &x, 1, NULL);
    assert_int_equal(status, DUET_STATUS_ARGUMENT);
    return out;
}

static duet_tensor *with_failing_loop(duet_tensor *x) {
    duet_tensor *out;
    duet_status status = duet_while(&out, failing_silently, identity, &x, 1, NULL);
    assert_int_equal(status, DUET_STATUS_ARGUMENT);
    return out;
}

static void a_body_s_status_is_the_call_s_in_both_executors(void **state) {
    (void)state;
    duet_tensor *x = duet_f32(1), *out;
    duet_function *bad = duet_function_new("bad", failing_silently, 1, 1, NULL);
    duet_function *other = duet_function_new("other", failing_otherwise, 1, 1, NULL);
    duet_function *branch = duet_function_unary("branch", with_failing_branch);
    duet_function *loop = duet_function_unary("loop", with_failing_loop);
    for (int eager = 0; eager < 2; eager++) {
        bool before = duet_run_eagerly(eager);
        assert_int_equal(duet_call(bad, &out, &x), DUET_STATUS_ARGUMENT);
        assert_null(out);
        EXPECT_ERROR(DUET_STATUS_ARGUMENT, "function bad: its body failed (argument)");
        duet_fail(DUET_STATUS_FORMAT, "an older failure");
        assert_int_equal(duet_call(bad, &out, &x), DUET_STATUS_ARGUMENT);
        EXPECT_ERROR(DUET_STATUS_ARGUMENT, "function bad: its body failed (argument)");
        assert_int_equal(duet_call(other, &out, &x), DUET_STATUS_STATE);
        EXPECT_ERROR(DUET_STATUS_STATE, "no such thing");
        assert_null(duet_call_unary(branch, x));
        assert_int_equal(duet_error_code(), DUET_STATUS_ARGUMENT);
        duet_error_clear();
        assert_null(duet_call_unary(loop, x));
        assert_int_equal(duet_error_code(), DUET_STATUS_ARGUMENT);
        duet_error_clear();
        duet_run_eagerly(before);
    }
    duet_function_free(bad);
    duet_function_free(other);
    duet_function_free(branch);
    duet_function_free(loop);
}

int main(void) {
    setenv("DUET_VERIFY", "1", 1);
    const struct CMUnitTest tests[] = {
        TEST(a_host_effect_happens_once_an_op_s_each_time),
        TEST(a_captured_host_value_is_frozen),
        TEST(a_frozen_value_that_has_changed_is_reported),
        TEST(a_frozen_one_that_the_passes_dropped_is_reported),
        TEST(frozen_values_are_listed),
        TEST(the_same_value_as_a_tensor_is_not_frozen),
        TEST(a_learning_rate_in_a_variable_is_not_frozen),
        TEST(an_impure_body_is_noticed),
        TEST(a_pure_body_passes_before_and_after_its_first_call),
        TEST(a_body_that_takes_another_way_now_is_noticed),
        TEST(a_variable_is_made_in_the_first_trace_only),
        TEST(a_function_holds_what_it_captured),
        TEST(a_captured_value_is_held_too),
        TEST(a_value_cannot_be_read_while_tracing),
        TEST(a_traced_value_is_of_no_use_outside),
        TEST(a_nested_function_is_inlined),
        TEST(a_function_that_calls_itself_is_refused),
        TEST(one_tensor_may_be_two_arguments),
        TEST(errors_in_a_body_are_the_call_s),
        TEST(a_body_s_status_is_the_call_s_in_both_executors),
    };
    return cmocka_run_group_tests_name("tracing", tests, NULL, NULL);
}
