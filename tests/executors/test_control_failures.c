/* cond and while where something fails: what is said, and that nothing stays behind. */
#include "expect.h"

static duet_status doubled(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = duet_mul(in[0], duet_f32(2));
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status always(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)in, (void)user;
    out[0] = duet_bool(true);
    return DUET_OK;
}

static duet_status below_50(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = duet_greater(duet_f32(50), in[0]);
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_tensor *leaked;
static duet_tensor *leaking(duet_tensor *x) {
    return duet_keep(leaked = duet_greater(x, duet_f32(0)));
}

static duet_status leaked_condition(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)in, (void)user;
    out[0] = leaked;
    return DUET_OK;
}

static duet_status failing(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    duet_scope_open(); /* and leaves it open */
    out[0] = duet_neg(in[0]);
    return duet_fail(DUET_STATUS_ARGUMENT, "failing: on purpose");
}

static void a_predicate_of_an_ended_trace_is_refused(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("leaking", leaking);
    duet_tensor *x = duet_f32(-1), *out[1];
    EXPECT(duet_call_unary(f, x), 0);
    assert_int_equal(duet_cond(out, 1, leaked, doubled, doubled, &x, 1, NULL), DUET_STATUS_STATE);
    EXPECT_ERROR(DUET_STATUS_STATE, "cond: pred is a value of a function's trace that has ended");
    assert_int_equal(duet_while(out, leaked_condition, failing, &x, 1, NULL), DUET_STATUS_STATE);
    EXPECT_ERROR(DUET_STATUS_STATE, "while: cond is a value of a function's trace that has ended");
    duet_function_free(f);
    duet_release(leaked);
}

static duet_status nothing(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)out, (void)in, (void)user;
    return DUET_OK;
}

static duet_status leaves_a_scope_open(duet_tensor **out, duet_tensor *const *in, void *user) {
    duet_scope_open();
    return doubled(out, in, user);
}

static void a_result_that_is_missing_is_told(void **state) {
    (void)state;
    duet_tensor *x = duet_f32(1), *yes = duet_bool(true), *out[1];
    assert_int_equal(duet_cond(out, 1, yes, nothing, doubled, &x, 1, NULL), DUET_STATUS_ARGUMENT);
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "cond: result 0 is NULL");
    assert_int_equal(duet_while(out, always, nothing, &x, 1, NULL), DUET_STATUS_ARGUMENT);
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "while: result 0 is NULL");
    assert_int_equal(duet_while(out, nothing, doubled, &x, 1, NULL), DUET_STATUS_ARGUMENT);
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "while: cond is NULL");
}

static void a_failing_body_leaves_nothing_behind(void **state) {
    (void)state;
    duet_tensor *x = duet_f32(1), *yes = duet_bool(true), *out[1];
    int depth = duet_scope_depth();
    assert_int_equal(duet_cond(out, 1, yes, failing, doubled, &x, 1, NULL), DUET_STATUS_ARGUMENT);
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "failing: on purpose");
    assert_null(out[0]);
    assert_int_equal(duet_scope_depth(), depth);
    assert_int_equal(duet_while(out, always, failing, &x, 1, NULL), DUET_STATUS_ARGUMENT);
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "failing: on purpose");
    assert_null(out[0]);
    assert_int_equal(duet_scope_depth(), depth);
    EXPECT_OK(duet_cond(out, 1, yes, leaves_a_scope_open, doubled, &x, 1, NULL));
    assert_int_equal(duet_scope_depth(), depth);
    EXPECT(out[0], 2);
    EXPECT_OK(duet_while(out, below_50, leaves_a_scope_open, &x, 1, NULL));
    assert_int_equal(duet_scope_depth(), depth);
    EXPECT(out[0], 64);
}

/* More nodes than a tile program takes: the branch runs as a plan. */
static duet_status deep(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = in[0];
    for (int i = 0; i < 300; i++) out[0] = duet_tanh(out[0]);
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_tensor *deep_branch(duet_tensor *x) {
    duet_tensor *out[1];
    return duet_cond(out, 1, duet_bool(true), deep, doubled, &x, 1, NULL) == DUET_OK ? out[0]
                                                                                     : NULL;
}

static void a_branch_that_runs_otherwise_hides_no_failure(void **state) {
    (void)state;
    duet_tensor *x = F32(SHAPE(2), 1, -2);
    duet_function *f = duet_function_unary("deep_branch", deep_branch);
    duet_fail(DUET_STATUS_IO, "first");
    EXPECT_SAME(duet_call_unary(f, x), deep_branch(x));
    EXPECT_ERROR(DUET_STATUS_IO, "first");
    duet_function_clear(f);
    EXPECT_SAME(duet_call_unary(f, x), deep_branch(x));
    assert_int_equal(duet_error_code(), DUET_OK);
    duet_function_free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_predicate_of_an_ended_trace_is_refused),
        TEST(a_result_that_is_missing_is_told),
        TEST(a_failing_body_leaves_nothing_behind),
        TEST(a_branch_that_runs_otherwise_hides_no_failure),
    };
    return cmocka_run_group_tests_name("failures in control flow", tests, NULL, NULL);
}
