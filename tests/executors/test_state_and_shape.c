/* Variables, random numbers, shapes and contractions through both executors: what a function does
 * op by op and what its graph replays are the same bits. */
#include "duet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#define F32(shape, ...) duet_from_data(shape, DUET_F32, (float[]){__VA_ARGS__})
#define F64(shape, ...) duet_from_data(shape, DUET_F64, (double[]){__VA_ARGS__})
#define SHAPE(...) DUET_SHAPE(__VA_ARGS__)
#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != DUET_OK) fail_msg("%s", duet_error_message());                               \
    } while (0)

static int open_scope(void **state) {
    (void)state;
    duet_scope_open();
    return 0;
}
static int close_scope(void **state) {
    (void)state;
    duet_scope_close(NULL);
    return 0;
}
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scope, close_scope)

static void expect(const duet_tensor *x, duet_shape shape, const double *values, double tolerance) {
    if (!x) fail_msg("expected a result: %s", duet_error_message());
    if (!duet_shape_equal(&x->spec.shape, &shape))
        fail_msg("expected %s, got %s", DUET_SHAPE_TEXT(&shape), DUET_SPEC_TEXT(&x->spec));
    for (int64_t i = 0; i < duet_shape_count(&shape); i++) {
        double away = duet_item(x, i) - values[i];
        if (!(away <= tolerance && -away <= tolerance))
            fail_msg("element %d: expected %.17g, got %.17g", (int)i, values[i], duet_item(x, i));
    }
}
#define EXPECT(x, shape, ...) expect(x, shape, (double[]){__VA_ARGS__}, 0)
#define EXPECT_NEAR(x, tolerance, shape, ...) expect(x, shape, (double[]){__VA_ARGS__}, tolerance)

static void expect_same_bits(const duet_tensor *x, const duet_tensor *y) {
    if (!x || !y) fail_msg("expected two results: %s", duet_error_message());
    assert_true(duet_spec_equal(&x->spec, &y->spec));
    assert_memory_equal(x->data, y->data, duet_spec_bytes(&x->spec));
}

static duet_tensor *normal(duet_shape shape, uint64_t seed) {
    duet_tensor *rng = duet_rng_new(seed), *x = duet_random_normal(shape, DUET_F32, rng);
    duet_release(rng);
    return x;
}

/* ---- variables ---- */

/* One hidden layer, its weights, and the rate with which a step moves them. */
typedef struct model {
    duet_tensor *w1, *b1, *w2, *b2, *velocity, *rate;
} model;

static model model_new(void) {
    duet_tensor *rng = duet_rng_new(1);
    model m = {
        .w1 = duet_variable_new("w1", duet_glorot_uniform(SHAPE(20, 16), DUET_F32, rng)),
        .b1 = duet_variable_new("b1", duet_zeros(SHAPE(16), DUET_F32)),
        .w2 = duet_variable_new("w2", duet_glorot_uniform(SHAPE(16, 1), DUET_F32, rng)),
        .b2 = duet_variable_new("b2", duet_zeros(SHAPE(1), DUET_F32)),
        .velocity = duet_variable_new("velocity", duet_zeros(SHAPE(20, 16), DUET_F32)),
        .rate = duet_variable_new("rate", duet_f32(0.1f)),
    };
    duet_release(rng);
    return m;
}

static void model_free(model *m) {
    duet_tensor *all[] = {m->w1, m->b1, m->w2, m->b2, m->velocity, m->rate};
    for (int i = 0; i < 6; i++) duet_release(all[i]);
}

static duet_status train_step(duet_tensor **out, duet_tensor *const *in, void *user) {
    model *m = user;
    duet_tensor *weights[] = {m->w1, m->b1, m->w2, m->b2}, *g[4];
    duet_tape *tape = duet_tape_new(false);
    duet_tensor *hidden = duet_dense(in[0], m->w1, m->b1, "relu");
    out[0] = duet_mse(duet_dense(hidden, m->w2, m->b2, NULL), in[1]);
    duet_status status = duet_gradient(g, tape, out[0], weights, 4);
    duet_tape_free(tape);
    TRY(status);
    TRY(duet_sgd_momentum(m->w1, g[0], m->rate, m->velocity, 0.9, true));
    for (int i = 1; i < 4; i++) TRY(duet_sgd(weights[i], g[i], m->rate));
    return DUET_OK;
}

