/* Calls that ask for something else than there is: another arity, one variable where two are meant,
 * more than a trace can hold. */
#include "expect.h"

#include "graph.h"

#include <unistd.h>

/* ---- arity -------------------------------------------------------------------------------------
 */

static duet_status copies(duet_tensor **out, duet_tensor *const *in, void *count) {
    for (int i = 0; i < *(int *)count; i++) out[i] = in[i % 2];
    return DUET_OK;
}

static void a_short_call_takes_a_function_of_its_arity(void **state) {
    (void)state;
    duet_tensor *x = F32(SHAPE(1), 1);
    static const struct {
        int n_in, n_out;
        const char *unary, *binary; /* messages; NULL: fine */
    } cases[] = {
        {0, 1, "call_unary: expected a function of 1 input and 1 result, got f of 0 and 1",
         "call_binary: expected a function of 2 inputs and 1 result, got f of 0 and 1"},
        {1, 1, NULL, "call_binary: expected a function of 2 inputs and 1 result, got f of 1 and 1"},
        {2, 1, "call_unary: expected a function of 1 input and 1 result, got f of 2 and 1", NULL},
        {2, 2, "got f of 2 and 2", "got f of 2 and 2"},
        {64, 16, "got f of 64 and 16", "got f of 64 and 16"},
    };
    for (int way = 0; way < 2 * LENGTH(cases); way++) {
        int i = way / 2, count = cases[i].n_out;
        bool before = duet_run_eagerly(way % 2);
        duet_function *f = duet_function_new("f", copies, cases[i].n_in, count, &count);
        duet_tensor *one = duet_call_unary(f, x);
        assert_true(!one == !!cases[i].unary);
        if (cases[i].unary) EXPECT_ERROR(DUET_STATUS_ARGUMENT, cases[i].unary);
        duet_tensor *both = duet_call_binary(f, x, x);
        assert_true(!both == !!cases[i].binary);
        if (cases[i].binary) EXPECT_ERROR(DUET_STATUS_ARGUMENT, cases[i].binary);
        duet_function_free(f);
        duet_run_eagerly(before);
    }
}

/* ---- one variable in two places ----------------------------------------------------------------
 */

static duet_status twice_written(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    TRY(duet_sgd_momentum(in[0], F32(SHAPE(2), 1, 2), duet_f32(1), in[1], 0.5, false));
    out[0] = duet_read(in[0]);
    return out[0] ? DUET_OK : duet_error_code();
}

/* v = 2 v and then w = v + w */
static duet_status both_assigned(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    TRY(duet_assign(in[0], duet_add(in[0], in[0])));
    TRY(duet_assign_add(in[1], in[0]));
    out[0] = duet_read(in[1]);
    return out[0] ? DUET_OK : duet_error_code();
}

static void a_variable_is_written_in_one_place_of_a_call(void **state) {
    (void)state;
    static const char message[] = "sgd: velocity: expected another variable than variable";
    for (int eagerly = 0; eagerly < 2; eagerly++) {
        bool before = duet_run_eagerly(eagerly);
        duet_tensor *v = duet_variable_new("v", F32(SHAPE(2), 3, 4)), *out;
        duet_function *f = duet_function_new("f", twice_written, 2, 1, NULL);
        assert_int_equal(duet_call(f, &out, (duet_tensor *[]){v, v}), DUET_STATUS_ARGUMENT);
        EXPECT_ERROR(DUET_STATUS_ARGUMENT, message);
        EXPECT(duet_read(v), 3, 4);
        duet_function_free(f);
        duet_release(v);
        duet_run_eagerly(before);
    }
    assert_null(duet_graph_parse("graph @g(%0: f32[2], %1: f32[]) {\n"
                                 "  %2: f32[2] = variable \"v\"\n"
                                 "  sgd(%2, %0, %1, %2) {momentum=0.5}\n  return\n}\n",
                                 "t"));
    EXPECT_ERROR(DUET_STATUS_FORMAT, "(sgd): inputs 0 and 3 are one variable, and both written");
}

/* Argument 0 and argument 1 may be one variable: what happens to it happens in program order. */
static void a_variable_may_be_two_arguments(void **state) {
    (void)state;
    for (int way = 0; way < 4; way++) {
        bool same = way & 1, before = duet_run_eagerly(way & 2);
        duet_tensor *v = duet_variable_new("v", F32(SHAPE(), 3)), *out;
        duet_tensor *w = duet_variable_new("w", F32(SHAPE(), 5));
        duet_tensor *two[] = {v, same ? v : w};
        duet_function *f = duet_function_new("f", both_assigned, 2, 1, NULL);
        EXPECT_OK(duet_call(f, &out, two));
        EXPECT(out, same ? 12 : 11);
        EXPECT_OK(duet_call(f, &out, two));
        EXPECT(out, same ? 48 : 23);
        EXPECT(duet_read(v), same ? 48 : 12);
        duet_function_free(f);
        duet_release(v);
        duet_release(w);
        duet_run_eagerly(before);
    }
}

/* ---- too much ----------------------------------------------------------------------------------
 */

enum { LEVELS = 40 }; /* each calls the one below it twice: 2^39 ops in all */
static duet_function *levels[LEVELS];
static int level_index[LEVELS];

static duet_status call_the_one_below_twice(duet_tensor **out, duet_tensor *const *in, void *user) {
    int level = *(int *)user;
    out[0] = level ? duet_call_unary(levels[level - 1], in[0]) : duet_neg(in[0]);
    if (level) out[0] = duet_call_unary(levels[level - 1], out[0]);
    return out[0] ? DUET_OK : duet_error_code();
}

/* The same in branches, each of which is a small graph of its own. */
static duet_status branch_to_the_one_below(duet_tensor **out, duet_tensor *const *in, void *user) {
    int level = *(int *)user;
    if (!level) return out[0] = duet_neg(in[0]), out[0] ? DUET_OK : duet_error_code();
    return duet_cond(out, 1, duet_equal(in[0], in[0]), branch_to_the_one_below,
                     branch_to_the_one_below, in, 1, &level_index[level - 1]);
}

static void a_trace_ends_before_the_memory_does(void **state) {
    (void)state;
    static const duet_callback bodies[] = {call_the_one_below_twice, branch_to_the_one_below};
    for (int b = 0; b < LENGTH(bodies); b++) {
        for (int i = 0; i < LEVELS; i++) {
            level_index[i] = i;
            levels[i] = duet_function_new("level", bodies[b], 1, 1, &level_index[i]);
        }
        assert_null(duet_call_unary(levels[LEVELS - 1], F32(SHAPE(), 1)));
        EXPECT_ERROR(DUET_STATUS_UNSUPPORTED,
                     "function level: expected at most 262144 ops in its trace, got more");
        EXPECT(duet_call_unary(levels[4], F32(SHAPE(), 1)), b ? -1 : 1);
        for (int i = 0; i < LEVELS; i++) duet_function_free(levels[i]);
    }
}

int main(void) {
    alarm(600); /* 2^39 ops are a failure, not a wait */
    const struct CMUnitTest tests[] = {
        TEST(a_short_call_takes_a_function_of_its_arity),
        TEST(a_variable_is_written_in_one_place_of_a_call),
        TEST(a_variable_may_be_two_arguments),
        TEST(a_trace_ends_before_the_memory_does),
    };
    return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}
