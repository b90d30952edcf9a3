/* Calls that ask for something else than there is: another arity, one variable where two are meant,
 * more than a trace can hold. */
#include "expect.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_short_call_takes_a_function_of_its_arity),
    };
    return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}
