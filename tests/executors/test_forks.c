/* Forks: independent parts of a graph run side by side where that is worth it, and nothing of what
 * they compute depends on it. */
#include "expect.h"
#include "function.h"
#include "pool.h"
#include "settings.h"

static duet_plan *plan_of(duet_function *f, duet_tensor *const *in) {
    duet_entry *entry = duet_function_entry(f, in);
    assert_non_null(entry);
    duet_entry_release(entry); /* the cache holds it */
    return entry->plan;
}

static duet_tensor *numbers(duet_shape shape, int step) {
    duet_tensor *x = duet_zeros(shape, DUET_F32);
    for (int64_t i = 0; i < duet_tensor_count(x); i++)
        ((float *)x->data)[i] = (float)((i * step) % 31 - 15) / 64;
    return x;
}

typedef struct fork_counts {
    int32_t forks, branches, longest; /* steps of the longest branch */
} fork_counts;

static fork_counts look(const duet_plan *plan) {
    fork_counts found = {duet_plan_count_forks(plan), plan->n_branches, 0};
    for (int32_t k = 0; k < plan->n_branches; k++) {
        int32_t steps = plan->branches[k].end - plan->branches[k].begin;
        if (steps > found.longest) found.longest = steps;
    }
    return found;
}

static void expect_found(fork_counts f, int32_t forks, int32_t branches, int32_t longest) {
    assert_int_equal(f.forks, forks);
    assert_int_equal(f.branches, branches);
    assert_int_equal(f.longest, longest);
}

/* Calls the body eagerly, and as a graph with 1, 2 and 3 threads and with no forks: same bits.
 * Returns what forks there are for two threads. */
static fork_counts expect_same_however_it_runs(duet_callback body, duet_tensor *const *in,
                                               int n_in) {
    duet_tensor *eager = NULL, *graph = NULL;
    fork_counts with_two = {0};
    int before = duet_pool_threads();
    EXPECT_OK(body(&eager, in, NULL));
    for (int threads = 0; threads <= 3; threads++) {
        duet_pool_set_threads(threads ? threads : 2);
        duet_setting_passes(threads ? NULL : "-fork");
        duet_function *f = duet_function_new("body", body, n_in, 1, NULL);
        for (int call = 0; call < 3; call++) {
            EXPECT_OK(duet_call(f, &graph, in));
            EXPECT_SAME(graph, eager);
        }
        const duet_plan *plan = plan_of(f, in);
        if (threads < 2) assert_int_equal(duet_plan_count_forks(plan), 0);
        if (threads == 2) with_two = look(plan);
        duet_function_free(f);
    }
    duet_pool_set_threads(before);
    return with_two;
}

static duet_tensor *chain(duet_tensor *x, duet_tensor *w, int length) {
    for (int i = 0; i < length; i++) x = duet_tanh(duet_matmul(x, w));
    return x;
}

static duet_status two_chains(duet_tensor **out, duet_tensor *const *in, void *unused) {
    (void)unused;
    duet_tensor *x = duet_neg(in[0]); /* both need it, and the second must not write over it */
    duet_tensor *a = chain(x, in[1], 3), *b = duet_mul(chain(x, in[2], 3), x);
    out[0] = duet_sub(a, b);
    return out[0] ? DUET_OK : duet_error_code();
}

static void two_chains_of_products_run_side_by_side(void **state) {
    (void)state;
    duet_tensor *in[] = {numbers(SHAPE(160, 160), 7), numbers(SHAPE(160, 160), 5),
                         numbers(SHAPE(160, 160), 3)};
    expect_found(expect_same_however_it_runs(two_chains, in, 3), 1, 2, 5);
}

static duet_status three_chains(duet_tensor **out, duet_tensor *const *in, void *unused) {
    (void)unused;
    duet_tensor *a = chain(in[0], in[1], 4), *b = chain(in[0], in[2], 2),
                *c = chain(in[1], in[2], 2);
    duet_tensor *joined = duet_add(a, duet_mul(b, c));
    out[0] = duet_add(chain(joined, in[1], 2), chain(joined, in[2], 2));
    return out[0] ? DUET_OK : duet_error_code();
}

