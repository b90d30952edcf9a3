/* cond and while: the same results called eagerly and as ops with sub-graphs, and their gradients.
 */
#include "expect.h"

/* ---- cond -------------------------------------------------------------------------------------
 */

static duet_status doubled(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = duet_mul(in[0], duet_f32(2));
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status squared(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = duet_square(in[0]);
    return out[0] ? DUET_OK : duet_error_code();
}

/* x > 1 ? 2x : x*x */
static duet_tensor *bent(duet_tensor *x) {
    duet_tensor *out[1];
    duet_tensor *pred = duet_greater(x, duet_f32(1));
    return duet_cond(out, 1, pred, doubled, squared, &x, 1, NULL) == DUET_OK ? out[0] : NULL;
}

static void cond_takes_the_branch_of_the_moment(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("bent", bent);
    static const float xs[] = {3, 0.5f, 1, -2}, wanted[] = {6, 0.25f, 1, 4};
    for (int i = 0; i < 4; i++) {
        assert_true(duet_item(bent(duet_f32(xs[i])), 0) == wanted[i]);
        assert_true(duet_item(duet_call_unary(f, duet_f32(xs[i])), 0) == wanted[i]);
    }
    assert_int_equal(duet_trace_count(f), 1); /* one trace has both branches */
    duet_function_free(f);
}

static double slope(duet_tensor *(*of)(duet_tensor *), duet_function *f, float at) {
    duet_tape *tape = duet_tape_new(false);
    duet_tensor *x = duet_f32(at), *grad = NULL;
    assert_int_equal(duet_tape_watch(tape, x), DUET_OK);
    duet_tensor *y = f ? duet_call_unary(f, x) : of(x);
    assert_non_null(y);
    assert_int_equal(duet_gradient(&grad, tape, y, &x, 1), DUET_OK);
    duet_tape_free(tape);
    assert_non_null(grad);
    return duet_item(grad, 0);
}

static void gradients_go_through_the_branch_taken(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("bent", bent);
    assert_true(slope(bent, NULL, 3) == 2 && slope(bent, f, 3) == 2);       /* (2x)' */
    assert_true(slope(bent, NULL, 0.5f) == 1 && slope(bent, f, 0.5f) == 1); /* (x*x)' at 1/2 */
    duet_function_free(f);
}

/* ---- what only one branch uses ----------------------------------------------------------------
 */

/* A branch that does not use in[1], and one that does. */
static duet_status first_only(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = duet_mul(in[0], duet_f32(5));
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status second_too(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = duet_mul(in[0], in[1]);
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status one_or_both(duet_tensor **out, duet_tensor *const *in, void *user) {
    duet_tensor *pred = duet_greater(in[0], duet_f32(0));
    return duet_cond(out, 1, pred, first_only, second_too, in, 2, user);
}

/* d/dx and d/dw of one_or_both(x, w). */
static void both_slopes(duet_tensor **grads, duet_function *f, float x, float w) {
    duet_tape *tape = duet_tape_new(false);
    duet_tensor *in[] = {duet_f32(x), duet_f32(w)}, *y;
    for (int i = 0; i < 2; i++) EXPECT_OK(duet_tape_watch(tape, in[i]));
    EXPECT_OK(f ? duet_call(f, &y, in) : one_or_both(&y, in, NULL));
    EXPECT_OK(duet_gradient(grads, tape, y, in, 2));
    duet_tape_free(tape);
}

/* Eagerly the other branch was never there, so nothing depends on w: NULL without error. A graph
 * holds both branches, and which one is taken is data: zeros. */
static void what_only_the_other_branch_uses_has_gradient_null_or_zeros(void **state) {
    (void)state;
    duet_function *f = duet_function_new("one_or_both", one_or_both, 2, 1, NULL);
    duet_tensor *eager[2], *graph[2];
    both_slopes(eager, NULL, 2, 3);
    both_slopes(graph, f, 2, 3);
    EXPECT(eager[0], 5);
    EXPECT(graph[0], 5);
    assert_null(eager[1]);
    assert_int_equal(duet_error_code(), DUET_OK);
    EXPECT(graph[1], 0);
    both_slopes(eager, NULL, -2, 3); /* the branch that uses both: the same from either */
    both_slopes(graph, f, -2, 3);
    EXPECT(eager[0], 3);
    EXPECT(eager[1], -2);
    EXPECT_SAME(graph[0], eager[0]);
    EXPECT_SAME(graph[1], eager[1]);
    assert_int_equal(duet_trace_count(f), 1);
    duet_function_free(f);
}

typedef struct counters {
    duet_tensor *count, *rng;
} counters;

static duet_status unchanged(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = in[0];
    return DUET_OK;
}

/* ---- sums of gradients -------------------------------------------------------------------------
 */

static duet_status steep(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = duet_mul(duet_mul(in[0], in[0]), duet_exp(in[0]));
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status once(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = duet_greater(duet_f32(1), in[1]);
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status steep_round(duet_tensor **out, duet_tensor *const *in, void *user) {
    out[1] = duet_add(in[1], duet_f32(1));
    return steep(out, in, user);
}

/* d/dx of steep(x) as a branch and as a round, where x has other uses as well. */
static duet_status slope_of_many_uses(duet_tensor **out, duet_tensor *const *in, void *user) {
    duet_tensor *x = in[0], *y[1], *z[2], *yes = duet_bool(true);
    duet_tape *tape = duet_tape_new(false);
    duet_status status = duet_tape_watch(tape, x);
    if (status == DUET_OK) status = duet_cond(y, 1, yes, steep, unchanged, &x, 1, user);
    duet_tensor *first[] = {x, duet_f32(0)};
    if (status == DUET_OK) status = duet_while(z, once, steep_round, first, 2, user);
    duet_tensor *sum = duet_add(duet_add(y[0], z[0]), duet_mul(duet_tanh(x), x));
    if (status == DUET_OK) status = duet_gradient(out, tape, sum, &x, 1);
    duet_tape_free(tape);
    return status;
}

/* A sub-graph's gradient is one number to the sum over the uses of x; so is a body's, eagerly. */
static void a_body_s_part_of_a_gradient_is_summed_by_itself(void **state) {
    (void)state;
    float data[100];
    for (int i = 0; i < 100; i++) data[i] = 0.037f * (float)i - 1.7f;
    duet_tensor *x = duet_from_data(SHAPE(100), DUET_F32, data), *eager, *graph;
    duet_function *f = duet_function_new("slope_of_many_uses", slope_of_many_uses, 1, 1, NULL);
    EXPECT_OK(slope_of_many_uses(&eager, &x, NULL));
    EXPECT_OK(duet_call(f, &graph, &x));
    EXPECT_SAME(eager, graph);
    for (int i = 0; i < 100; i++) { /* 2 (2 x + x x) e^x + x / cosh^2 x + tanh x */
        double at = data[i], c = cosh(at);
        double right = 2 * (2 * at + at * at) * exp(at) + at / (c * c) + tanh(at);
        assert_true(fabs(duet_item(eager, i) - right) < 1e-5 * (1 + fabs(right)));
    }
    duet_function_free(f);
}

/* ---- variables as arguments
 * ---------------------------------------------------------------------- */

static duet_status count_and_give(duet_tensor **out, duet_tensor *const *in, void *user) {
    const counters *c = user;
    TRY(duet_assign_add(c->count, duet_f32(1)));
    out[0] = in[0];
    out[1] = c->count; /* the variable: its value as of now is meant */
    return DUET_OK;
}

static duet_status stop(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = duet_greater(duet_f32(-1), duet_abs(in[0]));
    return out[0] ? DUET_OK : duet_error_code();
}

/* Gives what the body gets and gives, and the state of a while that takes no round. */
static duet_status variable_in_and_out(duet_tensor **out, duet_tensor *const *in, void *user) {
    const counters *c = user;
    duet_tensor *count[] = {c->count}, *state[1];
    TRY(duet_while(state, stop, unchanged, count, 1, user));
    TRY(duet_cond(out, 2, duet_greater(in[0], duet_f32(0)), count_and_give, count_and_give, count,
                  1, user));
    TRY(duet_assign_add(c->count, duet_f32(10)));
    out[2] = state[0];
    return DUET_OK;
}

static void a_body_gets_and_gives_values(void **state) {
    (void)state;
    for (int graph = 0; graph <= 1; graph++) {
        counters c = {.count = duet_variable_new("count", duet_f32(0))};
        duet_function *f = duet_function_new("variable_in_and_out", variable_in_and_out, 1, 3, &c);
        duet_tensor *out[3], *one = duet_f32(1);
        for (int call = 0; call < 3; call++) {
            EXPECT_OK(graph ? duet_call(f, out, &one) : variable_in_and_out(out, &one, &c));
            EXPECT(out[0], 11 * call);
            EXPECT(out[1], 11 * call + 1);
            EXPECT(out[2], 11 * call);
        }
        duet_function_free(f);
        duet_release(c.count);
    }
}

/* ---- effects -----------------------------------------------------------------------------------
 */

static duet_status counted(duet_tensor **out, duet_tensor *const *in, void *user) {
    const counters *c = user;
    TRY(duet_assign_add(c->count, duet_f32(1)));
    duet_random_uniform(DUET_SHAPE(3), DUET_F32, c->rng, 0, 1);
    out[0] = duet_neg(in[0]);
    return out[0] ? DUET_OK : duet_error_code();
}

/* The same inside another cond. */
static duet_status counted_inside(duet_tensor **out, duet_tensor *const *in, void *user) {
    return duet_cond(out, 1, duet_bool(true), counted, unchanged, in, 1, user);
}

static duet_status below_2(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = duet_greater(duet_f32(2), in[0]); /* two rounds from 0 */
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status counted_round(duet_tensor **out, duet_tensor *const *in, void *user) {
    const counters *c = user;
    TRY(duet_assign_add(c->count, duet_f32(10)));
    out[0] = duet_add(in[0], duet_f32(1));
    return out[0] ? DUET_OK : duet_error_code();
}

/* Uses none of the results of its cond and while; reads the count before and after. */
static duet_status effects_alone(duet_tensor **out, duet_tensor *const *in, void *user) {
    const counters *c = user;
    duet_tensor *unused[1], *zero = duet_f32(0), *pred = duet_greater(in[0], zero);
    out[0] = duet_read(c->count);
    TRY(duet_cond(unused, 1, pred, counted, unchanged, in, 1, user));
    TRY(duet_cond(unused, 1, pred, counted_inside, unchanged, in, 1, user));
    out[1] = duet_read(c->count);
    TRY(duet_while(unused, below_2, counted_round, &zero, 1, user));
    out[2] = duet_read(c->count);
    return out[2] ? DUET_OK : duet_error_code();
}

static void effects_happen_though_no_result_is_used(void **state) {
    (void)state;
    duet_tensor *states[2];
    for (int graph = 0; graph <= 1; graph++) {
        counters c = {duet_variable_new("count", duet_f32(0)), duet_rng_new(5)};
        duet_function *f = duet_function_new("effects_alone", effects_alone, 1, 3, &c);
        duet_tensor *out[3];
        bool before = duet_run_eagerly(!graph);
        static const double wanted[][3] = {{0, 2, 22}, {22, 24, 44}, {44, 44, 64}};
        for (int call = 0; call < 3; call++) { /* the last with the branch that counts nothing */
            EXPECT_OK(duet_call(f, out, (duet_tensor *[]){duet_f32(call < 2 ? 1 : -1)}));
            for (int i = 0; i < 3; i++) EXPECT(out[i], wanted[call][i]);
        }
        duet_run_eagerly(before);
        states[graph] = duet_reshape(duet_read(c.rng), SHAPE(4)); /* drawn as often */
        duet_function_free(f);
        duet_release(c.count);
        duet_release(c.rng);
    }
    EXPECT_SAME(states[0], states[1]);
}

static duet_status check_log(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    duet_check_numerics(duet_log(in[0]), "of log");
    out[0] = in[0];
    return DUET_OK;
}

static duet_status check_log_inside(duet_tensor **out, duet_tensor *const *in, void *user) {
    return duet_cond(out, 1, duet_bool(true), check_log, unchanged, in, 1, user);
}

static duet_tensor *checked_in_a_branch(duet_tensor *x) {
    duet_tensor *unused[1];
    duet_tensor *pred = duet_bool(true);
    return duet_cond(unused, 1, pred, check_log_inside, unchanged, &x, 1, NULL) == DUET_OK
               ? duet_mul(x, x)
               : NULL;
}

/* An effect without a variable, two sub-graphs down. */
static void a_check_inside_of_branches_is_kept(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("checked_in_a_branch", checked_in_a_branch);
    EXPECT(duet_call_unary(f, F32(SHAPE(2), 1, 3)), 1, 9);
    assert_null(duet_call_unary(f, F32(SHAPE(2), 0, 3)));
    EXPECT_ERROR(duet_error_code(), "got -Inf as element 0 of f32[2]: of log");
    EXPECT(duet_call_unary(f, F32(SHAPE(2), 2, 3)), 4, 9);
    duet_function_free(f);
}

/* ---- while ------------------------------------------------------------------------------------
 */

static duet_status below_50(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = duet_greater(duet_f32(50), in[0]);
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status step(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = duet_add(in[0], duet_f32(1));
    out[1] = duet_relu(duet_add(duet_mul(in[1], duet_f32(0.99f)), duet_f32(0.01f)));
    return out[0] && out[1] ? DUET_OK : duet_error_code();
}

static duet_tensor *looped(duet_tensor *x) {
    duet_tensor *out[2], *in[] = {duet_f32(0), x};
    return duet_while(out, below_50, step, in, 2, NULL) == DUET_OK ? out[1] : NULL;
}

static duet_tensor *unrolled(duet_tensor *x) {
    for (int i = 0; i < 50; i++)
        x = duet_relu(duet_add(duet_mul(x, duet_f32(0.99f)), duet_f32(0.01f)));
    return x;
}

static void a_while_is_the_unrolled_loop(void **state) {
    (void)state;
    static const float start[] = {0, 2, -3, 0.320711106f};
    duet_tensor *x = duet_from_data(DUET_SHAPE(4), DUET_F32, start);
    duet_function *f = duet_function_unary("looped", looped);
    duet_tensor *wanted = unrolled(x), *eager = looped(x), *graph = duet_call_unary(f, x);
    assert_non_null(graph);
    assert_memory_equal(duet_data(eager), duet_data(wanted), sizeof start);
    assert_memory_equal(duet_data(graph), duet_data(wanted), sizeof start);
    /* from 0 and from 2 in f32, each operation rounded on its own */
    assert_true((float)duet_item(graph, 0) == 0.394993901f);
    assert_true((float)duet_item(graph, 1) == 1.60500658f);
    assert_int_equal(duet_trace_count(f), 1);
    duet_function_free(f);
}

static void gradients_go_back_through_every_round(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("looped", looped);
    double wanted = 1; /* d/dx = 0.99f^50 while nothing is clamped */
    for (int i = 0; i < 50; i++) wanted *= 0.99f;
    double eager = slope(looped, NULL, 1), graph = slope(looped, f, 1);
    assert_true(eager - wanted < 1e-6 && wanted - eager < 1e-6);
    assert_true(graph == eager);
    duet_function_free(f);
}

/* A body that uses a value from around it, and a variable. */
typedef struct around {
    duet_tensor *factor, *count;
} around;

static duet_status grow(duet_tensor **out, duet_tensor *const *in, void *user) {
    const around *a = user;
    TRY(duet_assign_add(a->count, duet_f32(1)));
    out[0] = duet_mul(in[0], a->factor);
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status below_100(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = duet_greater(duet_f32(100), in[0]);
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status grow_until_100(duet_tensor **out, duet_tensor *const *in, void *user) {
    around *a = user;
    a->factor = in[1];
    return duet_while(out, below_100, grow, in, 1, a);
}

static void a_body_sees_what_is_around_it(void **state) {
    (void)state;
    around a = {.count = duet_variable_new("count", duet_f32(0))};
    duet_function *f = duet_function_new("grow_until_100", grow_until_100, 2, 1, &a);
    duet_tensor *in[] = {duet_f32(1), duet_f32(3)}, *out[1];
    for (int call = 1; call <= 2; call++) { /* 1, 3, 9, 27, 81, 243: five rounds a call */
        assert_int_equal(duet_call(f, out, in), DUET_OK);
        assert_true(duet_item(out[0], 0) == 243);
        assert_true(duet_item(a.count, 0) == 5 * call);
    }
    assert_int_equal(duet_trace_count(f), 1);
    duet_function_free(f);
    duet_release(a.count);
}

static duet_status wider(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    duet_tensor *twice[] = {in[0], in[0]};
    out[0] = duet_concat(twice, 2, 0);
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status always(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)in, (void)user;
    out[0] = duet_bool(true);
    return DUET_OK;
}

static void a_state_that_changes_shape_is_refused(void **state) {
    (void)state;
    duet_tensor *x = duet_zeros(DUET_SHAPE(2), DUET_F32), *out[1];
    assert_int_equal(duet_while(out, always, wider, &x, 1, NULL), DUET_STATUS_SHAPE);
    assert_non_null(strstr(duet_error_message(),
                           "while: state 0 enters the body as f32[2] and leaves it as f32[4]"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(cond_takes_the_branch_of_the_moment),
        TEST(gradients_go_through_the_branch_taken),
        TEST(a_while_is_the_unrolled_loop),
        TEST(gradients_go_back_through_every_round),
        TEST(what_only_the_other_branch_uses_has_gradient_null_or_zeros),
        TEST(a_body_s_part_of_a_gradient_is_summed_by_itself),
        TEST(a_body_gets_and_gives_values),
        TEST(effects_happen_though_no_result_is_used),
        TEST(a_check_inside_of_branches_is_kept),
        TEST(a_body_sees_what_is_around_it),
        TEST(a_state_that_changes_shape_is_refused),
    };
    return cmocka_run_group_tests_name("control flow", tests, NULL, NULL);
}
