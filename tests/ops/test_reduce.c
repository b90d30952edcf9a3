/* Reductions and their adjoints, against sums in long double and values worked out by hand. */
#include "direct.h"
#include "kernels/reduce.h"
#include "ops_elementwise.h"
#include "pool.h"

#include <float.h>

/* ---- a naive reference ----------------------------------------------------------------------- */

static int64_t place_without(const duet_shape *shape, unsigned axes, int64_t place) {
    int64_t at = 0, stride = 1;
    for (int64_t i = shape->rank - 1; i >= 0; i--) {
        int64_t index = place % shape->dims[i];
        place /= shape->dims[i];
        if (axes >> i & 1) continue;
        at += index * stride;
        stride *= shape->dims[i];
    }
    return at;
}

/* What `name` makes of x over a set of axes, each output one running long double. */
static void reference(double *out, int64_t count, const char *name, const duet_tensor *x,
                      unsigned axes) {
    const duet_shape *shape = &x->spec.shape;
    bool maximum = strcmp(name, "max") == 0;
    long double *sums = calloc((size_t)count + 1, sizeof *sums);
    int64_t joined = 1;
    for (int64_t i = 0; i < shape->rank; i++)
        if (axes >> i & 1) joined *= shape->dims[i];
    for (int64_t i = 0; maximum && i < count; i++) sums[i] = -INFINITY;
    for (int64_t i = 0; i < duet_shape_count(shape); i++) {
        long double value = duet_item(x, i), *to = &sums[place_without(shape, axes, i)];
        if (!maximum)
            *to += value;
        else if (isnan(value) || value > *to)
            *to = value;
    }
    for (int64_t i = 0; i < count; i++)
        out[i] = (double)(strcmp(name, "mean") == 0 ? sums[i] / (long double)joined : sums[i]);
    free(sums);
}

static duet_tensor *reduce(const char *name, duet_tensor *x, unsigned axes, bool keepdims) {
    duet_attr attrs[2] = {{.ints = {0}}, {.b = keepdims}};
    for (int64_t i = 0; i < x->spec.shape.rank; i++)
        if (axes >> i & 1)
            attrs[0].ints.at[attrs[0].ints.count++] = i % 2 ? i : i - x->spec.shape.rank;
    return duet_apply(duet_op_find(name), attrs, &x, 1);
}

/* x's shape without `axes`, or with them as 1. */
static duet_shape shape_without(const duet_shape *shape, unsigned axes, bool keepdims) {
    duet_shape out = {0};
    for (int64_t i = 0; i < shape->rank && i < DUET_MAX_RANK; i++)
        if (!(axes >> i & 1))
            out.dims[out.rank++] = shape->dims[i];
        else if (keepdims)
            out.dims[out.rank++] = 1;
    return out;
}

static void check_axes(const char *name, const duet_spec *spec, unsigned axes) {
    duet_tensor *x = noisy(spec, 10 * (uint64_t)spec->shape.dims[0] + axes);
    duet_tensor *y = reduce(name, x, axes, false), *kept = reduce(name, x, axes, true);
    if (!y) { /* the maximum of nothing */
        assert_string_equal(name, "max");
        assert_int_equal(duet_shape_count(&spec->shape), 0);
        return;
    }
    int64_t count = duet_tensor_count(y);
    double *want = calloc((size_t)count + 1, sizeof *want);
    reference(want, count, name, x, axes);
    /* rounding grows with what was added up, not with what is left of it */
    double joined = (double)duet_tensor_count(x) / (double)(count ? count : 1);
    double unit = spec->dtype == DUET_F32 ? 1.2e-7 : 2.3e-16;
    expect_near(y, shape_without(&spec->shape, axes, false), want, unit * (4 + sqrt(joined)));
    expect_shape(kept, shape_without(&spec->shape, axes, true));
    assert_memory_equal(kept->data, y->data, duet_spec_bytes(&y->spec));
    free(want);
}

static void every_set_of_axes_is_right(void **state) {
    (void)state;
    static const duet_shape shapes[] = {
        SHAPE(67),         SHAPE(3, 4),        SHAPE(3, 130),
        SHAPE(130, 3),     SHAPE(9, 33),       SHAPE(2, 3, 4, 5),
        SHAPE(1, 5, 1),    SHAPE(2, 1, 70, 3), SHAPE(2, 2, 2, 2, 2, 2),
        SHAPE(3, 2100),    SHAPE(2100, 3),     SHAPE(2, 1500, 20),
        SHAPE(5, 3, 0, 2), SHAPE(2, 9, 17, 33)};
    const char *const names[] = {"sum", "mean", "max"};
    for (size_t s = 0; s < LENGTH(shapes); s++)
        for (unsigned axes = 1; axes < 1u << shapes[s].rank; axes++)
            for (size_t k = 0; k < LENGTH(names); k++)
                for (int d = DUET_F32; d <= (k == 1 ? DUET_F64 : DUET_I32); d++) {
                    duet_scope_open();
                    duet_spec spec = {.shape = shapes[s], .dtype = d};
                    check_axes(names[k], &spec, axes);
                    duet_scope_close(NULL);
                }
}

