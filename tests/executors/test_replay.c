/* Replays: whose results are whose, in which order variables are read and written, and what is done
 * with freed memory, which this program fills with NaN. Most cases are public reports of systems
 * that got them wrong; each says which. */
#include "expect.h"
#include "train_step.h"

static duet_tensor *plus_one(duet_tensor *x) { return duet_add(x, duet_f32(1)); }

/* ---- results ----------------------------------------------------------------------------------
 */

/* pytorch #170604, tinygrad #7020 */
static void later_calls_leave_earlier_results_alone(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("plus_one", plus_one);
    duet_tensor *results[3];
    for (int i = 0; i < 3; i++) results[i] = duet_call_unary(f, duet_f32((float)(2 * i + 1)));
    for (int i = 0; i < 3; i++) EXPECT(results[i], 2 * i + 2);
    duet_function_free(f);
    for (int i = 0; i < 3; i++) EXPECT(results[i], 2 * i + 2); /* nor does the function's end */
}

/* pytorch #152887 */
static void a_result_may_be_fed_back(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("plus_one", plus_one);
    duet_tensor *y = duet_call_unary(f, duet_f32(1));
    duet_tensor *z = duet_call_unary(f, y);
    EXPECT(y, 2);
    EXPECT(z, 3);
    EXPECT(y, 2);
    duet_function_free(f);
}

static duet_status same_thing_thrice(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = in[0];
    out[1] = out[2] = duet_neg(in[0]);
    out[3] = duet_f32(7);
    return DUET_OK;
}

static void results_may_be_inputs_constants_or_each_other(void **state) {
    (void)state;
    duet_function *f = duet_function_new("thrice", same_thing_thrice, 1, 4, NULL);
    duet_tensor *x = duet_f32(5), *out[4];
    for (int i = 0; i < 3; i++) {
        EXPECT_OK(duet_call(f, out, &x));
        double expected[] = {5, -5, -5, 7};
        for (int j = 0; j < 4; j++) EXPECT(out[j], expected[j]);
    }
    duet_function_free(f);
    EXPECT(out[3], 7);
}

/* llama.cpp PR#25729 */
static duet_status early_view(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    duet_tensor *x = duet_exp(in[0]);
    out[0] = duet_reshape(x, SHAPE(6));
    for (int i = 0; i < 20; i++) x = duet_softmax(duet_mul(x, duet_f32(0.5f)), 1); /* not fusible */
    out[1] = x;
    return DUET_OK;
}

static void a_result_that_is_a_view_stays_whole(void **state) {
    (void)state;
    duet_function *f = duet_function_new("early_view", early_view, 1, 2, NULL);
    duet_tensor *x = F32(SHAPE(2, 3), 0, 1, 2, 3, 4, 5), *eager[2], *graph[2];
    EXPECT_OK(early_view(eager, &x, NULL));
    for (int i = 0; i < 3; i++) {
        EXPECT_OK(duet_call(f, graph, &x));
        EXPECT_SAME(graph[0], duet_reshape(duet_exp(x), SHAPE(6)));
        EXPECT_SAME(graph[1], eager[1]);
    }
    duet_function_free(f);
}

/* ---- variables, in program order
 * ----------------------------------------------------------------- */

static duet_tensor *counter;

static duet_status old_and_new(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = duet_read(counter);
    TRY(duet_assign_add(counter, in[0]));
    out[1] = duet_read(counter);
    return DUET_OK;
}

/* The old value is looked at through a view and a sum after the write. */
static duet_status old_through_a_view(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    duet_tensor *old = duet_reshape(duet_read(counter), SHAPE(1));
    TRY(duet_assign_add(counter, in[0]));
    out[0] = duet_sum(old, DUET_NO_AXES, false);
    out[1] = duet_sum(duet_reshape(counter, SHAPE(1)), DUET_NO_AXES, false);
    return DUET_OK;
}

static void expect_old_and_new(duet_callback body, bool graph) {
    duet_tensor *one = duet_f32(1), *out[2], *first_old = NULL;
    counter = duet_variable_new("counter", duet_f32(0));
    duet_function *f = duet_function_new("old_and_new", body, 1, 2, NULL);
    for (int i = 0; i < 3; i++) {
        EXPECT_OK(graph ? duet_call(f, out, &one) : body(out, &one, NULL));
        EXPECT(out[0], i);
        EXPECT(out[1], i + 1);
        if (i == 0) first_old = out[0];
    }
    EXPECT(first_old, 0);
    duet_function_free(f);
    duet_release(counter);
}

/* tensorflow #4663 */
static void a_value_that_was_read_is_the_old_one(void **state) {
    (void)state;
    for (int graph = 0; graph < 2; graph++) {
        expect_old_and_new(old_and_new, graph);
        expect_old_and_new(old_through_a_view, graph);
    }
}

static duet_tensor *adding_to_counter(duet_tensor *x) {
    return duet_assign_add(counter, x) == DUET_OK ? duet_neg(x) : NULL;
}

