/* Elementwise ops against formulas written again in double, lane by lane. */
#include "direct.h"
#include "ops_elementwise.h"
#include "pool.h"

#include <float.h>

enum { MOST = 67 }; /* covers bodies and tails of every vector width */

/* What lanes may hold. Each value meets each lane as the list is turned. */
static const double specials[] = {NAN,    INFINITY, -INFINITY, 0.0,      -0.0,    1e-310,  -1e-310,
                                  1e-41,  -1e-41,   FLT_MAX,   -FLT_MAX, 1.0,     -1.0,    0.5,
                                  -2.5,   3.0,      88.0,      -87.5,    100.0,   -104.0,  709.0,
                                  -745.0, 1e-8,     -1e-8,     1e30,     DBL_MAX, 0x1p-126};

/* ---- the formulas ---------------------------------------------------------------------------- */

static double f_neg(double x, double y) { return (void)y, -x; }
static double f_abs(double x, double y) { return (void)y, fabs(x); }
static double f_square(double x, double y) { return (void)y, x * x; }
static double f_sqrt(double x, double y) { return (void)y, sqrt(x); }
static double f_relu(double x, double y) { return (void)y, isnan(x) ? x : x < 0 ? 0 : x; }
static double f_exp(double x, double y) { return (void)y, exp(x); }
static double f_log(double x, double y) { return (void)y, log(x); }
static double f_tanh(double x, double y) { return (void)y, tanh(x); }
static double f_sigmoid(double x, double y) { return (void)y, 1 / (1 + exp(-x)); }
static double f_add(double x, double y) { return x + y; }
static double f_sub(double x, double y) { return x - y; }
static double f_mul(double x, double y) { return x * y; }
static double f_div(double x, double y) { return x / y; }
static double f_maximum(double x, double y) { return isnan(x) || isnan(y) ? NAN : x > y ? x : y; }
static double f_minimum(double x, double y) { return isnan(x) || isnan(y) ? NAN : x < y ? x : y; }
static double f_relu_grad(double x, double y) { return y > 0 ? x : 0; }
static double f_greater(double x, double y) { return x > y; }
static double f_equal(double x, double y) { return x == y; }

static const struct formula {
    const char *name;
    int arity;
    double (*of)(double x, double y);
    double ulp; /* how far results may be off */
} formulas[] = {
    {"neg", 1, f_neg, 0},         {"abs", 1, f_abs, 0},
    {"square", 1, f_square, 0},   {"sqrt", 1, f_sqrt, 0},
    {"relu", 1, f_relu, 0},       {"exp", 1, f_exp, 4},
    {"log", 1, f_log, 4},         {"tanh", 1, f_tanh, 4},
    {"sigmoid", 1, f_sigmoid, 4}, {"add", 2, f_add, 0},
    {"sub", 2, f_sub, 0},         {"mul", 2, f_mul, 0},
    {"div", 2, f_div, 0},         {"maximum", 2, f_maximum, 0},
    {"minimum", 2, f_minimum, 0}, {"relu_grad", 2, f_relu_grad, 0},
    {"greater", 2, f_greater, 0}, {"equal", 2, f_equal, 0},
};

/* The distance of `got` from `exact` in units of the last place of `dtype` at `exact`. One f32
 * operation in double, then rounded, is the f32 operation (S. Figueroa, "When is double rounding
 * innocuous?", 1995), so 0 is asked of the basic ones. */
static double ulps(double got, double exact, duet_dtype dtype) {
    double rounded = dtype == DUET_F32 ? (double)(float)exact : exact;
    if (isnan(exact) || isnan(got)) return isnan(exact) && isnan(got) ? 0 : INFINITY;
    if (got == rounded) return signbit(got) == signbit(rounded) ? 0 : INFINITY;
    if (isinf(got) || isinf(rounded)) return INFINITY;
    int exponent, digits = dtype == DUET_F32 ? 24 : 53, least = dtype == DUET_F32 ? -149 : -1074;
    frexp(exact, &exponent);
    return fabs(got - exact) / ldexp(1, exponent - digits > least ? exponent - digits : least);
}

static duet_tensor *apply(const char *name, duet_tensor *x, duet_tensor *y) {
    const duet_op *op = duet_op_find(name);
    assert_non_null(op);
    return duet_apply(op, NULL, (duet_tensor *[]){x, y}, op->n_in);
}