static void short_chains_share_a_branch_and_forks_follow_each_other(void **state) {
    (void)state;
    duet_tensor *in[] = {numbers(SHAPE(160, 160), 7), numbers(SHAPE(160, 160), 5),
                         numbers(SHAPE(160, 160), 3)};
    fork_counts found = expect_same_however_it_runs(three_chains, in, 3);
    assert_int_equal(found.forks, 2);
    assert_int_equal(found.branches, 4);
    assert_true(found.longest <= 7); /* the longest chain: four products, tanh between them */
}

static void small_graphs_do_not_fork(void **state) {
    (void)state;
    duet_tensor *in[] = {numbers(SHAPE(16, 16), 7), numbers(SHAPE(16, 16), 5),
                         numbers(SHAPE(16, 16), 3)};
    expect_found(expect_same_however_it_runs(three_chains, in, 3), 0, 0, 0);
}

static duet_status long_and_short(duet_tensor **out, duet_tensor *const *in, void *unused) {
    (void)unused;
    duet_tensor *a = chain(in[0], in[1], 8), *b = chain(in[0], in[2], 1);
    out[0] = duet_add(a, b);
    return out[0] ? DUET_OK : duet_error_code();
}

/* Each large product splits itself, and that uses both threads better than an idle branch would: of
 * the long chain only the last product runs beside the short one. */
static void only_what_balances_runs_side_by_side(void **state) {
    (void)state;
    duet_tensor *in[] = {numbers(SHAPE(256, 256), 7), numbers(SHAPE(256, 256), 5),
                         numbers(SHAPE(256, 256), 3)};
    expect_found(expect_same_however_it_runs(long_and_short, in, 3), 1, 2, 1);
}

/* Recorded turn and turn about; the planner puts each chain's steps together. */
static duet_status chains_turn_about(duet_tensor **out, duet_tensor *const *in, void *unused) {
    (void)unused;
    duet_tensor *a = in[0], *b = in[0];
    for (int i = 0; i < 3; i++) {
        a = duet_tanh(duet_matmul(a, in[1]));
        b = duet_tanh(duet_matmul(b, in[2]));
    }
    out[0] = duet_sub(a, b);
    return out[0] ? DUET_OK : duet_error_code();
}

static void a_function_whose_steps_moved_is_still_what_was_traced(void **state) {
    (void)state;
    duet_tensor *in[] = {numbers(SHAPE(160, 160), 7), numbers(SHAPE(160, 160), 5),
                         numbers(SHAPE(160, 160), 3)},
                *out;
    int before = duet_pool_threads();
    duet_pool_set_threads(2);
    duet_function *f = duet_function_new("turns", chains_turn_about, 3, 1, NULL);
    EXPECT_OK(duet_call(f, &out, in));
    assert_int_equal(duet_plan_count_forks(plan_of(f, in)), 1);
    EXPECT_OK(duet_check_trace(f, in));
    duet_function_free(f);
    duet_pool_set_threads(before);
}

/* ---- effects -----------------------------------------------------------------------------------
 */

static duet_status writes_between(duet_tensor **out, duet_tensor *const *in, void *variable) {
    duet_tensor *a = chain(in[0], in[1], 4);
    TRY(duet_assign_add(variable, duet_f32(1)));
    duet_tensor *b = chain(in[1], in[0], 4);
    out[0] = duet_add(a, duet_mul(b, duet_read(variable)));
    return out[0] ? DUET_OK : duet_error_code();
}

static void nothing_passes_a_step_with_an_effect(void **state) {
    (void)state;
    duet_tensor *variable = duet_variable_new("v", duet_f32(0));
    duet_tensor *in[] = {numbers(SHAPE(160, 160), 7), numbers(SHAPE(160, 160), 5)}, *out;
    duet_pool_set_threads(2);
    duet_function *f = duet_function_new("writes", writes_between, 2, 1, variable);
    EXPECT_OK(duet_call(f, &out, in));
    const duet_plan *plan = plan_of(f, in);
    assert_int_equal(duet_plan_count_forks(plan), 0);
    duet_function_free(f);
    duet_release(variable);
}

/* ---- errors ------------------------------------------------------------------------------------
 */

static duet_status infer_same(duet_spec *out, const duet_op_call *call) {
    *out = *call->in[0];
    return DUET_OK;
}

