/* Which calls share a trace, which get one of their own, and what is said when there are too many.
 * Most cases are public reports of systems that got them wrong; each says which. */
#include "expect.h"

#include <malloc.h>

static duet_tensor *doubled(duet_tensor *x) { return duet_add(x, x); }
static duet_tensor *plus(duet_tensor *x, duet_tensor *y) { return duet_add(x, y); }

/* ---- what is part of a signature ---------------------------------------------------------------
 */

/* tensorflow #24726 */
static void a_literal_s_value_is_part_of_it_and_a_tensor_s_is_not(void **state) {
    (void)state;
    duet_function *literals = duet_function_unary("literals", doubled);
    duet_function *tensors = duet_function_unary("tensors", doubled);
    for (int i = 1; i <= 3; i++) {
        EXPECT(duet_call_unary(literals, duet_literal_i32(i)), 2 * i);
        EXPECT(duet_call_unary(tensors, duet_i32(i)), 2 * i);
    }
    assert_int_equal(duet_trace_count(literals), 3);
    assert_int_equal(duet_trace_count(tensors), 1);
    EXPECT(duet_call_unary(literals, duet_literal_i32(2)), 4); /* known */
    assert_int_equal(duet_trace_count(literals), 3);
    duet_function_free(literals);
    duet_function_free(tensors);
}

/* tensorflow #26311 */
static void data_is_no_part_of_it(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("doubled", doubled);
    for (int i = 0; i < 100; i++)
        EXPECT(duet_call_unary(f, F32(SHAPE(2), (float)i, (float)-i)), 2 * i, -2 * i);
    assert_int_equal(duet_trace_count(f), 1);
    assert_int_equal(duet_function_get_stats(f).calls, 100);
    duet_function_free(f);
}

static duet_tensor *itself(duet_tensor *x) { return x; }

/* jax #9273 */
static void one_true_and_one_point_zero_are_three(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("itself", itself);
    duet_tensor *whole = duet_call_unary(f, duet_literal_i32(1));
    duet_tensor *yes = duet_call_unary(f, duet_literal_bool(true));
    duet_tensor *real = duet_call_unary(f, duet_literal_f32(1));
    assert_int_equal(duet_trace_count(f), 3);
    assert_string_equal(DUET_SPEC_TEXT(&whole->spec), "i32[]");
    assert_string_equal(DUET_SPEC_TEXT(&yes->spec), "bool[]");
    assert_string_equal(DUET_SPEC_TEXT(&real->spec), "f32[]");
    duet_function_free(f);
}

static void zeros_of_both_signs_are_two_literals(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("itself", itself);
    EXPECT(duet_call_unary(f, duet_literal_f32(0.0f)), 0.0);
    EXPECT(duet_call_unary(f, duet_literal_f32(-0.0f)), -0.0);
    EXPECT(duet_call_unary(f, duet_literal_f32(NAN)), NAN);
    EXPECT(duet_call_unary(f, duet_literal_f32(NAN)), NAN); /* the same bits: known */
    assert_int_equal(duet_trace_count(f), 3);
    duet_function_free(f);
}

static void shape_and_dtype_are_part_of_it(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("doubled", doubled);
    duet_shape shapes[] = {DUET_SCALAR, SHAPE(1), SHAPE(6), SHAPE(2, 3), SHAPE(3, 2), SHAPE(6, 1)};
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < LENGTH(shapes); i++) {
            duet_tensor *y = duet_call_unary(f, duet_full(shapes[i], DUET_F32, 2));
            assert_true(duet_shape_equal(&y->spec.shape, &shapes[i]));
            EXPECT_ALL(y, 4);
        }
    assert_int_equal(duet_trace_count(f), LENGTH(shapes));
    EXPECT_ALL(duet_call_unary(f, duet_full(SHAPE(6), DUET_F64, 2)), 4);
    assert_int_equal(duet_trace_count(f), LENGTH(shapes) + 1);
    duet_function_free(f);
}

static duet_tensor *one_over_root(duet_tensor *x, duet_tensor *eps) {
    return duet_div(duet_f32(1), duet_sqrt(duet_add(x, eps)));
}