static duet_tensor *turned_specials(duet_dtype dtype, int64_t n, int64_t turn) {
    double data[MOST];
    for (int64_t i = 0; i < n; i++) data[i] = specials[(i + turn) % (int64_t)LENGTH(specials)];
    duet_tensor *x = duet_from_data(SHAPE(n), DUET_F64, data);
    return dtype == DUET_F64 ? x : duet_cast(x, dtype);
}

static void expect_formula(const struct formula *f, duet_tensor *x, duet_tensor *y) {
    duet_dtype dtype = duet_tensor_dtype(x);
    duet_tensor *out = apply(f->name, x, y);
    int64_t nx = duet_tensor_count(x), ny = duet_tensor_count(y), n = nx > ny ? nx : ny;
    if (f->arity == 1) n = nx;
    for (int64_t i = 0; i < n; i++) {
        double a = duet_item(x, nx == 1 ? 0 : i), b = duet_item(y, ny == 1 ? 0 : i);
        double exact = f->of(a, b), got = duet_item(out, i);
        if (ulps(got, exact, dtype) > f->ulp)
            fail_msg("%s of %d %s, lane %d: x %.17g, y %.17g: expected %.17g, got %.17g", f->name,
                     (int)n, duet_dtype_name(dtype), (int)i, a, b, exact, got);
    }
}

static void specials_are_right_in_every_lane(void **state) {
    (void)state;
    for (size_t k = 0; k < LENGTH(formulas); k++)
        for (int64_t n = 1; n <= MOST; n++)
            for (int64_t turn = 0; turn < (int64_t)LENGTH(specials); turn += n < 20 ? 1 : 9)
                for (int d = DUET_F32; d <= DUET_F64; d++) {
                    duet_scope_open();
                    duet_tensor *x = turned_specials((duet_dtype)d, n, turn);
                    duet_tensor *y = turned_specials((duet_dtype)d, n, 5 * turn + 2);
                    expect_formula(&formulas[k], x, y);
                    duet_scope_close(NULL);
                }
}

static void scalar_operands_are_right_on_either_side(void **state) {
    (void)state;
    for (size_t k = 0; k < LENGTH(formulas); k++)
        for (int64_t n = 1; n <= MOST; n += 3)
            for (int64_t s = 0; s < (int64_t)LENGTH(specials); s++)
                for (int d = DUET_F32; d <= DUET_F64; d++) {
                    duet_scope_open();
                    duet_tensor *x = turned_specials((duet_dtype)d, n, s);
                    duet_tensor *one = duet_full(DUET_SCALAR, (duet_dtype)d, specials[s]);
                    expect_formula(&formulas[k], x, one);
                    if (formulas[k].arity == 2) expect_formula(&formulas[k], one, x);
                    duet_scope_close(NULL);
                }
}

/* A lane's result does not depend on its place: the same value alone gives the same bits. */
static void every_place_gives_the_same_bits(void **state) {
    (void)state;
    for (size_t k = 0; k < LENGTH(formulas); k++)
        for (int d = DUET_F32; d <= DUET_F64; d++) {
            duet_spec spec = {.shape = SHAPE(MOST), .dtype = d};
            duet_tensor *x = noisy(&spec, k), *y = noisy(&spec, k + 100);
            duet_tensor *all = apply(formulas[k].name, x, y);
            size_t size = duet_dtype_size(duet_tensor_dtype(all)),
                   in = duet_dtype_size((duet_dtype)d);
            for (size_t i = 0; i < MOST; i++) {
                duet_tensor *one_x = duet_from_data(SHAPE(1), d, (char *)x->data + i * in);
                duet_tensor *one_y = duet_from_data(SHAPE(1), d, (char *)y->data + i * in);
                duet_tensor *one = apply(formulas[k].name, one_x, one_y);
                assert_memory_equal(one->data, (char *)all->data + i * size, size);
            }
        }
}

static void results_may_overwrite_an_operand(void **state) {
    (void)state;
    for (int64_t n = 1; n <= MOST; n++) {
        duet_spec spec = {.shape = SHAPE(n), .dtype = DUET_F32};
        duet_tensor *x = noisy(&spec, 1), *y = noisy(&spec, 2), *sum = duet_sub(x, y);
        for (int which = 0; which < 2; which++) {
            duet_tensor *a = duet_from_data(SHAPE(n), DUET_F32, x->data);
            duet_tensor *b = duet_from_data(SHAPE(n), DUET_F32, y->data);
            duet_view in[2] = {{a->data, &spec}, {b->data, &spec}};
            const duet_op *op = duet_op_find("sub");
            assert_int_equal(op->run(&(duet_kernel){op, NULL, in, &in[which], 2, 1}), DUET_OK);
            assert_memory_equal(in[which].data, sum->data, (size_t)n * sizeof(float));
        }
    }
}