/* Five steps op by op and five replayed: the weights are no outputs, and yet they move alike. */
static void test_training_is_the_same_in_both(void **state) {
    (void)state;
    model eager = model_new(), graph = model_new();
    duet_tensor *in[] = {normal(SHAPE(64, 20), 2), normal(SHAPE(64, 1), 3)};
    duet_function *step = duet_function_new("train_step", train_step, 2, 1, &graph);
    double first = 0, last = 0;
    for (int i = 0; i < 5; i++) {
        duet_tensor *a, *b;
        OK(train_step(&a, in, &eager));
        OK(duet_call(step, &b, in));
        expect_same_bits(a, b);
        expect_same_bits(eager.w1, graph.w1);
        expect_same_bits(eager.b1, graph.b1);
        expect_same_bits(eager.w2, graph.w2);
        expect_same_bits(eager.b2, graph.b2);
        expect_same_bits(eager.velocity, graph.velocity);
        *(i ? &last : &first) = duet_item(a, 0);
    }
    assert_true(last < first);
    assert_int_equal(duet_trace_count(step), 1);
    /* The rate is a variable: set to 0, the next replay changes no bit. */
    duet_tensor *before = duet_read(graph.w2), *loss;
    OK(duet_assign(graph.rate, duet_f32(0)));
    OK(duet_call(step, &loss, in));
    expect_same_bits(before, graph.w2);
    assert_int_equal(duet_trace_count(step), 1);
    duet_function_free(step);
    model_free(&eager);
    model_free(&graph);
}

static duet_status old_and_new(duet_tensor **out, duet_tensor *const *in, void *user) {
    duet_tensor *v = user;
    out[0] = duet_read(v);
    TRY(duet_assign_add(v, in[0]));
    out[1] = duet_add(v, duet_f32(0));
    return DUET_OK;
}

static void test_a_value_read_stays_as_it_was(void **state) {
    (void)state;
    duet_tensor *one = duet_f32(1);
    for (int graph = 0; graph <= 1; graph++) {
        duet_tensor *v = duet_variable_new("v", duet_f32(0)), *out[3][2];
        duet_function *f = duet_function_new("old_and_new", old_and_new, 1, 2, v);
        bool before = duet_run_eagerly(!graph);
        for (int i = 0; i < 3; i++) OK(duet_call(f, out[i], &one));
        duet_run_eagerly(before);
        for (int i = 0; i < 3; i++) {
            EXPECT(out[i][0], DUET_SCALAR, i);
            EXPECT(out[i][1], DUET_SCALAR, i + 1);
        }
        duet_function_free(f);
        duet_release(v);
    }
}

/* ---- random numbers ---- */

static duet_status draw(duet_tensor **out, duet_tensor *const *in, void *user) {
    out[0] = duet_add(duet_random_normal(SHAPE(5), DUET_F32, user), in[0]);
    duet_random_uniform(SHAPE(3), DUET_F32, user, 0, 1); /* unused, but it moves the state on */
    return duet_error_code();
}

static void test_random_numbers_are_drawn_anew(void **state) {
    (void)state;
    duet_error_clear();
    duet_tensor *a = duet_rng_new(5), *b = duet_rng_new(5), *zero = duet_f32(0), *last = NULL;
    duet_function *f = duet_function_new("draw", draw, 1, 1, b);
    for (int i = 0; i < 3; i++) {
        duet_tensor *eager, *graph;
        OK(draw(&eager, &zero, a));
        OK(duet_call(f, &graph, &zero));
        expect_same_bits(eager, graph);
        expect_same_bits(a, b);
        if (last) assert_memory_not_equal(last->data, graph->data, 20);
        last = graph;
    }
    duet_function_free(f);
    duet_release(a);
    duet_release(b);
}

/* ---- free dimensions ---- */

/* Every op whose gradient needs shapes: concat, slice, reshape, broadcasting, a batch of matrices.
 */
