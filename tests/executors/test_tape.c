/* Gradients: shapes, shared values, tapes that nest or are used again, second order, depth. Most
 * cases are public reports of systems that got them wrong; each says which. */
#include "expect.h"

#include <pthread.h>

/* d sum(y) / d x for y = body(x): op by op. */
static duet_tensor *gradient_of(duet_tensor *(*body)(duet_tensor *), duet_tensor *x) {
    duet_tensor *grad = NULL;
    duet_tape *tape = duet_tape_new(false);
    EXPECT_OK(duet_tape_watch(tape, x));
    EXPECT_OK(duet_gradient(&grad, tape, body(x), &x, 1));
    duet_tape_free(tape);
    return grad;
}

/* The same inside a function, so that forward and backward are one graph. `user`: the body. */
static duet_status gradient_body(duet_tensor **out, duet_tensor *const *in, void *user) {
    duet_tape *tape = duet_tape_new(false);
    duet_status status = duet_tape_watch(tape, in[0]);
    duet_tensor *y = ((duet_tensor * (*)(duet_tensor *)) user)(in[0]);
    if (status == DUET_OK) status = duet_gradient(out, tape, y, in, 1);
    duet_tape_free(tape);
    return status;
}

static duet_tensor *gradient_in_graph(duet_tensor *(*body)(duet_tensor *), duet_tensor *x) {
    duet_function *f = duet_function_new("gradient", gradient_body, 1, 1, (void *)body);
    duet_tensor *grad = duet_call_unary(f, x);
    EXPECT_SAME(grad, duet_call_unary(f, x)); /* replayed */
    duet_function_free(f);
    return grad;
}

/* ---- shapes --------------------------------------------------------------------------------- */

/* Gradients of sum(body(x, y)) by both, op by op or as one graph. `user`: the body. */
static duet_status two_gradients(duet_tensor **out, duet_tensor *const *in, void *user) {
    duet_tape *tape = duet_tape_new(false);
    duet_status status = duet_tape_watch(tape, in[0]);
    if (status == DUET_OK) status = duet_tape_watch(tape, in[1]);
    duet_tensor *y = ((duet_tensor * (*)(duet_tensor *, duet_tensor *)) user)(in[0], in[1]);
    if (status == DUET_OK)
        status = duet_gradient(out, tape, duet_sum(y, DUET_NO_AXES, false), in, 2);
    duet_tape_free(tape);
    return status;
}

static void gradients_in_both(duet_tensor **grads,
                              duet_tensor *(*body)(duet_tensor *, duet_tensor *), duet_tensor *x,
                              duet_tensor *y) {
    duet_tensor *in[] = {x, y}, *replayed[2];
    duet_function *f = duet_function_new("gradients", two_gradients, 2, 2, (void *)body);
    EXPECT_OK(two_gradients(grads, in, (void *)body));
    for (int call = 0; call < 2; call++) {
        EXPECT_OK(duet_call(f, replayed, in));
        for (int i = 0; i < 2; i++) EXPECT_SAME(replayed[i], grads[i]);
    }
    duet_function_free(f);
}

static duet_tensor *sum_of(duet_tensor *x, duet_tensor *y) { return duet_add(x, y); }
static duet_tensor *product_of(duet_tensor *x, duet_tensor *y) { return duet_mul(x, y); }
static duet_tensor *transposed_product(duet_tensor *x, duet_tensor *y) {
    return duet_matmul_flags(x, y, true, false);
}

/* nd4j #2424 */
static void a_broadcast_operand_gets_its_own_shape(void **state) {
    (void)state;
    duet_tensor *grads[2];
    gradients_in_both(grads, sum_of, duet_zeros(SHAPE(3, 4), DUET_F32),
                      duet_zeros(SHAPE(1, 4), DUET_F32));
    EXPECT_SHAPE(grads[0], "[3,4]");
    EXPECT_ALL(grads[0], 1);
    EXPECT_SHAPE(grads[1], "[1,4]");
    EXPECT(grads[1], 3, 3, 3, 3);
}