/* ---- accuracy -------------------------------------------------------------------------------- */

static void functions_are_accurate_over_wide_ranges(void **state) {
    (void)state;
    static const struct range {
        const char *name;
        double (*of)(double, double);
        double low, high;
    } ranges[] = {{"exp", f_exp, -104, 89},        {"exp", f_exp, -1, 1},
                  {"log", f_log, 1e-38, 1e38},     {"log", f_log, 0.5, 2},
                  {"tanh", f_tanh, -10, 10},       {"tanh", f_tanh, -1e-3, 1e-3},
                  {"sigmoid", f_sigmoid, -80, 80}, {"sigmoid", f_sigmoid, -1, 1}};
    enum { COUNT = 20000 };
    for (size_t k = 0; k < LENGTH(ranges); k++)
        for (int d = DUET_F32; d <= DUET_F64; d++) {
            const struct range *r = &ranges[k];
            duet_scope_open();
            duet_tensor *x = duet_zeros(SHAPE(COUNT), DUET_F64);
            double worst = 0, low = r->low, high = r->high;
            for (int i = 0; i < COUNT; i++) {
                double t = (noise((uint64_t)i) + 1) / 2;
                ((double *)x->data)[i] =
                    low > 0 ? low * pow(high / low, t) : low + (high - low) * t;
            }
            x = duet_cast(x, (duet_dtype)d);
            duet_tensor *y = apply(r->name, x, NULL);
            for (int i = 0; i < COUNT; i++) {
                double off = ulps(duet_item(y, i), r->of(duet_item(x, i), 0), (duet_dtype)d);
                if (off > worst) worst = off;
            }
            print_message("%-7s %s on [%g, %g]: %.2f ulp\n", r->name, duet_dtype_name(d), low, high,
                          worst);
            assert_true(worst <= 4);
            duet_scope_close(NULL);
        }
}

/* ---- values from public reports (the numbers are worked out in f32 by hand and with NumPy) --- */

static void a_product_with_zero_is_not_folded(void **state) {
    (void)state;
    duet_tensor *x = F32(SHAPE(4), 1, INFINITY, -INFINITY, NAN);
    EXPECT(duet_mul(x, duet_f32(0)), SHAPE(4), 0, NAN, NAN, NAN);
    EXPECT(duet_sub(x, x), SHAPE(4), 0, NAN, NAN, NAN);
    EXPECT(duet_div(duet_f32(0), duet_sub(x, x)), SHAPE(4), NAN, NAN, NAN, NAN);
}

static void one_over_one_over_seven_keeps_its_roundings(void **state) {
    (void)state;
    duet_tensor *y = duet_div(duet_f32(1), duet_div(duet_f32(1), duet_f32(7)));
    uint32_t bits;
    memcpy(&bits, y->data, sizeof bits);
    assert_int_equal(bits, 0x40DFFFFF);
}

static duet_tensor *step(duet_tensor *x) {
    return duet_relu(duet_add(duet_mul(x, duet_f32(0.99f)), duet_f32(0.01f)));
}

static void a_scale_and_a_shift_round_apart(void **state) {
    (void)state;
    EXPECT(step(duet_f32(0.320711106f)), DUET_SCALAR, 0.327503979f);
    duet_tensor *x = duet_full(SHAPE(MOST), DUET_F32, 0), *y = duet_full(SHAPE(MOST), DUET_F32, 2);
    for (int i = 0; i < 50; i++) x = step(x), y = step(y);
    for (int64_t i = 0; i < MOST; i++) {
        assert_true(duet_item(x, i) == 0.394993901f);
        assert_true(duet_item(y, i) == 1.60500658f);
    }
}

static void softmax_from_its_parts_neither_over_nor_underflows(void **state) {
    (void)state;
    duet_tensor *in[] = {F32(SHAPE(3), 800, 1, 1), F32(SHAPE(3), 1000, 1000, 1000),
                         F32(SHAPE(3), -10000, -10000, -10000)};
    const double expected[] = {1, 1.0 / 3, 1.0 / 3};
    for (int i = 0; i < 3; i++) {
        duet_tensor *e = duet_exp(duet_sub(in[i], duet_max(in[i], DUET_NO_AXES, false)));
        duet_tensor *y = duet_div(e, duet_sum(e, DUET_NO_AXES, false));
        assert_true(fabs(duet_item(y, 0) - expected[i]) < 1e-7);
    }
}

/* ---- integers and conversions ---------------------------------------------------------------- */