static duet_status run_grumpy(const duet_kernel *kernel) {
    float x = *(const float *)kernel->in[0].data;
    if (x == -9) { /* as a sub-graph does, which knows better where */
        duet_status status = duet_fail(DUET_STATUS_ARGUMENT, "grumpy: inside");
        duet_fail_at("inside.c", 9);
        return status;
    }
    CHECK(x >= 0, DUET_STATUS_ARGUMENT, "grumpy: expected no negative number, got %g", (double)x);
    memcpy(kernel->out[0].data, kernel->in[0].data, duet_spec_bytes(kernel->in[0].spec));
    return DUET_OK;
}

static duet_cost costs_much(const duet_op_call *call, const duet_spec *out) {
    (void)call;
    (void)out;
    return (duet_cost){1e8, 0};
}

static const duet_op duet_op_grumpy = {
    .name = "grumpy",
    .doc = "x, or a failure where it begins with a negative number",
    .n_in = 1,
    .n_out = 1,
    .in_names = {"x"},
    .infer = infer_same,
    .run = run_grumpy,
    .cost = costs_much,
};

static duet_tensor *grumpy(duet_tensor *x, int line) {
    return duet_here(duet_apply1(&duet_op_grumpy, x), "model.c", line);
}

static duet_status grumpy_branches(duet_tensor **out, duet_tensor *const *in, void *unused) {
    (void)unused;
    duet_tensor *a = grumpy(in[0], 11), *b = grumpy(in[1], 22);
    out[0] = duet_add(duet_exp(a), duet_neg(b));
    return out[0] ? DUET_OK : duet_error_code();
}

static void a_failing_branch_says_where(void **state) {
    (void)state;
    static const struct {
        float a, b;
        const char *message;
    } cases[] = {{1, 1, NULL},
                 {1, -2, "grumpy: expected no negative number, got -2 (at model.c:22)"},
                 {-3, 1, "grumpy: expected no negative number, got -3 (at model.c:11)"},
                 {-4, -5, "grumpy: expected no negative number, got -4 (at model.c:11)"},
                 {1, -9, "grumpy: inside (at inside.c:9)"},
                 {-9, 1, "grumpy: inside (at inside.c:9)"},
                 {2, 2, NULL}};
    duet_pool_set_threads(2);
    duet_function *f = duet_function_new("grumpy", grumpy_branches, 2, 1, NULL);
    for (int i = 0; i < LENGTH(cases); i++) {
        duet_tensor *in[] = {duet_f32(cases[i].a), duet_f32(cases[i].b)}, *out;
        duet_status status = duet_call(f, &out, in);
        assert_int_equal(duet_plan_count_forks(plan_of(f, in)), 1);
        assert_int_equal(status, cases[i].message ? DUET_STATUS_ARGUMENT : DUET_OK);
        if (!cases[i].message) continue;
        assert_null(out);
        assert_string_equal(duet_error_message(), cases[i].message);
        duet_error_clear();
    }
    duet_function_free(f);
}

/* ---- text --------------------------------------------------------------------------------------
 */

static void the_printed_plan_shows_branches(void **state) {
    (void)state;
    duet_tensor *in[] = {duet_f32(1), duet_f32(2)};
    duet_pool_set_threads(2);
    duet_function *f = duet_function_new("grumpy", grumpy_branches, 2, 1, NULL);
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    duet_plan_print(file, plan_of(f, in));
    fclose(file);
    assert_non_null(strstr(text, ", 1 fork;"));
    assert_non_null(strstr(text, "     0a "));
    assert_non_null(strstr(text, "     1b "));
    free(text);
    duet_function_free(f);
}

int main(void) {
    setenv("DUET_VERIFY", "1", 1);
    duet_op_register(&duet_op_grumpy);
    const struct CMUnitTest tests[] = {
        TEST(two_chains_of_products_run_side_by_side),
        TEST(short_chains_share_a_branch_and_forks_follow_each_other),
        TEST(small_graphs_do_not_fork),
        TEST(only_what_balances_runs_side_by_side),
        TEST(a_function_whose_steps_moved_is_still_what_was_traced),
        TEST(nothing_passes_a_step_with_an_effect),
        TEST(a_failing_branch_says_where),
        TEST(the_printed_plan_shows_branches),
    };
    return cmocka_run_group_tests_name("forks", tests, NULL, NULL);
}