static void a_broadcast_factor_gets_its_own_shape(void **state) {
    (void)state;
    duet_tensor *grads[2];
    gradients_in_both(grads, product_of, duet_full(SHAPE(2, 1, 4, 64), DUET_F32, 2),
                      duet_full(SHAPE(2, 1, 4, 1), DUET_F32, 3));
    EXPECT_SHAPE(grads[0], "[2,1,4,64]");
    EXPECT_ALL(grads[0], 3);
    EXPECT_SHAPE(grads[1], "[2,1,4,1]");
    EXPECT_ALL(grads[1], 128); /* 64 twos */
}

/* burn #5304: A' ones, each of A's elements used twice; in ones row i the sum of A's row i. */
static void a_transposed_left_operand_has_its_gradient(void **state) {
    (void)state;
    duet_tensor *a = F32(SHAPE(2, 3), .7f, -1.3f, 2.1f, -.4f, 1.9f, -3.2f), *grads[2];
    duet_tensor *ones = duet_full(SHAPE(2, 2), DUET_F32, 1);
    static const double product[] = {.3, .3, .6, .6, -1.1, -1.1}, rows[] = {1.5, 1.5, -1.7, -1.7};
    duet_function *f = duet_function_binary("product", transposed_product);
    duet_tensor *y = duet_call_binary(f, a, ones);
    EXPECT_SAME(y, transposed_product(a, ones));
    for (int i = 0; i < 6; i++) assert_true(fabs(duet_item(y, i) - product[i]) < 5e-7);
    duet_function_free(f);
    gradients_in_both(grads, transposed_product, a, ones);
    EXPECT_SHAPE(grads[0], "[2,3]");
    EXPECT_ALL(grads[0], 2);
    for (int i = 0; i < 4; i++) assert_true(fabs(duet_item(grads[1], i) - rows[i]) < 5e-7);
}

/* rust-autograd #38 */
static duet_tensor *sum_of_ones_times(duet_tensor *v) {
    duet_tensor *ones = duet_full(SHAPE(2), DUET_F32, 1);
    return duet_sum(duet_mul(ones, v), DUET_NO_AXES, false);
}

static void a_scalar_gets_a_scalar(void **state) {
    (void)state;
    duet_tensor *grad = gradient_of(sum_of_ones_times, duet_f32(5));
    EXPECT_SHAPE(grad, "[]");
    EXPECT(grad, 2);
    EXPECT_SAME(grad, gradient_in_graph(sum_of_ones_times, duet_f32(5)));
}

/* ---- values that are used more than once ------------------------------------------------------
 */

/* TrenTorch PR#182 */
static duet_tensor *two_branches(duet_tensor *x) {
    duet_tensor *y = duet_mul(x, duet_f32(3));
    return duet_add(duet_mul(y, duet_f32(2)), duet_mul(y, duet_f32(5)));
}

static void a_shared_value_gathers_its_branches(void **state) {
    (void)state;
    EXPECT(gradient_of(two_branches, duet_f32(2)), 21);
    EXPECT(gradient_in_graph(two_branches, duet_f32(2)), 21);
}

/* neon #169 */
static duet_tensor *times_its_transpose(duet_tensor *x) {
    return duet_matmul(x, duet_transpose(x, (duet_ints){0}));
}

static void a_product_with_its_own_transpose(void **state) {
    (void)state;
    EXPECT(gradient_of(times_its_transpose, F32(SHAPE(1, 1), 1)), 2);
    EXPECT(gradient_in_graph(times_its_transpose, F32(SHAPE(1, 1), 1)), 2);
}

/* mxnet #16708 */
static int uses;
static duet_tensor *used_often(duet_tensor *x) {
    duet_tensor *sum = x;
    for (int i = 1; i < uses; i++) sum = duet_add(sum, x);
    return sum;
}