static void integers_wrap_and_never_trap(void **state) {
    (void)state;
    const int32_t least = INT32_MIN, most = INT32_MAX;
    duet_tensor *x = I32(SHAPE(6), most, least, least, 7, -7, 65536);
    duet_tensor *y = I32(SHAPE(6), 1, -1, 0, 2, 2, 65536);
    EXPECT(duet_add(x, y), SHAPE(6), least, most, least, 9, -5, 131072);
    EXPECT(duet_sub(y, x), SHAPE(6), -2147483646, most, least, -5, 9, 0);
    EXPECT(duet_mul(x, y), SHAPE(6), most, least, 0, 14, -14, 0);
    EXPECT(duet_div(x, y), SHAPE(6), most, least, 0, 3, -3, 1);
    EXPECT(duet_neg(x), SHAPE(6), -2147483647, least, least, -7, 7, -65536);
    EXPECT(duet_abs(x), SHAPE(6), most, least, least, 7, 7, 65536);
    EXPECT(duet_square(x), SHAPE(6), 1, 0, 0, 49, 49, 0);
    EXPECT(duet_maximum(x, y), SHAPE(6), most, -1, 0, 7, 2, 65536);
    EXPECT(duet_greater(x, y), SHAPE(6), 1, 0, 0, 1, 0, 0);
    EXPECT(duet_equal(x, y), SHAPE(6), 0, 0, 0, 0, 0, 1);
    EXPECT(duet_relu(x), SHAPE(6), most, 0, 0, 7, 0, 65536);
}

static void casts_are_defined_for_every_value(void **state) {
    (void)state;
    duet_tensor *x =
        F32(SHAPE(9), 1.9f, -1.9f, NAN, INFINITY, -INFINITY, 3e9f, -3e9f, -0.0f, 1e-40f);
    EXPECT(duet_cast(x, DUET_I32), SHAPE(9), 1, -1, 0, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN,
           0, 0);
    EXPECT(duet_cast(x, DUET_BOOL), SHAPE(9), 1, 1, 1, 1, 1, 1, 1, 0, 1);
    EXPECT(duet_cast(F64(SHAPE(3), 0.1, 1e300, -1e-60), DUET_F32), SHAPE(3), 0.1f, INFINITY, 0);
    EXPECT(duet_cast(I32(SHAPE(2), 16777217, -1), DUET_F32), SHAPE(2), 16777216, -1);
    EXPECT(duet_cast(duet_cast(x, DUET_BOOL), DUET_F64), SHAPE(9), 1, 1, 1, 1, 1, 1, 1, 0, 1);
}

static void where_chooses_and_does_not_compute(void **state) {
    (void)state;
    for (int64_t n = 1; n <= MOST; n++)
        for (int scalars = 0; scalars < 8; scalars++) {
            duet_spec spec = {.shape = SHAPE(n), .dtype = DUET_F32}, one = {.dtype = DUET_F32};
            duet_spec choice = {.shape = SHAPE(n), .dtype = DUET_BOOL}, bit = {.dtype = DUET_BOOL};
            duet_tensor *c = noisy(scalars & 1 ? &bit : &choice, 3);
            duet_tensor *y = noisy(scalars & 2 ? &one : &spec, 4);
            duet_tensor *z = noisy(scalars & 4 ? &one : &spec, 5), *out = duet_where(c, y, z);
            for (int64_t i = 0; i < duet_tensor_count(out); i++) {
                double chosen = duet_item(c, scalars & 1 ? 0 : i)
                                    ? duet_item(y, scalars & 2 ? 0 : i)
                                    : duet_item(z, scalars & 4 ? 0 : i);
                assert_true(duet_item(out, i) == chosen);
            }
        }
    EXPECT(duet_where(duet_greater(F32(SHAPE(2), 0, 4), duet_f32(0.5f)),
                      duet_sqrt(F32(SHAPE(2), -1, 4)), duet_f32(1)),
           SHAPE(2), 1, 2);
}

/* ---- broadcasting ---------------------------------------------------------------------------- */