static duet_status shape_gradients(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    duet_tape *tape = duet_tape_new(false);
    TRY(duet_tape_watch(tape, in[0]));
    TRY(duet_tape_watch(tape, in[1]));
    duet_tensor *both = duet_concat((duet_tensor *[]){in[0], in[1], in[0]}, 3, 0);
    duet_tensor *part = duet_slice(both, DUET_INTS(0, 1), DUET_INTS(-1, 3));
    duet_tensor *squares = duet_matmul_flags(part, part, true, false);
    duet_tensor *batch = duet_matmul(duet_reshape(part, SHAPE(-1, 1, 3)), squares);
    out[0] = duet_softmax(duet_reshape(batch, SHAPE(-1, 3)), -1);
    duet_tensor *loss =
        duet_mse(out[0], duet_transpose(duet_transpose(part, DUET_INTS()), DUET_INTS(1, 0)));
    duet_status status = duet_gradient(out + 1, tape, loss, in, 2);
    duet_tape_free(tape);
    return status;
}

static void test_gradients_under_free_dimensions(void **state) {
    (void)state;
    duet_function *f = duet_function_new("shape_gradients", shape_gradients, 2, 3, NULL);
    OK(duet_function_declare(f, "f32[?,4], f32[?,4]"));
    static const int64_t sizes[][2] = {{1, 1}, {3, 2}, {0, 5}, {64, 1}, {3, 2}, {2, 0}};
    for (int i = 0; i < 6; i++) {
        duet_tensor *in[] = {normal(SHAPE(sizes[i][0], 4), 1), normal(SHAPE(sizes[i][1], 4), 2)};
        duet_tensor *eager[3], *graph[3];
        OK(shape_gradients(eager, in, NULL));
        OK(duet_call(f, graph, in));
        for (int k = 0; k < 3; k++) expect_same_bits(eager[k], graph[k]);
        expect_same_bits(eager[1], eager[1]);
        assert_true(duet_shape_equal(&eager[1]->spec.shape, &in[0]->spec.shape));
        assert_true(duet_shape_equal(&eager[2]->spec.shape, &in[1]->spec.shape));
    }
    assert_int_equal(duet_trace_count(f), 1);
    duet_function_free(f);
}

static duet_tensor *all_but_the_first(duet_tensor *x) {
    return duet_slice(x, DUET_INTS(1), DUET_INTS(-1));
}

/* x[1:] of f32[?] is f32[?] again, and still not x. */
static void test_a_slice_of_a_free_dimension_stays(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("all_but_the_first", all_but_the_first);
    OK(duet_function_declare(f, "f32[?]"));
    EXPECT(duet_call_unary(f, F32(SHAPE(3), 1, 2, 3)), SHAPE(2), 2, 3);
    EXPECT(duet_call_unary(f, F32(SHAPE(2), 7, 8)), SHAPE(1), 8);
    assert_null(duet_call_unary(f, duet_zeros(SHAPE(0), DUET_F32)));
    assert_non_null(strstr(duet_error_message(), "slice: begin 1 and size -1 pass the end"));
    duet_function_free(f);
}

/* ---- gradients ---- */

static duet_tensor *gradient_of(duet_tensor *(*body)(duet_tensor *, duet_tensor *), duet_tensor *x,
                                duet_tensor *y, int which) {
    duet_tensor *grads[2], *in[] = {x, y};
    duet_tape *tape = duet_tape_new(false);
    OK(duet_tape_watch(tape, x));
    OK(duet_tape_watch(tape, y));
    OK(duet_gradient(grads, tape, body(x, y), in, 2));
    duet_tape_free(tape);
    return grads[which];
}

static duet_tensor *times_transposed(duet_tensor *x, duet_tensor *unused) {
    (void)unused;
    return duet_matmul(x, duet_transpose(x, DUET_INTS(1, 0)));
}

static duet_tensor *shared(duet_tensor *x, duet_tensor *unused) {
    (void)unused;
    duet_tensor *y = duet_mul(x, duet_f64(3));
    return duet_add(duet_mul(y, duet_f64(2)), duet_mul(y, duet_f64(5)));
}

static void test_gradients(void **state) {
    (void)state;
    duet_tensor *wide = duet_full(SHAPE(3, 4), DUET_F64, 1),
                *row = duet_full(SHAPE(1, 4), DUET_F64, 1);
    EXPECT(gradient_of(duet_add, wide, row, 1), SHAPE(1, 4), 3, 3, 3, 3);
    duet_tensor *deep = duet_full(SHAPE(2, 1, 4, 64), DUET_F64, 1);
    duet_tensor *thin = duet_full(SHAPE(2, 1, 4, 1), DUET_F64, 1);
    EXPECT(gradient_of(duet_mul, deep, thin, 1), SHAPE(2, 1, 4, 1), 64, 64, 64, 64, 64, 64, 64, 64);
    EXPECT(gradient_of(duet_mul, duet_full(SHAPE(2), DUET_F64, 1), duet_f64(5), 1), DUET_SCALAR, 2);
    EXPECT(gradient_of(shared, duet_f64(2), duet_f64(0), 0), DUET_SCALAR, 21);
    EXPECT(gradient_of(times_transposed, F64(SHAPE(1, 1), 1), duet_f64(0), 0), SHAPE(1, 1), 2);
    EXPECT_NEAR(gradient_of(duet_mse, F64(SHAPE(2), 3, 5), F64(SHAPE(2), 1, 1), 0), 0, SHAPE(2), 2,
                4);
}

