/* NULL where something is expected is a failure with a message, never a crash. */
#include "expect.h"
#include "graph.h"

extern const duet_op duet_op_add;

#define EXPECT_NULL_ARGUMENT(call, message)                                                        \
    do {                                                                                           \
        assert_int_equal(call, DUET_STATUS_ARGUMENT);                                              \
        EXPECT_ERROR(DUET_STATUS_ARGUMENT, message);                                               \
    } while (0)

static duet_status identity(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = in[0];
    return DUET_OK;
}

static duet_status one(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)in, (void)user;
    out[0] = duet_f32(1);
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status never(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)in, (void)user;
    out[0] = duet_bool(false);
    return out[0] ? DUET_OK : duet_error_code();
}

static void of_calls(void **state) {
    (void)state;
    duet_tensor *x = duet_f32(1), *out = x;
    duet_function *f = duet_function_new("f", identity, 1, 1, NULL);
    duet_function *g = duet_function_new("g", one, 0, 1, NULL);
    EXPECT_NULL_ARGUMENT(duet_call(NULL, &out, &x), "call: function is NULL");
    EXPECT_NULL_ARGUMENT(duet_call(f, NULL, &x), "call: out is NULL");
    EXPECT_NULL_ARGUMENT(duet_call(f, &out, NULL), "call: in is NULL");
    assert_null(out);
    assert_null(duet_call_unary(NULL, x));
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "call: function is NULL");
    assert_null(duet_call_binary(NULL, x, x));
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "call: function is NULL");
    assert_null(duet_call_unary(duet_function_new("of_nothing", NULL, 1, 1, NULL), x));
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "function of_nothing: expected a body");
    EXPECT_OK(duet_call(g, &out, NULL)); /* none are expected */
    EXPECT(out, 1);
    duet_function_free(f);
    duet_function_free(g);
}

static void of_functions(void **state) {
    (void)state;
    duet_tensor *x = duet_f32(1);
    duet_function *f = duet_function_new("f", identity, 1, 1, NULL);
    EXPECT_NULL_ARGUMENT(duet_function_declare(NULL, "f32[]"),
                         "function_declare: function is NULL");
    EXPECT_NULL_ARGUMENT(duet_function_declare(f, NULL), "function_declare: signature is NULL");
    EXPECT_NULL_ARGUMENT(duet_check_trace(NULL, &x), "check_trace: function is NULL");
    EXPECT_NULL_ARGUMENT(duet_check_trace(f, NULL), "check_trace: in is NULL");
    assert_int_equal(duet_function_get_stats(NULL).calls, 0);
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "function_get_stats: function is NULL");
    assert_int_equal(duet_trace_count(NULL), 0);
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "trace_count: function is NULL");
    duet_function_clear(NULL);
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "function_clear: function is NULL");
    duet_function_print_frozen(NULL, f);
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "function_print_frozen: file is NULL");
    duet_function_print_frozen(stderr, NULL);
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "function_print_frozen: function is NULL");
    duet_function_free(NULL); /* is fine */
    assert_int_equal(duet_error_code(), DUET_OK);
    duet_function_free(f);
}

static void of_control_flow(void **state) {
    (void)state;
    duet_tensor *x = duet_f32(1), *yes = duet_bool(true), *out;
    EXPECT_NULL_ARGUMENT(duet_cond(NULL, 1, yes, identity, identity, &x, 1, NULL),
                         "cond: out is NULL");
    EXPECT_NULL_ARGUMENT(duet_cond(&out, 1, NULL, identity, identity, &x, 1, NULL),
                         "cond: pred is NULL");
    EXPECT_NULL_ARGUMENT(duet_cond(&out, 1, yes, NULL, identity, &x, 1, NULL),
                         "cond: then_body is NULL");
    EXPECT_NULL_ARGUMENT(duet_cond(&out, 1, yes, identity, NULL, &x, 1, NULL),
                         "cond: else_body is NULL"); /* the one not taken, too */
    EXPECT_NULL_ARGUMENT(duet_cond(&out, 1, yes, identity, identity, NULL, 1, NULL),
                         "cond: in is NULL");
    EXPECT_OK(duet_cond(&out, 1, yes, one, one, NULL, 0, NULL));
    EXPECT_NULL_ARGUMENT(duet_while(NULL, never, identity, &x, 1, NULL), "while: out is NULL");
    EXPECT_NULL_ARGUMENT(duet_while(&out, NULL, identity, &x, 1, NULL), "while: condition is NULL");
    EXPECT_NULL_ARGUMENT(duet_while(&out, never, NULL, &x, 1, NULL), "while: body is NULL");
    EXPECT_NULL_ARGUMENT(duet_while(&out, never, identity, NULL, 1, NULL), "while: in is NULL");
}