static void every_broadcast_is_right(void **state) {
    (void)state;
    static const char *const samples[] = {"f32[64,64], f32[64]",
                                          "f32[64,64], f32[64,1]",
                                          "f32[2,1,4,64], f32[2,1,4,1]",
                                          "f32[5,1,7], f32[3,1]",
                                          "f32[1], f32[67]",
                                          "f32[3,1,5,1,2,1], f32[4,1,3,1,2]",
                                          "f32[64,64,3], f32[64,64,1]",
                                          "f32[700,3], f32[3]",
                                          "f32[1,1], f32[3,4,5]",
                                          "f32[2,600], f32[600]",
                                          "f32[1000,2], f32[1000,1]",
                                          "f32[0,3], f32[1,3]",
                                          "f32[17,1], f32[1,33]",
                                          "f32[3,4,1,1,1,1], f32[1,1,2,2,2,2]"};
    for (size_t k = 0; k < LENGTH(samples); k++)
        for (int d = DUET_F32; d <= DUET_I32; d++) {
            duet_sample sample;
            const duet_op *op = duet_op_find("sub");
            assert_int_equal(duet_sample_parse(&sample, op, samples[k]), DUET_OK);
            sample.specs[0].dtype = sample.specs[1].dtype = d;
            duet_tensor *x = noisy(&sample.specs[0], 1), *y = noisy(&sample.specs[1], 2);
            for (int swap = 0; swap < 2; swap++) {
                duet_tensor *a = swap ? y : x, *b = swap ? x : y, *out = duet_sub(a, b);
                const duet_shape *shape = &out->spec.shape;
                for (int64_t i = 0; i < duet_shape_count(shape); i++) {
                    double want = broadcast_item(a, shape, i) - broadcast_item(b, shape, i);
                    assert_true(ulps(duet_item(out, i), want, (duet_dtype)d) == 0);
                }
            }
        }
}

static void results_do_not_depend_on_threads(void **state) {
    (void)state;
    int threads = duet_pool_threads();
    duet_spec spec = {.shape = SHAPE(1001, 701), .dtype = DUET_F32}, row = {SHAPE(701), DUET_F32};
    duet_tensor *x = noisy(&spec, 1), *y = noisy(&row, 2);
    duet_pool_set_threads(1);
    duet_tensor *one = duet_tanh(duet_add(x, y));
    duet_pool_set_threads(4);
    duet_tensor *four = duet_tanh(duet_add(x, y));
    duet_pool_set_threads(threads);
    expect_same_bits(one, four);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void refusals_say_what_came(void **state) {
    (void)state;
    EXPECT_INFERRED("add", "f32[3,1], f32[2,1,4]", "f32[2,3,4]");
    EXPECT_INFERRED("add", "f32[?,20], f32[20]", "f32[?,20]");
    EXPECT_INFERRED("add", "f32[?,20], f32[]", "f32[?,20]");
    EXPECT_INFERRED("greater", "i32[3], i32[3]", "bool[3]");
    EXPECT_INFERRED("where", "bool[3,1], f64[4], f64[]", "f64[3,4]");
    EXPECT_INFERRED("cast", "f32[?,2]; dtype=bool", "bool[?,2]");
    EXPECT_INFERRED("add", "f32[3], f32[4]",
                    "add: shapes do not broadcast: x is f32[3], y is f32[4]");
    EXPECT_INFERRED("mul", "f32[3], f64[3]",
                    "mul: dtypes differ: x is f32[3], y is f64[3] (use cast)");
    EXPECT_INFERRED("exp", "i32[3]", "exp: x: expected f32 or f64, got i32[3]");
    EXPECT_INFERRED("add", "bool[3], bool[3]", "add: x: expected f32 or f64 or i32, got bool[3]");
    EXPECT_INFERRED("where", "f32[3], f32[3], f32[3]", "where: x: expected bool, got f32[3]");
    EXPECT_INFERRED("where", "bool[4194304,1,1], f32[1,2097152,1], f32[1,1,2097152]",
                    "where: f32[4194304,2097152,2097152] has more bytes than a program can "
                    "address");
    EXPECT_INFERRED("mul", "i32[4194304,1,?], i32[1,4194304,1]", "i32[4194304,4194304,?]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(specials_are_right_in_every_lane),
        TEST(scalar_operands_are_right_on_either_side),
        TEST(every_place_gives_the_same_bits),
        TEST(results_may_overwrite_an_operand),
        TEST(functions_are_accurate_over_wide_ranges),
        TEST(a_product_with_zero_is_not_folded),
        TEST(one_over_one_over_seven_keeps_its_roundings),
        TEST(a_scale_and_a_shift_round_apart),
        TEST(softmax_from_its_parts_neither_over_nor_underflows),
        TEST(integers_wrap_and_never_trap),
        TEST(casts_are_defined_for_every_value),
        TEST(where_chooses_and_does_not_compute),
        TEST(every_broadcast_is_right),
        TEST(results_do_not_depend_on_threads),
        TEST(refusals_say_what_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