/* pytorch #197889 */
static void a_changed_literal_is_not_ignored(void **state) {
    (void)state;
    duet_function *f = duet_function_binary("one_over_root", one_over_root);
    duet_tensor *x = F32(SHAPE(3), 0, 1, 0.01f);
    float values[] = {1e-5f, 0.1f, 1e-5f};
    for (int i = 0; i < LENGTH(values); i++)
        EXPECT_SAME(duet_call_binary(f, x, duet_literal_f32(values[i])),
                    one_over_root(x, duet_f32(values[i])));
    assert_int_equal(duet_trace_count(f), 2);
    duet_function_free(f);
}

static void each_variable_is_another(void **state) {
    (void)state;
    duet_tensor *a = duet_variable_new("a", duet_f32(1)), *b = duet_variable_new("b", duet_f32(2));
    duet_function *f = duet_function_unary("doubled", doubled);
    EXPECT(duet_call_unary(f, a), 2);
    EXPECT(duet_call_unary(f, b), 4);
    EXPECT_OK(duet_assign(a, duet_f32(5)));
    EXPECT(duet_call_unary(f, a), 10);
    assert_int_equal(duet_trace_count(f), 2);
    duet_function_free(f);
    duet_release(a);
    duet_release(b);
}

/* ---- too many traces
 * ------------------------------------------------------------------------------ */

/* pytorch #171320 */
static void a_number_that_retraces_for_ever_is_named(void **state) {
    (void)state;
    duet_function *f = duet_function_binary("step", plus);
    duet_tensor *x = duet_f32(1);
    for (int i = 1; i <= 10; i++) {
        duet_call_binary(f, x, duet_literal_f32((float)i));
        assert_int_equal(warnings_seen, i >= 5);
    }
    assert_non_null(strstr(last_warning, "function step traced in 5 calls of 5"));
    assert_non_null(strstr(last_warning, "argument 1: literal f32 4 -> literal f32 5"));
    assert_non_null(strstr(last_warning, "pass the number as a tensor"));
    duet_function_free(f);
}

static void the_same_number_as_a_tensor_traces_once(void **state) {
    (void)state;
    duet_function *f = duet_function_binary("step", plus);
    for (int i = 0; i < 100; i++) duet_call_binary(f, duet_f32(1), duet_f32(0.1f * (float)i));
    assert_int_equal(duet_trace_count(f), 1);
    assert_int_equal(warnings_seen, 0);
    duet_function_free(f);
}

static void a_shape_that_retraces_for_ever_is_named(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("grow", doubled);
    for (int i = 1; i <= 5; i++) duet_call_unary(f, duet_zeros(SHAPE(i, 20), DUET_F32));
    assert_int_equal(warnings_seen, 1);
    assert_non_null(strstr(last_warning, "argument 0: f32[4,20] -> f32[5,20]"));
    assert_non_null(strstr(last_warning, "declare a signature with a free dimension"));
    duet_function_free(f);
}

static void calls_that_hit_between_keep_it_quiet(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("now_and_then", doubled);
    for (int i = 1; i <= 20; i++)
        for (int again = 0; again < 2; again++) duet_call_unary(f, duet_zeros(SHAPE(i), DUET_F32));
    assert_int_equal(warnings_seen, 0);
    duet_function_free(f);
}

/* tf2rl #99 */
static void function_objects_made_in_a_loop_are_named(void **state) {
    (void)state;
    for (int i = 0; i < 8; i++) {
        duet_function *f = duet_function_unary("made_in_a_loop", doubled);
        EXPECT(duet_call_unary(f, duet_f32(3)), 6);
        duet_function_free(f);
    }
    assert_int_equal(warnings_seen, 1);
    assert_non_null(strstr(last_warning, "made_in_a_loop"));
    assert_non_null(strstr(last_warning, "make it once"));
}