static void any_number_of_uses_is_counted(void **state) {
    (void)state;
    for (uses = 1; uses <= 24; uses++) {
        EXPECT(gradient_of(used_often, duet_f32(0.5f)), uses);
        EXPECT(gradient_in_graph(used_often, duet_f32(0.5f)), uses);
    }
}

/* ---- a tape's life ------------------------------------------------------------------------------
 */

static duet_status asked_twice(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    duet_tape *tape = duet_tape_new(true);
    duet_status status = duet_tape_watch(tape, in[0]);
    duet_tensor *y = duet_mul(duet_square(in[0]), in[0]);
    for (int i = 0; i < 2 && status == DUET_OK; i++)
        status = duet_gradient(&out[i], tape, y, in, 1);
    duet_tape_free(tape);
    return status;
}

/* Calls the body, and a function of it twice. */
static void expect_two_results(duet_callback body, double first, double second) {
    duet_tensor *x = duet_f32(3), *out[2];
    duet_function *f = duet_function_new("body", body, 1, 2, NULL);
    for (int call = 0; call < 3; call++) {
        EXPECT_OK(call ? duet_call(f, out, &x) : body(out, &x, NULL));
        EXPECT(out[0], first);
        EXPECT(out[1], second);
    }
    duet_function_free(f);
}

/* micrograd PR#102 */
static void a_persistent_tape_answers_twice_alike(void **state) {
    (void)state;
    expect_two_results(asked_twice, 27, 27);
}

static duet_status used_up(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    duet_tensor *none = in[0];
    duet_tape *tape = duet_tape_new(false);
    duet_status status = duet_tape_watch(tape, in[0]);
    duet_tensor *y = duet_square(in[0]);
    if (status == DUET_OK) status = duet_gradient(out, tape, y, in, 1);
    out[1] = duet_f32(duet_gradient(&none, tape, y, in, 1) == DUET_STATUS_STATE && !none);
    EXPECT_ERROR(DUET_STATUS_STATE, "used up by an earlier call; make it persistent");
    duet_tape_free(tape);
    return status;
}

/* tensorflow #31265 */
static void a_tape_is_used_up_by_one_gradient(void **state) {
    (void)state;
    expect_two_results(used_up, 6, true);
}

static duet_status watched_later(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    duet_tensor *other = duet_neg(in[0]), *grads[2];
    duet_tape *tape = duet_tape_new(true);
    TRY(duet_gradient(grads, tape, duet_square(in[0]), in, 1));
    assert_null(grads[0]); /* not watched: no error */
    assert_int_equal(duet_error_code(), DUET_OK);
    TRY(duet_tape_watch(tape, in[0]));
    TRY(duet_tape_watch(tape, other));
    TRY(duet_gradient(grads, tape, duet_square(in[0]), (duet_tensor *[]){in[0], other}, 2));
    out[0] = grads[0];
    out[1] = duet_f32(grads[1] == NULL); /* watched, but the target does not depend on it */
    duet_tape_free(tape);
    return DUET_OK;
}

static void only_what_is_watched_has_a_gradient(void **state) {
    (void)state;
    expect_two_results(watched_later, 6, true);
}

static void variables_are_watched_by_themselves(void **state) {
    (void)state;
    duet_tensor *v = duet_variable_new("v", duet_f32(3)), *grad;
    duet_tape *tape = duet_tape_new(false);
    EXPECT_OK(duet_gradient(&grad, tape, duet_square(v), &v, 1));
    EXPECT(grad, 6);
    duet_tape_free(tape);
    duet_release(v);
}

static void a_variable_is_differentiated_at_the_value_that_was_read(void **state) {
    (void)state;
    duet_tensor *v = duet_variable_new("v", duet_f32(3)), *grad;
    duet_tape *tape = duet_tape_new(false);
    duet_tensor *y = duet_square(v);
    EXPECT_OK(duet_assign(v, duet_f32(100)));
    EXPECT_OK(duet_gradient(&grad, tape, y, &v, 1));
    EXPECT(grad, 6);
    duet_tape_free(tape);
    duet_release(v);
}

