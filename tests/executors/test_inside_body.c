/* A body that turns to the function it is traced or run for: what would change that one is refused,
 * what only asks is answered. Each of these once waited for a lock that its own thread held. And
 * one that closes scopes which are not its own. */
#include "expect.h"

#include <unistd.h>

static duet_function *outer, *inner;
static duet_status declared;
static int64_t traces;
static FILE *file;

static duet_status clearing(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    duet_function_clear(outer);
    out[0] = in[0];
    return duet_error_code();
}

static duet_status freeing(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    duet_function_free(outer);
    out[0] = in[0];
    return duet_error_code();
}

static duet_status declaring(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    declared = duet_function_declare(outer, "f32[?]");
    out[0] = in[0];
    return declared;
}

static duet_status asking(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    traces = duet_trace_count(outer) + duet_function_get_stats(outer).traces;
    duet_function_print_frozen(file, outer);
    out[0] = duet_add(in[0], duet_f32(0.5f));
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status through_inner(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    return duet_call(inner, out, in);
}

/* A function of its own is the body's to change. */
static duet_status with_a_helper(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    duet_function *helper = duet_function_new("helper", asking, 1, 1, NULL);
    duet_status status = helper ? duet_function_declare(helper, "f32[?]") : duet_error_code();
    if (status == DUET_OK) status = duet_call(helper, out, in);
    duet_function_clear(helper);
    duet_function_free(helper);
    return status;
}

/* Directly and through a function inside; traced, and op by op. */
static void expect_refused(duet_callback body, const char *who) {
    duet_tensor *x = F32(SHAPE(2), 1, 2), *out;
    char message[128];
    for (int way = 0; way < 4; way++) {
        bool nested = way & 1, before = duet_run_eagerly(way & 2);
        inner = duet_function_new("inner", body, 1, 1, NULL);
        outer = duet_function_new("outer", nested ? through_inner : body, 1, 1, NULL);
        assert_int_equal(duet_call(outer, &out, &x), DUET_STATUS_STATE);
        snprintf(message, sizeof message, "%s: not while function outer is %s", who,
                 way & 2 ? "running" : "traced");
        EXPECT_ERROR(DUET_STATUS_STATE, message);
        duet_function_clear(outer); /* once it has ended, all is as ever */
        EXPECT_OK(duet_function_declare(outer, "f32[?]"));
        duet_function_free(outer);
        duet_function_free(inner);
        duet_run_eagerly(before);
    }
}

static void a_body_cannot_clear_its_function(void **state) {
    (void)state;
    expect_refused(clearing, "function_clear");
}

static void a_body_cannot_free_its_function(void **state) {
    (void)state;
    expect_refused(freeing, "function_free");
}

static void a_body_cannot_declare_its_function(void **state) {
    (void)state;
    expect_refused(declaring, "function_declare");
}

static void a_body_may_ask_of_its_function(void **state) {
    (void)state;
    duet_tensor *x = F32(SHAPE(2), 1, 2), *y = F32(SHAPE(1), 3), *out;
    const duet_callback bodies[] = {asking, through_inner, with_a_helper};
    for (int i = 0; i < LENGTH(bodies); i++) {
        inner = duet_function_new("inner", asking, 1, 1, NULL);
        outer = duet_function_new("outer", bodies[i], 1, 1, NULL);
        file = tmpfile();
        EXPECT_OK(duet_call(outer, &out, &x));
        EXPECT(out, 1.5, 2.5);
        assert_int_equal(traces, 0);
        assert_int_equal(ftell(file), 0);
        EXPECT_OK(duet_call(outer, &out, &y));
        assert_int_equal(traces, 2); /* the first one, told twice */
        assert_true(ftell(file) > 0);
        EXPECT_OK(duet_check_trace(outer, &y));
        fclose(file);
        duet_function_free(outer);
        duet_function_free(inner);
    }
}

/* ---- scopes ------------------------------------------------------------------------------------
 */

static duet_status closing(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    duet_scope_open();
    out[0] = duet_scope_close(duet_neg(in[0]));
    duet_scope_close(NULL);
    duet_scope_close(out[0]);
    return DUET_OK;
}

static duet_status resetting(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    duet_scope_reset();
    out[0] = duet_neg(in[0]);
    return DUET_OK;
}

static duet_status opening(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    duet_scope_open();
    duet_scope_open();
    out[0] = duet_neg(in[0]);
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status never(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)in, (void)user;
    out[0] = duet_full(SHAPE(), DUET_BOOL, 0);
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status closing_branch(duet_tensor **out, duet_tensor *const *in, void *user) {
    return duet_cond(out, 1, duet_equal(in[0], in[0]), closing, opening, in, 1, user);
}

static duet_status closing_condition(duet_tensor **out, duet_tensor *const *in, void *user) {
    return duet_while(out, closing, opening, in, 1, user);
}

static duet_status closing_loop(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    return duet_while(out, never, closing, in, 1, NULL);
}

/* A few scopes deep, or in the root scope, of which a body must not be able to free anything. */
static void expect_scopes_kept(duet_callback body, bool eagerly, int deep, const char *message) {
    duet_tensor *out, *x, *before = duet_full(SHAPE(), DUET_F32, 7);
    for (int i = 0; i < deep; i++) duet_scope_open();
    x = duet_full(SHAPE(), DUET_F32, 5);
    int depth = duet_scope_depth();
    bool was = duet_run_eagerly(eagerly);
    duet_function *f = duet_function_new("f", body, 1, 1, NULL);
    duet_status status = duet_call(f, &out, &x);
    duet_run_eagerly(was);
    assert_int_equal(duet_scope_depth(), depth);
    EXPECT(x, 5);
    EXPECT(before, 7);
    assert_int_equal(status, message ? DUET_STATUS_STATE : DUET_OK);
    if (message) EXPECT_ERROR(DUET_STATUS_STATE, message);
    if (message)
        assert_null(out);
    else
        EXPECT(out, -5);
    duet_function_free(f);
    for (int i = 0; i < deep; i++) duet_scope_close(NULL);
}

static void a_body_closes_no_scope_but_its_own(void **state) {
    (void)state;
    static const struct {
        duet_callback body;
        const char *message;
    } cases[] = {
        {closing, "function f: its body closed scopes that it had not opened"},
        {resetting, "function f: its body closed scopes that it had not opened"},
        {closing_branch, "cond: its then branch closed scopes that it had not opened"},
        {closing_condition, "while: its condition closed scopes that it had not opened"},
        {opening, NULL},
    };
    for (int i = 0; i < LENGTH(cases); i++)
        for (int way = 0; way < 6; way++)
            expect_scopes_kept(cases[i].body, way & 1, way / 2, cases[i].message);
    expect_scopes_kept(closing_loop, false, 1, "while: its body closed scopes"); /* if traced */
    duet_scope_close(NULL); /* the test's own: now the same at the root */
    expect_scopes_kept(closing, true, 0, cases[0].message);
    expect_scopes_kept(resetting, true, 0, cases[1].message);
    duet_tensor *x = duet_full(SHAPE(), DUET_F32, 5), *out;
    assert_int_equal(duet_cond(&out, 1, duet_equal(x, x), resetting, opening, &x, 1, NULL),
                     DUET_STATUS_STATE);
    EXPECT_ERROR(DUET_STATUS_STATE, "cond: its then branch closed scopes");
    EXPECT(x, 5);
    duet_scope_open();
}

int main(void) {
    alarm(60); /* a deadlock is a failure, not a wait */
    const struct CMUnitTest tests[] = {
        TEST(a_body_cannot_clear_its_function),   TEST(a_body_cannot_free_its_function),
        TEST(a_body_cannot_declare_its_function), TEST(a_body_may_ask_of_its_function),
        TEST(a_body_closes_no_scope_but_its_own),
    };
    return cmocka_run_group_tests_name("inside a body", tests, NULL, NULL);
}