static void two_functions_of_one_body_share_nothing(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("twin", doubled),
                  *g = duet_function_unary("twin", doubled);
    for (int i = 0; i < 3; i++) EXPECT(duet_call_unary(f, duet_f32(3)), 6);
    assert_int_equal(duet_trace_count(f), 1);
    assert_int_equal(duet_trace_count(g), 0);
    duet_function_free(f);
    EXPECT(duet_call_unary(g, duet_f32(4)), 8);
    assert_int_equal(duet_trace_count(g), 1);
    assert_int_equal(warnings_seen, 0);
    duet_function_free(g);
}

/* ---- the bounded cache
 * ----------------------------------------------------------------------------- */

enum { SHAPES = 1000, ROOM = 64, SLACK = 1 << 15 }; /* bytes; a plan is more than 1000 */

static void call_with_many_shapes(duet_function *f) {
    for (int i = 1; i <= SHAPES; i++) {
        duet_scope_open();
        EXPECT_ALL(duet_call_unary(f, duet_full(SHAPE(i), DUET_F32, 1)), 2);
        duet_scope_close(NULL);
        assert_true(duet_function_get_stats(f).live_graphs <= ROOM);
    }
}

/* tensorflow #124972 */
static void traces_do_not_pile_up(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("many_shapes", doubled);
    int64_t blocks = duet_memory_get_stats().live_bytes;
    call_with_many_shapes(f);
    duet_function_stats stats = duet_function_get_stats(f);
    assert_int_equal(stats.traces, SHAPES);
    assert_int_equal(stats.live_graphs, ROOM);
    assert_int_equal(stats.evictions, SHAPES - ROOM);
    duet_function_clear(f);
    assert_int_equal(duet_function_get_stats(f).live_graphs, 0);
    assert_int_equal(duet_memory_get_stats().live_bytes, blocks);
    size_t bytes = mallinfo2().uordblks; /* graphs and plans come from malloc */
    call_with_many_shapes(f);
    duet_function_clear(f);
    assert_true(mallinfo2().uordblks <= bytes + SLACK);
    duet_function_free(f);
}

static void the_least_recently_used_goes_first(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("lru", doubled);
    for (int i = 1; i <= ROOM; i++) duet_call_unary(f, duet_zeros(SHAPE(i), DUET_F32));
    duet_call_unary(f, duet_zeros(SHAPE(1), DUET_F32));        /* used again ... */
    duet_call_unary(f, duet_zeros(SHAPE(ROOM + 1), DUET_F32)); /* ... so this drops shape 2 */
    assert_int_equal(duet_trace_count(f), ROOM + 1);
    duet_call_unary(f, duet_zeros(SHAPE(1), DUET_F32));
    assert_int_equal(duet_trace_count(f), ROOM + 1);
    duet_call_unary(f, duet_zeros(SHAPE(2), DUET_F32));
    assert_int_equal(duet_trace_count(f), ROOM + 2);
    duet_function_free(f);
}

static void a_cleared_function_traces_again(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("doubled", doubled);
    duet_tensor *before = duet_call_unary(f, duet_f32(3));
    duet_function_clear(f);
    EXPECT(duet_call_unary(f, duet_f32(4)), 8);
    EXPECT(before, 6);
    assert_int_equal(duet_trace_count(f), 2);
    duet_function_free(f);
}

/* ---- declared signatures
 * ----------------------------------------------------------------------------- */

enum { BATCHES = 64, INPUTS = 20 };

/* Much of a network's forward side: all of it must do without the batch's size. */
static duet_tensor *network(duet_tensor *x) {
    duet_tensor *w = duet_full(SHAPE(INPUTS, 3), DUET_F32, 0.125);
    duet_tensor *y = duet_dense(x, w, F32(SHAPE(3), 1, -1, 0.5f), "relu");
    duet_tensor *centred = duet_sub(y, duet_mean(y, DUET_INTS(0), true));
    return duet_softmax(duet_mul(centred, duet_f32(0.3f)), 1);
}

static duet_tensor *batch_of(int rows) {
    duet_tensor *x = duet_zeros(SHAPE(rows, INPUTS), DUET_F32);
    for (int i = 0; i < rows * INPUTS; i++) ((float *)x->data)[i] = (float)(i % 13) / 8 - 0.7f;
    return x;
}