/* What was read for the tape goes with the tape's record, so the variable's data is its own again.
 */
static void an_update_after_the_gradient_copies_nothing(void **state) {
    (void)state;
    duet_tensor *v = duet_variable_new("v", duet_f32(3)), *grad;
    const void *data = v->data;
    duet_tape *tape = duet_tape_new(false);
    duet_tensor *y = duet_square(v);
    EXPECT_OK(duet_gradient(&grad, tape, y, &v, 1));
    EXPECT_OK(duet_sgd(v, grad, duet_f32(0.5f)));
    assert_ptr_equal(v->data, data);
    EXPECT(v, 0);
    EXPECT(y, 9);
    duet_tape_free(tape);
    duet_release(v);
}

/* The same where a variable is read twice, and after a call that failed with it in its hands. */
static void a_failed_call_lets_go_of_what_it_read(void **state) {
    (void)state;
    duet_tensor *v = duet_variable_new("v", duet_zeros(DUET_SHAPE(2), DUET_F32)), *grad;
    const void *data = v->data;
    duet_tape *tape = duet_tape_new(false);
    assert_null(duet_add(v, duet_zeros(DUET_SHAPE(3), DUET_F32)));
    EXPECT_ERROR(DUET_STATUS_SHAPE, "add: shapes do not broadcast");
    EXPECT_OK(duet_gradient(&grad, tape, duet_mul(v, v), &v, 1));
    EXPECT_OK(duet_assign_add(v, grad));
    assert_ptr_equal(v->data, data);
    duet_tape_free(tape);
    duet_release(v);
}

static void a_stopped_tape_records_no_more(void **state) {
    (void)state;
    duet_tensor *x = duet_f32(3), *grad;
    duet_tape *tape = duet_tape_new(true);
    EXPECT_OK(duet_tape_watch(tape, x));
    duet_tensor *y = duet_square(x);
    duet_tape_stop(tape);
    duet_tensor *z = duet_square(y);
    EXPECT_OK(duet_gradient(&grad, tape, y, &x, 1));
    EXPECT(grad, 6);
    EXPECT_OK(duet_gradient(&grad, tape, z, &x, 1));
    assert_null(grad);
    duet_tape_free(tape);
}

static void a_tape_whose_turn_it_is_not_is_left_alone(void **state) {
    (void)state;
    duet_tensor *x = duet_f32(3), *grad; /* the outer tape is asked while the inner one records */
    duet_tape *outer = duet_tape_new(false), *inner = duet_tape_new(false);
    EXPECT_OK(duet_tape_watch(outer, x));
    EXPECT_OK(duet_tape_watch(inner, x));
    duet_tensor *y = duet_square(x);
    EXPECT_OK(duet_gradient(&grad, outer, y, &x, 1));
    EXPECT(grad, 6);
    duet_tape_free(outer);
    EXPECT_OK(duet_gradient(&grad, inner, y, &x, 1));
    EXPECT(grad, 6);
    duet_tape_free(inner);
}