/* d2/dy2 mse = 2/N; and through concat's gradient and its gradient in turn. */
static void test_second_gradients(void **state) {
    (void)state;
    duet_tensor *y = F64(SHAPE(4), 3, 5, 1, 0), *t = F64(SHAPE(4), 1, 1, 1, 1), *g, *gg;
    duet_tape *outer = duet_tape_new(false), *inner = duet_tape_new(false);
    OK(duet_tape_watch(outer, y));
    OK(duet_tape_watch(inner, y));
    duet_tensor *twice = duet_concat((duet_tensor *[]){y, t, y}, 3, 0);
    OK(duet_gradient(&g, inner, duet_mse(twice, duet_zeros(SHAPE(12), DUET_F64)), &y, 1));
    EXPECT_NEAR(g, 1e-15, SHAPE(4), 1, 5. / 3, 1. / 3, 0);
    OK(duet_gradient(&gg, outer, duet_mul(g, g), &y, 1));
    EXPECT_NEAR(gg, 1e-15, SHAPE(4), 2. / 3, 10. / 9, 2. / 9, 0);
    duet_tape_free(inner);
    duet_tape_free(outer);
}

/* ---- watching values ---- */

static duet_tensor *print_and_double(duet_tensor *x) {
    duet_tensor *same = duet_print(x, "x", 3);
    return duet_add(same, same);
}

static void test_print_runs_with_every_replay(void **state) {
    (void)state;
    static char text[512];
    for (int graph = 0; graph <= 1; graph++) {
        duet_function *f = duet_function_unary("print_and_double", print_and_double);
        duet_tensor *x = duet_f32(2), *y = NULL;
        FILE *file = tmpfile();
        int saved = dup(STDERR_FILENO);
        dup2(fileno(file), STDERR_FILENO);
        bool before = duet_run_eagerly(!graph);
        for (int i = 0; i < 5; i++) y = duet_call_unary(f, x);
        duet_run_eagerly(before);
        dup2(saved, STDERR_FILENO);
        close(saved);
        rewind(file);
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        assert_string_equal(text, "x f32[] 2\nx f32[] 2\nx f32[] 2\nx f32[] 2\nx f32[] 2\n");
        EXPECT(y, DUET_SCALAR, 4);
        duet_function_free(f);
    }
}

static duet_tensor *checked_log(duet_tensor *x) {
    duet_check_numerics(duet_log(x), "of log"); /* its result is not used; it checks all the same */
    return duet_mul(x, x);
}

static void test_check_numerics_fails_the_run(void **state) {
    (void)state;
    for (int graph = 0; graph <= 1; graph++) {
        duet_function *f = duet_function_unary("checked_log", checked_log);
        bool before = duet_run_eagerly(!graph);
        EXPECT(duet_call_unary(f, F32(SHAPE(2), 1, 2)), SHAPE(2), 1, 4);
        if (graph) assert_null(duet_call_unary(f, F32(SHAPE(2), 1, 0)));
        if (graph)
            assert_non_null(
                strstr(duet_error_message(), "got -Inf as element 1 of f32[2]: of log"));
        EXPECT(duet_call_unary(f, F32(SHAPE(2), 3, 2)), SHAPE(2), 9, 4);
        duet_run_eagerly(before);
        duet_function_free(f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_training_is_the_same_in_both),
        TEST(test_a_value_read_stays_as_it_was),
        TEST(test_random_numbers_are_drawn_anew),
        TEST(test_gradients_under_free_dimensions),
        TEST(test_a_slice_of_a_free_dimension_stays),
        TEST(test_gradients),
        TEST(test_second_gradients),
        TEST(test_print_runs_with_every_replay),
        TEST(test_check_numerics_fails_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