/* tensorflow #38561 */
static void a_free_dimension_traces_once(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("network", network);
    EXPECT_OK(duet_function_declare(f, "f32[?,20]"));
    for (int rows = 1; rows <= BATCHES; rows++)
        EXPECT_SAME(duet_call_unary(f, batch_of(rows)), network(batch_of(rows)));
    assert_int_equal(duet_trace_count(f), 1);
    assert_int_equal(warnings_seen, 0);
    duet_function_free(f);
}

/* onnxruntime #28359 */
static void a_plan_of_another_batch_is_not_used(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("network", network);
    EXPECT_OK(duet_function_declare(f, "f32[?,20]"));
    int sizes[] = {64, 1, 64, 7, 1};
    for (int i = 0; i < LENGTH(sizes); i++)
        EXPECT_SAME(duet_call_unary(f, batch_of(sizes[i])), network(batch_of(sizes[i])));
    assert_int_equal(duet_trace_count(f), 1);
    duet_function_free(f);
}

/* The guide to tf.function: "ValueError: Python inputs incompatible with input_signature". */
static void what_does_not_fit_is_refused_without_a_trace(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("network", network);
    EXPECT_OK(duet_function_declare(f, "f32[?,20]"));
    duet_tensor *misfits[] = {duet_zeros(SHAPE(20), DUET_F32), duet_zeros(SHAPE(2, 20), DUET_F64),
                              duet_zeros(SHAPE(2, 21), DUET_F32),
                              duet_zeros(SHAPE(1, 2, 20), DUET_F32)};
    for (int i = 0; i < LENGTH(misfits); i++) {
        assert_null(duet_call_unary(f, misfits[i]));
        EXPECT_ERROR(DUET_STATUS_SHAPE, "function network: argument 0: expected f32[?,20], got ");
    }
    assert_int_equal(duet_trace_count(f), 0);
    assert_non_null(duet_call_unary(f, batch_of(2)));
    duet_function_free(f);
}

static void a_signature_that_does_not_parse_is_refused(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("network", network);
    assert_int_equal(duet_function_declare(f, "f32[?,20"), DUET_STATUS_FORMAT);
    EXPECT_ERROR(DUET_STATUS_FORMAT, "expected a type such as f32[?,20]");
    assert_int_not_equal(duet_function_declare(f, "f32[2], f32[2]"), DUET_OK);
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "expected 1 argument");
    assert_int_not_equal(duet_function_declare(f, ""), DUET_OK);
    duet_error_clear();
    EXPECT_SAME(duet_call_unary(f, batch_of(2)), network(batch_of(2))); /* undeclared as before */
    duet_function_free(f);
}

int main(void) {
    setenv("DUET_VERIFY", "1", 1);
    const struct CMUnitTest tests[] = {
        TEST(a_literal_s_value_is_part_of_it_and_a_tensor_s_is_not),
        TEST(data_is_no_part_of_it),
        TEST(one_true_and_one_point_zero_are_three),
        TEST(zeros_of_both_signs_are_two_literals),
        TEST(shape_and_dtype_are_part_of_it),
        TEST(a_changed_literal_is_not_ignored),
        TEST(each_variable_is_another),
        TEST(a_number_that_retraces_for_ever_is_named),
        TEST(the_same_number_as_a_tensor_traces_once),
        TEST(a_shape_that_retraces_for_ever_is_named),
        TEST(calls_that_hit_between_keep_it_quiet),
        TEST(function_objects_made_in_a_loop_are_named),
        TEST(two_functions_of_one_body_share_nothing),
        TEST(traces_do_not_pile_up),
        TEST(the_least_recently_used_goes_first),
        TEST(a_cleared_function_traces_again),
        TEST(a_free_dimension_traces_once),
        TEST(a_plan_of_another_batch_is_not_used),
        TEST(what_does_not_fit_is_refused_without_a_trace),
        TEST(a_signature_that_does_not_parse_is_refused),
    };
    return cmocka_run_group_tests_name("signature", tests, NULL, NULL);
}