static void every_length_is_right(void **state) {
    (void)state;
    for (int64_t n = 1; n < 1200; n += n < 300 ? 1 : 37)
        for (int d = DUET_F32; d <= DUET_I32; d++) {
            duet_scope_open();
            duet_spec spec = {.shape = SHAPE(n), .dtype = d};
            duet_tensor *x = noisy(&spec, (uint64_t)n);
            double sum, most, added; /* terms cancel: an error is seen beside what was added */
            reference(&sum, 1, "sum", x, 1);
            reference(&most, 1, "max", x, 1);
            reference(&added, 1, "sum", duet_abs(x), 1);
            double error = fabs(duet_item(duet_sum(x, DUET_NO_AXES, false), 0) - sum);
            if (!(error <= 1e-7 * added)) fail_msg("%d elements: error %g", (int)n, error);
            expect_near(duet_max(x, DUET_NO_AXES, false), DUET_SCALAR, &most, 0);
            duet_scope_close(NULL);
        }
}

/* ---- accuracy -------------------------------------------------------------------------------- */

static void many_equal_numbers_sum_exactly_enough(void **state) {
    (void)state; /* one running f32 gives 77149.2 */
    duet_tensor *x = duet_full(SHAPE(62500), DUET_F32, 1.23456);
    duet_tensor *rows = duet_full(SHAPE(62500, 1, 3), DUET_F32, 1.23456);
    assert_true(fabs(duet_item(duet_sum(x, DUET_NO_AXES, false), 0) - 77160) < 0.01);
    assert_true(fabs(duet_item(duet_sum(rows, DUET_INTS(0), false), 0) - 77160) < 0.01);
    assert_true(fabs(duet_item(duet_mean(x, DUET_NO_AXES, false), 0) - 1.23456) < 2e-7);
}

static void large_sums_stay_accurate(void **state) {
    (void)state;
    duet_spec spec = {.shape = SHAPE(3000000), .dtype = DUET_F32};
    duet_tensor *x = duet_abs(noisy(&spec, 5));
    double want;
    reference(&want, 1, "sum", x, 1);
    assert_true(fabs(duet_item(duet_sum(x, DUET_NO_AXES, false), 0) / want - 1) < 3e-7);
}

static void results_do_not_depend_on_threads(void **state) {
    (void)state;
    const duet_shape shapes[] = {SHAPE(2000003), SHAPE(3000, 401), SHAPE(7, 120001),
                                 SHAPE(40, 200, 90)};
    int threads = duet_pool_threads();
    for (size_t s = 0; s < LENGTH(shapes); s++)
        for (unsigned axes = 1; axes < 1u << shapes[s].rank; axes++) {
            duet_scope_open();
            duet_spec spec = {.shape = shapes[s], .dtype = DUET_F32};
            duet_tensor *x = noisy(&spec, s);
            duet_pool_set_threads(1);
            duet_tensor *one = reduce("sum", x, axes, false);
            for (int n = 2; n <= 4; n += 2) {
                duet_pool_set_threads(n);
                expect_same_bits(one, reduce("sum", x, axes, false));
            }
            duet_scope_close(NULL);
        }
    duet_pool_set_threads(threads);
}

/* ---- special values -------------------------------------------------------------------------- */

static void nothing_and_one_are_special(void **state) {
    (void)state;
    duet_tensor *none = duet_zeros(SHAPE(0, 3), DUET_F32);
    EXPECT(duet_sum(none, DUET_INTS(0), false), SHAPE(3), 0, 0, 0);
    EXPECT(duet_mean(none, DUET_INTS(0), true), SHAPE(1, 3), NAN, NAN, NAN);
    EXPECT(duet_sum(none, DUET_NO_AXES, false), DUET_SCALAR, 0);
    expect_shape(duet_sum(none, DUET_INTS(1), false), SHAPE(0));
    expect_shape(duet_max(none, DUET_INTS(1), false), SHAPE(0));
    EXPECT(duet_sum(duet_f32(3), DUET_NO_AXES, false), DUET_SCALAR, 3);
    assert_true(signbit(duet_item(duet_sum(duet_f32(-0.0f), DUET_NO_AXES, true), 0)));
}