/* tinygrad's list of jit footguns */
static void a_variable_counts_calls(void **state) {
    (void)state;
    for (int graph = 0; graph < 2; graph++) {
        counter = duet_variable_new("counter", duet_f32(0));
        duet_function *f = duet_function_unary("adding", adding_to_counter);
        for (int i = 1; i <= 5; i++) {
            duet_tensor *one = duet_f32(1);
            EXPECT(graph ? duet_call_unary(f, one) : adding_to_counter(one), -1);
            EXPECT(duet_read(counter), i);
        }
        duet_function_free(f);
        duet_release(counter);
    }
}

static duet_tensor *doubling_counter(duet_tensor *x) {
    if (duet_assign(counter, duet_mul(counter, x)) != DUET_OK) return NULL;
    return duet_read(counter);
}

/* ggml PR#999 */
static void two_functions_may_share_a_variable(void **state) {
    (void)state;
    counter = duet_variable_new("counter", duet_f32(1));
    duet_function *add = duet_function_unary("add", adding_to_counter);
    duet_function *twice = duet_function_unary("twice", doubling_counter);
    double expected = 1;
    for (int i = 0; i < 6; i++) {
        duet_call_unary(add, duet_f32(1));
        EXPECT(duet_call_unary(twice, duet_f32(2)), expected = 2 * (expected + 1));
        EXPECT_OK(duet_assign_add(counter, duet_f32(0.5f))); /* and the eager executor, too */
        expected += 0.5;
    }
    EXPECT(duet_read(counter), expected);
    duet_function_free(add);
    duet_function_free(twice);
    duet_release(counter);
}

static duet_status swapping(duet_tensor **out, duet_tensor *const *in, void *user) {
    duet_tensor **v = user; /* two variables */
    duet_tensor *a = duet_read(v[0]), *b = duet_read(v[1]);
    TRY(duet_assign(v[0], b));
    TRY(duet_assign(v[1], a));
    out[0] = duet_sub(duet_mul(v[0], in[0]), v[1]);
    return DUET_OK;
}

static void two_variables_may_change_places(void **state) {
    (void)state;
    duet_tensor *v[] = {duet_variable_new("a", duet_f32(2)), duet_variable_new("b", duet_f32(3))};
    duet_tensor *ten = duet_f32(10), *out;
    duet_function *f = duet_function_new("swapping", swapping, 1, 1, v);
    for (int i = 0; i < 4; i++) {
        EXPECT_OK(duet_call(f, &out, &ten));
        EXPECT(out, i % 2 ? 17 : 28);
        EXPECT(duet_read(v[0]), i % 2 ? 2 : 3);
    }
    duet_function_free(f);
    duet_release(v[0]);
    duet_release(v[1]);
}

static duet_tensor *assigning_itself(duet_tensor *x) {
    if (duet_assign_add(counter, counter) != DUET_OK) return NULL;
    return duet_add(x, counter);
}

static void a_variable_may_be_added_to_itself(void **state) {
    (void)state;
    counter = duet_variable_new("counter", F32(SHAPE(2), 1, 3));
    duet_function *f = duet_function_unary("itself", assigning_itself);
    for (int i = 2; i <= 16; i *= 2) EXPECT(duet_call_unary(f, duet_f32(0)), i, 3 * i);
    duet_function_free(f);
    duet_release(counter);
}