static void of_gradients(void **state) {
    (void)state;
    duet_tensor *x = duet_f32(3), *none = NULL, *grad;
    duet_tape *tape = duet_tape_new(false);
    EXPECT_OK(duet_tape_watch(tape, x));
    duet_tensor *y = duet_square(x);
    EXPECT_NULL_ARGUMENT(duet_gradient(NULL, tape, y, &x, 1), "gradient: grads is NULL");
    EXPECT_NULL_ARGUMENT(duet_gradient(&grad, NULL, y, &x, 1), "gradient: tape is NULL");
    EXPECT_NULL_ARGUMENT(duet_gradient(&grad, tape, NULL, &x, 1), "gradient: target is NULL");
    EXPECT_NULL_ARGUMENT(duet_gradient(&grad, tape, y, NULL, 1), "gradient: sources is NULL");
    EXPECT_NULL_ARGUMENT(duet_gradient(&grad, tape, y, &none, 1), "gradient: source 0 is NULL");
    EXPECT_OK(duet_gradient(&grad, tape, y, &x, 1)); /* none of these used the tape up */
    EXPECT(grad, 6);
    duet_tape_free(tape);
}

static void of_ops_and_values(void **state) {
    (void)state;
    duet_tensor *x = duet_f32(1);
    assert_null(duet_apply(NULL, NULL, &x, 1));
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "apply: op is NULL");
    assert_null(duet_variable_new("w", NULL));
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "variable w: initial is NULL");
    assert_true(isnan(duet_item(NULL, 0)));
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "item: tensor is NULL");
    assert_true(isnan(duet_item(duet_zeros(SHAPE(0), DUET_F32), 0)));
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "item: f32[0] has no elements");
    duet_fail(DUET_STATUS_IO, "the first failure");
    assert_null(duet_variable_new("w", NULL));
    assert_true(isnan(duet_item(NULL, 0)));
    EXPECT_ERROR(DUET_STATUS_IO, "the first failure");
    assert_null(duet_apply(&duet_op_add, NULL, NULL, 2));
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "apply: in is NULL");
    duet_tensor *v = duet_variable_new("v", x), *two[] = {v, x}, *out;
    assert_null(duet_apply(duet_op_find("assign"), NULL, two, 2));
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "apply: expected an op with a result, got assign");
    duet_release(v);
    EXPECT_NULL_ARGUMENT(duet_dispatch(&out, NULL, NULL, &x, 1), "dispatch: op is NULL");
    assert_null(duet_apply(duet_op_find("rellu"), NULL, &x, 1));
    EXPECT_ERROR(DUET_STATUS_NOT_FOUND, "no op \"rellu\"; did you mean \"relu\"?");
    assert_null(duet_op_find(NULL));
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "op_find: name is NULL");
    assert_null(duet_from_data(SHAPE(2), DUET_F32, NULL));
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "from_data: data is NULL");
    assert_non_null(duet_from_data(SHAPE(0), DUET_F32, NULL)); /* nothing to read */
    assert_null(duet_graph_parse(NULL, "file"));
    EXPECT_ERROR(DUET_STATUS_ARGUMENT, "graph_parse: text is NULL");
    assert_null(duet_graph_parse("nonsense", NULL));
    EXPECT_ERROR(DUET_STATUS_FORMAT, "graph");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(of_calls),     TEST(of_functions),      TEST(of_control_flow),
        TEST(of_gradients), TEST(of_ops_and_values),
    };
    return cmocka_run_group_tests_name("NULL arguments", tests, NULL, NULL);
}