static void bad_requests_say_what_is_wrong(void **state) {
    (void)state;
    duet_tensor *grad, *x = duet_f32(1), *whole = duet_i32(1);
    duet_tape *tape = duet_tape_new(true);
    assert_int_equal(duet_tape_watch(tape, whole), DUET_STATUS_DTYPE);
    EXPECT_ERROR(DUET_STATUS_DTYPE, "tape_watch: expected f32 or f64, got i32[]");
    assert_int_equal(duet_gradient(&grad, tape, whole, &x, 1), DUET_STATUS_DTYPE);
    EXPECT_ERROR(DUET_STATUS_DTYPE, "gradient: target: expected f32 or f64, got i32[]");
    assert_int_equal(duet_gradient(&grad, tape, NULL, &x, 1), DUET_STATUS_ARGUMENT);
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "gradient: target is NULL");
    assert_int_equal(duet_gradient(&grad, tape, x, (duet_tensor *[]){NULL}, 1),
                     DUET_STATUS_ARGUMENT);
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "gradient: source 0 is NULL");
    assert_int_equal(duet_gradient(&grad, NULL, x, &x, 1), DUET_STATUS_ARGUMENT);
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "gradient: tape is NULL");
    assert_int_equal(duet_gradient(&grad, tape, x, &x, -1), DUET_STATUS_ARGUMENT);
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "gradient: expected 0 sources or more, got -1");
    assert_int_equal(duet_tape_watch(tape, NULL), DUET_STATUS_ARGUMENT);
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "tape_watch: x is NULL");
    duet_tape_free(tape);
    duet_tape_free(NULL);
}

static void there_are_as_many_tapes_as_bits(void **state) {
    (void)state;
    duet_tape *tapes[64];
    for (int i = 0; i < 64; i++) assert_non_null(tapes[i] = duet_tape_new(false));
    assert_null(duet_tape_new(false));
    EXPECT_ERROR(DUET_STATUS_STATE, "there are 64 tapes already");
    for (int i = 0; i < 64; i++) duet_tape_free(tapes[i]);
}

/* ---- second order -------------------------------------------------------------------------------
 */

static duet_tensor *squared(duet_tensor *x) { return duet_mul(x, x); }
static duet_tensor *cubed(duet_tensor *x) { return duet_mul(duet_mul(x, x), x); }
static duet_tensor *gradient_of_squared(duet_tensor *x) { return gradient_of(squared, x); }
static duet_tensor *gradient_of_cubed(duet_tensor *x) { return gradient_of(cubed, x); }

/* tensorflow #31519 */
static void second_order_by_nested_tapes(void **state) {
    (void)state;
    EXPECT(gradient_of(squared, duet_f32(5)), 10);
    EXPECT(gradient_of(gradient_of_squared, duet_f32(5)), 2);
    EXPECT(gradient_of(cubed, duet_f32(1)), 3);
    EXPECT(gradient_of(gradient_of_cubed, duet_f32(1)), 6);
}

static void second_order_inside_a_function(void **state) {
    (void)state;
    EXPECT(gradient_in_graph(gradient_of_squared, duet_f32(5)), 2);
    EXPECT(gradient_in_graph(gradient_of_cubed, duet_f32(1)), 6);
}

static duet_function *called;
static duet_tensor *through_function(duet_tensor *x) { return duet_call_unary(called, x); }
static duet_tensor *gradient_through_function(duet_tensor *x) {
    return gradient_of(through_function, x);
}

static void second_order_through_a_function(void **state) {
    (void)state;
    called = duet_function_unary("cubed", cubed);
    EXPECT(duet_call_unary(called, duet_f32(2)), 8); /* it has a plan before tapes come */
    EXPECT(gradient_of(through_function, duet_f32(2)), 12);
    EXPECT(gradient_of(gradient_through_function, duet_f32(1)), 6);
    EXPECT(gradient_in_graph(gradient_through_function, duet_f32(1)), 6);
    duet_function_free(called);
}

/* ---- points where a slope jumps or is infinite ------------------------------------------------
 */

static duet_tensor *maximum_with_zero(duet_tensor *x) { return duet_maximum(x, duet_f32(0)); }

/* jax #37821 */
static void the_slope_of_relu_at_zero_is_zero(void **state) {
    (void)state;
    duet_tensor *x = F32(SHAPE(4), 0.0f, -0.0f, 1, -1);
    EXPECT(gradient_of(duet_relu, x), 0, 0, 1, 0);
    EXPECT(gradient_in_graph(duet_relu, x), 0, 0, 1, 0);
    EXPECT(gradient_of(maximum_with_zero, x), 0, 0, 1, 0);
    EXPECT(gradient_in_graph(maximum_with_zero, x), 0, 0, 1, 0);
}