/* variable -= lr (variable w): a product whose result lies over its own operand. */
static duet_status product_over_itself(duet_tensor **out, duet_tensor *const *in, void *user) {
    extern const duet_op duet_op_matmul_sgd;
    duet_tensor *variable = user, *operands[] = {variable, in[0], variable, in[1]};
    TRY(duet_dispatch(NULL, &duet_op_matmul_sgd, NULL, operands, 4));
    out[0] = duet_read(variable);
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_tensor *ramp(duet_shape shape, int step) {
    duet_tensor *x = duet_zeros(shape, DUET_F32);
    for (int64_t i = 0; i < duet_tensor_count(x); i++)
        ((float *)x->data)[i] = (float)((i * step) % 31 - 15) / 64;
    return x;
}

static void a_product_may_be_taken_from_its_own_operand(void **state) {
    (void)state;
    duet_tensor *results[2], *w = ramp(SHAPE(64, 64), 7), *lr = duet_f32(0.5f);
    for (int graph = 0; graph <= 1; graph++) {
        duet_tensor *v = duet_variable_new("v", ramp(SHAPE(64, 64), 5));
        duet_function *f = duet_function_new("over", product_over_itself, 2, 1, v);
        duet_tensor *in[] = {w, lr};
        EXPECT_OK(graph ? duet_call(f, &results[1], in) : product_over_itself(results, in, v));
        duet_function_free(f);
        duet_release(v);
    }
    EXPECT_SAME(results[0], results[1]);
    duet_tensor *v = ramp(SHAPE(64, 64), 5), *wanted = duet_sub(v, duet_mul(duet_matmul(v, w), lr));
    for (int64_t i = 0; i < duet_tensor_count(wanted); i++)
        assert_true(fabs(duet_item(results[0], i) - duet_item(wanted, i)) < 1e-5);
}

/* tinygrad PR#16620 */
static void weights_that_nothing_returns_are_still_written(void **state) {
    (void)state;
    train_network eager, graph;
    duet_tensor *in[2], *loss;
    train_network_make(&eager);
    train_network_make(&graph);
    train_batch(in);
    duet_function *f = duet_function_new("train_step", train_step, 2, 1, &graph);
    for (int step = 0; step < 5; step++) {
        EXPECT_OK(train_step(&loss, in, &eager));
        EXPECT_SAME(duet_call_binary(f, in[0], in[1]), loss);
        for (int i = 0; i < TRAIN_VARIABLES; i++)
            EXPECT_SAME(eager.variables[i], graph.variables[i]);
    }
    duet_function_free(f);
    train_network_release(&eager);
    train_network_release(&graph);
}

/* ---- memory -------------------------------------------------------------------------------------
 */

/* A web of values with overlapping lives, of several sizes, that fusion cannot dissolve. */
static duet_tensor *web(duet_tensor *x) {
    duet_tensor *a = duet_matmul(x, duet_transpose(x, (duet_ints){0}));              /* [5,5] */
    duet_tensor *b = duet_softmax(duet_matmul(a, x), 1);                             /* [5,7] */
    duet_tensor *c = duet_concat((duet_tensor *[]){b, x, b}, 3, 0);                  /* [15,7] */
    duet_tensor *d = duet_sum(duet_exp(duet_neg(c)), DUET_INTS(1), true);            /* [15,1] */
    duet_tensor *e = duet_matmul(duet_transpose(c, (duet_ints){0}), duet_div(c, d)); /* [7,7] */
    return duet_add(duet_matmul(b, e), duet_mean(x, DUET_INTS(0), true));            /* [5,7] */
}

/* onnxruntime #27768 */
static void ten_runs_give_the_same_bits(void **state) {
    (void)state;
    duet_tensor *x = duet_zeros(SHAPE(5, 7), DUET_F32);
    for (int i = 0; i < 35; i++) ((float *)x->data)[i] = (float)((i * 11) % 17) / 8 - 1;
    duet_tensor *expected = web(x);
    duet_function *f = duet_function_unary("web", web);
    for (int i = 0; i < 10; i++) EXPECT_SAME(duet_call_unary(f, x), expected);
    duet_function_free(f);
}

static duet_tensor *checked(duet_tensor *x) {
    return duet_neg(duet_check_numerics(duet_log(x), "log"));
}

static void a_run_that_fails_says_where_and_the_next_one_is_right(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("checked", checked);
    EXPECT(duet_call_unary(f, duet_f32(1)), -0.0);
    assert_null(duet_call_unary(f, duet_f32(0)));
    assert_non_null(strstr(duet_error_message(), "check_numerics"));
    EXPECT_ERROR(duet_error_code(), "test_replay.c:");
    EXPECT(duet_call_unary(f, duet_f32(1)), -0.0);
    duet_function_free(f);
}

static void a_steady_state_asks_the_system_for_nothing(void **state) {
    (void)state;
    train_network network;
    duet_tensor *in[2];
    train_network_make(&network);
    train_batch(in);
    duet_function *f = duet_function_new("train_step", train_step, 2, 1, &network);
    uint64_t allocs = 0;
    for (int i = 0; i < 50; i++) {
        if (i == 3) allocs = duet_memory_get_stats().system_allocs;
        duet_scope_open();
        assert_non_null(duet_call_binary(f, in[0], in[1]));
        duet_scope_close(NULL);
    }
    assert_int_equal(duet_memory_get_stats().system_allocs, allocs);
    duet_function_free(f);
    train_network_release(&network);
}

int main(void) {
    setenv("DUET_VERIFY", "1", 1);
    setenv("DUET_POISON", "1", 1);
    const struct CMUnitTest tests[] = {
        TEST(later_calls_leave_earlier_results_alone),
        TEST(a_result_may_be_fed_back),
        TEST(results_may_be_inputs_constants_or_each_other),
        TEST(a_result_that_is_a_view_stays_whole),
        TEST(a_value_that_was_read_is_the_old_one),
        TEST(a_variable_counts_calls),
        TEST(two_functions_may_share_a_variable),
        TEST(two_variables_may_change_places),
        TEST(a_variable_may_be_added_to_itself),
        TEST(a_product_may_be_taken_from_its_own_operand),
        TEST(weights_that_nothing_returns_are_still_written),
        TEST(ten_runs_give_the_same_bits),
        TEST(a_run_that_fails_says_where_and_the_next_one_is_right),
        TEST(a_steady_state_asks_the_system_for_nothing),
    };
    return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