static void expect_zeros(const duet_tensor *x, double zero) {
    for (int64_t i = 0; i < duet_tensor_count(x); i++)
        if (duet_item(x, i) != 0 || !signbit(duet_item(x, i)) != !signbit(zero))
            fail_msg("element %d of %s: expected %g, got %g", (int)i, DUET_SPEC_TEXT(&x->spec),
                     zero, duet_item(x, i));
}

/* -0 + -0 is -0 and -0 + 0 is 0, at any length: what fills vectors up takes no part. */
static void signs_of_zero_do_not_depend_on_the_length(void **state) {
    (void)state;
    static const int64_t lengths[] = {1, 2, 7, 8, 9, 16, 64, 67, 128, 129, 1024, 2048, 2050, 5000};
    for (size_t i = 0; i < LENGTH(lengths); i++)
        for (int d = DUET_F32; d <= DUET_F64; d++)
            for (int64_t width = 1; width <= 35; width += 17) {
                duet_scope_open();
                int64_t n = lengths[i];
                duet_tensor *x = duet_full(SHAPE(n, width), (duet_dtype)d, -0.0);
                duet_tensor *rows = duet_full(SHAPE(width, n), (duet_dtype)d, -0.0);
                expect_zeros(duet_sum(x, DUET_INTS(0), false), -0.0);
                expect_zeros(duet_sum(rows, DUET_INTS(1), true), -0.0);
                expect_zeros(duet_mean(x, DUET_INTS(0), false), -0.0);
                expect_zeros(duet_max(x, DUET_INTS(0), false), -0.0);
                expect_zeros(duet_sum(x, DUET_NO_AXES, false), -0.0);
                memset((char *)rows->data + (size_t)(n - 1) * duet_dtype_size((duet_dtype)d), 0,
                       duet_dtype_size((duet_dtype)d)); /* the first row's last element */
                expect_zeros(duet_sum(rows, DUET_NO_AXES, false), 0.0);
                duet_scope_close(NULL);
            }
    expect_zeros(duet_sum(duet_zeros(SHAPE(0, 35), DUET_F32), DUET_INTS(0), false), 0.0);
    expect_zeros(duet_sum(duet_zeros(SHAPE(35, 0), DUET_F64), DUET_INTS(1), true), 0.0);
    expect_zeros(duet_sum(duet_zeros(SHAPE(0), DUET_F32), DUET_NO_AXES, false), 0.0);
}

/* In every lane, and in both directions. */
static void nan_and_infinity_reach_the_result(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 67; n++)
        for (int64_t at = 0; at < n; at++) {
            duet_scope_open();
            duet_tensor *x = duet_full(SHAPE(n, 2), DUET_F32, -3),
                        *row = duet_full(SHAPE(n), DUET_F32, -3);
            ((float *)x->data)[2 * at] = ((float *)row->data)[at] = NAN;
            EXPECT(duet_max(x, DUET_INTS(0), false), SHAPE(2), NAN, -3);
            EXPECT(duet_sum(x, DUET_INTS(0), false), SHAPE(2), NAN, -3.0 * (double)n);
            EXPECT(duet_max(row, DUET_NO_AXES, false), DUET_SCALAR, NAN);
            ((float *)row->data)[at] = -INFINITY;
            EXPECT(duet_sum(row, DUET_NO_AXES, false), DUET_SCALAR, -INFINITY);
            EXPECT(duet_max(row, DUET_NO_AXES, false), DUET_SCALAR, n == 1 ? -INFINITY : -3);
            duet_scope_close(NULL);
        }
}

static void integers_wrap(void **state) {
    (void)state;
    duet_tensor *x = I32(SHAPE(2, 2), INT32_MAX, INT32_MIN, 1, -1);
    EXPECT(duet_sum(x, DUET_INTS(0), false), SHAPE(2), INT32_MIN, INT32_MAX);
    EXPECT(duet_max(x, DUET_INTS(-1), true), SHAPE(2, 1), INT32_MAX, 1);
}

/* ---- adjoints -------------------------------------------------------------------------------- */