/* pytorch #2421: 0 times sqrt's infinite slope; ops_elementwise.h documents it at `where`. */
static duet_tensor *masked_sqrt(duet_tensor *x) {
    return duet_where(duet_greater(x, duet_f32(0.5f)), duet_sqrt(x), duet_f32(1));
}

static void a_masked_branch_of_infinite_slope_is_nan_in_both(void **state) {
    (void)state;
    duet_tensor *x = F32(SHAPE(3), 0, 4, 0.25f);
    EXPECT(masked_sqrt(x), 1, 2, 1);
    EXPECT(gradient_of(masked_sqrt, x), NAN, 0.25, 0);
    EXPECT_SAME(gradient_of(masked_sqrt, x), gradient_in_graph(masked_sqrt, x));
}

/* ---- depth
 * --------------------------------------------------------------------------------------- */

enum { SMALL_STACK = 256 << 10 };

static int chain_length;
static duet_tensor *chain(duet_tensor *x) {
    duet_tensor *step = duet_f32(0.25f);
    for (int i = 0; i < chain_length; i++) x = duet_add(x, step);
    return x;
}

static void *deep_and_eager(void *result) {
    duet_scope_open();
    duet_tensor *grad = gradient_of(chain, duet_f32(1));
    *(double *)result = duet_item(grad, 0);
    duet_scope_close(NULL);
    return NULL;
}

static void *deep_and_traced(void *result) {
    duet_scope_open();
    duet_function *f = duet_function_new("gradient", gradient_body, 1, 1, (void *)chain);
    *(double *)result = duet_item(duet_call_unary(f, duet_f32(1)), 0);
    duet_function_free(f);
    duet_scope_close(NULL);
    return NULL;
}

static double on_a_small_stack(void *(*work)(void *), int length) {
    double result = NAN;
    pthread_t thread;
    pthread_attr_t attributes;
    chain_length = length;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, work, &result), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    return result;
}

/* pytorch #5534: forward, backward and free of a long chain, without recursion. */
static void a_deep_chain_needs_no_stack(void **state) {
    (void)state;
    assert_true(on_a_small_stack(deep_and_eager, 200000) == 1);
    assert_true(on_a_small_stack(deep_and_traced, 200000) == 1);
}

int main(void) {
    setenv("DUET_VERIFY", "1", 1);
    const struct CMUnitTest tests[] = {
        TEST(a_broadcast_operand_gets_its_own_shape),
        TEST(a_broadcast_factor_gets_its_own_shape),
        TEST(a_transposed_left_operand_has_its_gradient),
        TEST(a_scalar_gets_a_scalar),
        TEST(a_shared_value_gathers_its_branches),
        TEST(a_product_with_its_own_transpose),
        TEST(any_number_of_uses_is_counted),
        TEST(a_persistent_tape_answers_twice_alike),
        TEST(a_tape_is_used_up_by_one_gradient),
        TEST(only_what_is_watched_has_a_gradient),
        TEST(variables_are_watched_by_themselves),
        TEST(a_variable_is_differentiated_at_the_value_that_was_read),
        TEST(an_update_after_the_gradient_copies_nothing),
        TEST(a_failed_call_lets_go_of_what_it_read),
        TEST(a_stopped_tape_records_no_more),
        TEST(a_tape_whose_turn_it_is_not_is_left_alone),
        TEST(bad_requests_say_what_is_wrong),
        TEST(there_are_as_many_tapes_as_bits),
        TEST(second_order_by_nested_tapes),
        TEST(second_order_inside_a_function),
        TEST(second_order_through_a_function),
        TEST(the_slope_of_relu_at_zero_is_zero),
        TEST(a_masked_branch_of_infinite_slope_is_nan_in_both),
        TEST(a_deep_chain_needs_no_stack),
    };
    return cmocka_run_group_tests_name("tape", tests, NULL, NULL);
}
