/* Elementwise ops: special values of the functions, integers, conversions, refusals. The compiled
 * loops are tested in test_elementwise_forms.c, accuracy and bits in test_elementwise_bits.c. */
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

/* ---- the functions that do not round correctly ------------------------------------------------
 */

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static const struct formula {
    const char *name;
    double (*of)(double x);
} formulas[] = {{"exp", exp}, {"log", log}, {"tanh", tanh}, {"sigmoid", sigmoid}};

/* The distance of `got` from `exact` in units of the last place of `dtype` at `exact`. */
static double ulps(double got, double exact, duet_dtype dtype) {
    double rounded = dtype == DUET_F32 ? (double)(float)exact : exact;
    if (isnan(exact) || isnan(got)) return isnan(exact) && isnan(got) ? 0 : INFINITY;
    if (got == rounded) return signbit(got) == signbit(rounded) ? 0 : INFINITY;
    if (isinf(got) || isinf(rounded)) return INFINITY;
    int exponent, digits = dtype == DUET_F32 ? 24 : 53, least = dtype == DUET_F32 ? -149 : -1074;
    frexp(exact, &exponent);
    return fabs(got - exact) / ldexp(1, exponent - digits > least ? exponent - digits : least);
}

static duet_tensor *turned_specials(duet_dtype dtype, int64_t n, int64_t turn) {
    double data[MOST];
    for (int64_t i = 0; i < n; i++) data[i] = specials[(i + turn) % (int64_t)LENGTH(specials)];
    duet_tensor *x = duet_from_data(SHAPE(n), DUET_F64, data);
    return dtype == DUET_F64 ? x : duet_cast(x, dtype);
}

static void specials_are_right_in_every_lane(void **state) {
    (void)state;
    for (size_t k = 0; k < LENGTH(formulas); k++)
        for (int64_t n = 1; n <= MOST; n++)
            for (int64_t turn = 0; turn < (int64_t)LENGTH(specials); turn += n < 20 ? 1 : 9)
                for (int d = DUET_F32; d <= DUET_F64; d++) {
                    duet_scope_open();
                    duet_tensor *x = turned_specials((duet_dtype)d, n, turn);
                    duet_tensor *y = duet_apply1(duet_op_find(formulas[k].name), x);
                    for (int64_t i = 0; i < n; i++) {
                        double exact = formulas[k].of(duet_item(x, i)), got = duet_item(y, i);
                        if (ulps(got, exact, (duet_dtype)d) > 4)
                            fail_msg("%s of %d %s, lane %d: x %.17g: expected %.17g, got %.17g",
                                     formulas[k].name, (int)n, duet_dtype_name((duet_dtype)d),
                                     (int)i, duet_item(x, i), exact, got);
                    }
                    duet_scope_close(NULL);
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

/* What is not chosen may be NaN. */
static void where_chooses_and_does_not_compute(void **state) {
    (void)state;
    EXPECT(duet_where(duet_greater(F32(SHAPE(2), 0, 4), duet_f32(0.5f)),
                      duet_sqrt(F32(SHAPE(2), -1, 4)), duet_f32(1)),
           SHAPE(2), 1, 2);
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
        TEST(specials_are_right_in_every_lane),  TEST(integers_wrap_and_never_trap),
        TEST(casts_are_defined_for_every_value), TEST(where_chooses_and_does_not_compute),
        TEST(results_do_not_depend_on_threads),  TEST(refusals_say_what_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