static void broadcast_like_repeats_and_sum_to_like_sums(void **state) {
    (void)state;
    duet_tensor *x = F32(SHAPE(2, 1), 1, 2), *like = duet_zeros(SHAPE(2, 2, 3), DUET_I32);
    EXPECT(duet_broadcast_like(x, like), SHAPE(2, 2, 3), 1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2);
    EXPECT(duet_broadcast_like_axes(F32(SHAPE(2), 6, 12), duet_zeros(SHAPE(2, 3), DUET_F32),
                                    DUET_INTS(-1), true),
           SHAPE(2, 3), 2, 2, 2, 4, 4, 4);
    duet_tensor *y = F32(SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
    EXPECT(duet_sum_to_like(y, duet_f32(0)), DUET_SCALAR, 21);
    EXPECT(duet_sum_to_like(y, duet_zeros(SHAPE(3), DUET_F32)), SHAPE(3), 5, 7, 9);
    EXPECT(duet_sum_to_like(y, duet_zeros(SHAPE(2, 1), DUET_F32)), SHAPE(2, 1), 6, 15);
    EXPECT(duet_sum_to_like_axes(y, duet_zeros(SHAPE(2), DUET_F32), DUET_INTS(1), true), SHAPE(2),
           2, 5);
}

static duet_tensor *gradient(const char *name, const duet_attr *attrs, duet_tensor *x) {
    const duet_op *op = duet_op_find(name);
    duet_tensor *y = duet_apply(op, attrs, &x, 1), *one = duet_full(y->spec.shape, DUET_F32, 1);
    duet_tensor *grad = NULL;
    duet_grad call = {op, attrs, &x, &y, &one, 1, 1, 1};
    assert_int_equal(op->grad(&grad, &call), DUET_OK);
    return grad;
}

static void equal_maxima_share_the_gradient(void **state) {
    (void)state;
    duet_attr attrs[2] = {{.ints = DUET_INTS(1)}, {.b = false}};
    duet_tensor *x = F32(SHAPE(2, 3), 5, 1, 5, 2, 4, 3);
    EXPECT(gradient("max", attrs, x), SHAPE(2, 3), 0.5, 0, 0.5, 0, 1, 0);
    EXPECT(gradient("mean", attrs, x), SHAPE(2, 3), 1 / 3.f, 1 / 3.f, 1 / 3.f, 1 / 3.f, 1 / 3.f,
           1 / 3.f);
    EXPECT(gradient("relu", NULL, F32(SHAPE(4), 0, -0.0f, 2, -2)), SHAPE(4), 0, 0, 1, 0);
}

static void gradients_match_differences(void **state) {
    (void)state;
    static const char *const names[] = {"sum", "mean", "max", "broadcast_like", "sum_to_like"};
    for (size_t i = 0; i < LENGTH(names); i++) check_gradients(names[i]);
}

/* ---- inference ------------------------------------------------------------------------------- */

static void shapes_are_inferred_and_refused(void **state) {
    (void)state;
    EXPECT_INFERRED("sum", "f32[?,3,4]; axes=[1]", "f32[?,4]");
    EXPECT_INFERRED("mean", "f64[?,3]; axes=[0], keepdims=true", "f64[1,3]");
    EXPECT_INFERRED("max", "i32[2,3]", "i32[]");
    EXPECT_INFERRED("broadcast_like", "f32[3], f32[?,3]", "f32[?,3]");
    EXPECT_INFERRED("broadcast_like", "f32[?], f64[?,3]; axes=[1]", "f32[?,3]");
    EXPECT_INFERRED("sum_to_like", "f32[?,3], f32[1,3]", "f32[1,3]");
    EXPECT_INFERRED("max", "f32[0,3]; axes=[0]",
                    "max: expected at least one element in what is reduced, got x f32[0,3]");
    EXPECT_INFERRED("mean", "i32[3]", "mean: x: expected f32 or f64, got i32[3]");
    EXPECT_INFERRED("sum", "f32[3,4]; axes=[0,-2]", "sum: axis 0 is given twice");
    EXPECT_INFERRED("sum", "f32[3,4]; axes=[2]",
                    "sum: expected an axis from -2 to 1 for x f32[3,4], got 2");
    EXPECT_INFERRED("broadcast_like", "f32[2], f32[3]",
                    "broadcast_like: x f32[2] does not broadcast to like f32[3]");
    EXPECT_INFERRED("sum_to_like", "f32[3], f32[2,3]",
                    "sum_to_like: like f32[2,3] does not broadcast to x f32[3]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_set_of_axes_is_right),
        TEST(every_length_is_right),
        TEST(many_equal_numbers_sum_exactly_enough),
        TEST(large_sums_stay_accurate),
        TEST(results_do_not_depend_on_threads),
        TEST(nothing_and_one_are_special),
        TEST(signs_of_zero_do_not_depend_on_the_length),
        TEST(nan_and_infinity_reach_the_result),
        TEST(integers_wrap),
        TEST(broadcast_like_repeats_and_sum_to_like_sums),
        TEST(equal_maxima_share_the_gradient),
        TEST(gradients_match_differences),
        TEST(shapes_are_inferred_and_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
