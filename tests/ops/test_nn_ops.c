/* matmul, dense, softmax and mse: values worked out by hand or by tests/reference/nn_values.py,
 * and naive loops in double. */
#include "direct.h"
#include "ops_elementwise.h"
#include "ops_nn.h"
#include "ops_shape.h"

/* ---- matmul ---- */

/* One matrix product with strides, in double: y[i,j] = sum_p x[i*xi + p*xp] w[p*wp + j*wj]. */
static double dot(const duet_tensor *x, int64_t at_x, int64_t xp, const duet_tensor *w,
                  int64_t at_w, int64_t wp, int64_t k) {
    double sum = 0;
    for (int64_t p = 0; p < k; p++)
        sum += duet_item(x, at_x + p * xp) * duet_item(w, at_w + p * wp);
    return sum;
}

static void check_product(duet_dtype dtype, int64_t m, int64_t n, int64_t k, int flags) {
    bool ta = flags & 1, tb = flags & 2;
    duet_spec xs = {ta ? SHAPE(k, m) : SHAPE(m, k), dtype},
              ws = {tb ? SHAPE(n, k) : SHAPE(k, n), dtype};
    duet_tensor *x = noisy(&xs, 1), *w = noisy(&ws, 2), *y = duet_matmul_flags(x, w, ta, tb);
    expect_shape(y, SHAPE(m, n));
    double tolerance = dtype == DUET_F32 ? 1e-5 : 1e-13;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double expected = dot(x, ta ? i : i * k, ta ? m : 1, w, tb ? j * k : j, tb ? 1 : n, k);
            double got = duet_item(y, i * n + j);
            if (!(fabs(got - expected) <= tolerance * (1 + (double)k)))
                fail_msg("[%d,%d,%d] flags %d at %d,%d: expected %g, got %g", (int)m, (int)n,
                         (int)k, flags, (int)i, (int)j, expected, got);
        }
}

static void test_matmul(void **state) {
    (void)state;
    duet_tensor *x = F32(SHAPE(2, 3), 1, 2, 3, 4, 5, 6), *w = F32(SHAPE(3, 2), 1, 0, -1, 2, 0.5, 1);
    EXPECT(duet_matmul(x, w), SHAPE(2, 2), 0.5, 7, 2, 16);
    static const int64_t sizes[][3] = {{1, 1, 1},  {3, 5, 7},    {17, 1, 9},   {1, 19, 4},
                                       {8, 16, 1}, {33, 34, 35}, {64, 64, 20}, {100, 90, 300}};
    for (size_t i = 0; i < LENGTH(sizes); i++)
        for (int flags = 0; flags < 4; flags++)
            for (int dtype = DUET_F32; dtype <= DUET_F64; dtype++)
                check_product((duet_dtype)dtype, sizes[i][0], sizes[i][1], sizes[i][2], flags);
    check_gradients("matmul");
}

/* With an inner dimension of 0 every sum is empty: zeros, whatever the memory held before. */
static void test_matmul_of_nothing(void **state) {
    (void)state;
    duet_tensor *x = duet_zeros(SHAPE(4, 0), DUET_F32), *w = duet_zeros(SHAPE(0, 4), DUET_F32);
    EXPECT(duet_matmul(x, w), SHAPE(4, 4), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    EXPECT(duet_dense(x, w, F32(SHAPE(4), 1, 2, -3, 4), "relu"), SHAPE(4, 4), 1, 2, 0, 4, 1, 2, 0,
           4, 1, 2, 0, 4, 1, 2, 0, 4);
    expect_shape(duet_matmul(w, x), SHAPE(0, 0));
    duet_spec batched = {SHAPE(0, 2, 3), DUET_F32};
    expect_shape(duet_matmul(noisy(&batched, 1), duet_zeros(SHAPE(3, 2), DUET_F32)),
                 SHAPE(0, 2, 2));
}

static void gradients_of(duet_tensor **grads, const char *name, const duet_attr *attrs,
                         duet_tensor **in, int n_in, duet_tensor *y, duet_tensor *g) {
    const duet_op *op = duet_op_find(name);
    duet_grad call = {op, attrs, in, &y, &g, n_in, 1, ~0ull};
    assert_int_equal(op->grad(grads, &call), DUET_OK);
}

static void test_matmul_of_a_transposed_left_operand(void **state) {
    (void)state;
    duet_tensor *a = F64(SHAPE(2, 3), .7, -1.3, 2.1, -.4, 1.9, -3.2), *grads[2];
    duet_tensor *ones = F64(SHAPE(2, 2), 1, 1, 1, 1), *in[] = {a, ones};
    duet_attr attrs[] = {{.b = true}, {.b = false}};
    duet_tensor *y = duet_matmul_flags(a, ones, true, false);
    EXPECT_NEAR(y, 1e-15, SHAPE(3, 2), .3, .3, .6, .6, -1.1, -1.1);
    expect_same_bits(y, duet_matmul(duet_transpose(a, (duet_ints){0}), ones));
    duet_tensor *g = F64(SHAPE(3, 2), 1, 2, 3, 4, 5, 6);
    gradients_of(grads, "matmul", attrs, in, 2, y, g);
    EXPECT_NEAR(grads[0], 1e-15, SHAPE(2, 3), 3, 7, 11, 3, 7, 11);
    EXPECT_NEAR(grads[1], 1e-14, SHAPE(2, 2), .7 - 3.9 + 10.5, 1.4 - 5.2 + 12.6, -.4 + 5.7 - 16,
                -.8 + 7.6 - 19.2);
}

/* x times its own transpose: both operands are x, and both gradients count. */
static void test_gradient_of_x_times_its_transpose(void **state) {
    (void)state;
    duet_tensor *x = F64(SHAPE(1, 1), 1), *in[] = {x, x}, *grads[2];
    duet_attr attrs[] = {{.b = false}, {.b = true}};
    duet_tensor *y = duet_matmul_flags(x, x, false, true);
    gradients_of(grads, "matmul", attrs, in, 2, y, F64(SHAPE(1, 1), 1));
    EXPECT(duet_add(grads[0], grads[1]), SHAPE(1, 1), 2);
}

static void test_matmul_broadcasts_batches(void **state) {
    (void)state;
    static const struct {
        duet_shape x, w, y;
    } cases[] = {
        {SHAPE(2, 1, 4, 5), SHAPE(3, 5, 2), SHAPE(2, 3, 4, 2)},
        {SHAPE(4, 5), SHAPE(3, 5, 2), SHAPE(3, 4, 2)},
        {SHAPE(3, 4, 5), SHAPE(5, 2), SHAPE(3, 4, 2)},
        {SHAPE(1, 4, 5), SHAPE(3, 5, 2), SHAPE(3, 4, 2)},
        {SHAPE(3, 4, 5), SHAPE(3, 5, 2), SHAPE(3, 4, 2)},
    };
    for (size_t c = 0; c < LENGTH(cases); c++) {
        duet_spec xs = {cases[c].x, DUET_F32}, ws = {cases[c].w, DUET_F32};
        duet_tensor *x = noisy(&xs, 1), *w = noisy(&ws, 2), *y = duet_matmul(x, w);
        expect_shape(y, cases[c].y);
        duet_shape batch_x = y->spec.shape, batch_w = y->spec.shape;
        int64_t rank = batch_x.rank;
        batch_x.dims[rank - 2] = 4, batch_x.dims[rank - 1] = 5;
        batch_w.dims[rank - 2] = 5, batch_w.dims[rank - 1] = 2;
        duet_tensor *all_x = duet_broadcast_to(x, batch_x), *all_w = duet_broadcast_to(w, batch_w);
        for (int64_t b = 0; b < duet_tensor_count(y) / 8; b++)
            for (int64_t at = 0; at < 8; at++) {
                double expected = dot(all_x, b * 20 + at / 2 * 5, 1, all_w, b * 10 + at % 2, 2, 5);
                assert_true(fabs(duet_item(y, b * 8 + at) - expected) < 1e-5);
            }
    }
}

/* A transposed x cannot join the rows of its batch into one product. */
static void test_matmul_of_a_transposed_batch(void **state) {
    (void)state;
    duet_tensor *x = noisy(&(duet_spec){SHAPE(3, 5, 4), DUET_F64}, 1);
    duet_tensor *w = noisy(&(duet_spec){SHAPE(5, 2), DUET_F64}, 2);
    duet_tensor *y = duet_matmul_flags(x, w, true, false);
    duet_tensor *plain = duet_matmul(duet_transpose(x, DUET_INTS(0, 2, 1)), w);
    for (int64_t i = 0; i < 24; i++)
        assert_true(fabs(duet_item(y, i) - duet_item(plain, i)) < 1e-14);
    expect_shape(y, SHAPE(3, 4, 2));
}

static void test_matmul_infers(void **state) {
    (void)state;
    EXPECT_INFERRED("matmul", "f32[64,20], f32[21,64]",
                    "matmul: inner dimensions differ: x is f32[64,20], w is f32[21,64]");
    EXPECT_INFERRED("matmul", "f32[20,64], f32[64,21]; transpose_a=true, transpose_b=true",
                    "matmul: inner dimensions differ: x is f32[20,64] transposed, w is f32[64,21] "
                    "transposed");
    EXPECT_INFERRED("matmul", "f32[2,3,4], f32[3,4,5]",
                    "matmul: batch dimensions do not broadcast: x is f32[2,3,4], w is f32[3,4,5]");
    EXPECT_INFERRED("matmul", "f32[3], f32[3,4]", "matmul: x: expected rank 2 or more, got f32[3]");
    EXPECT_INFERRED("matmul", "i32[2,3], i32[3,4]", "matmul: x: expected f32 or f64, got i32[2,3]");
    EXPECT_INFERRED("matmul", "f32[2,3], f64[3,4]",
                    "matmul: dtypes differ: x is f32[2,3], w is f64[3,4] (use cast)");
    EXPECT_INFERRED("matmul", "f32[?,20], f32[20,64]", "f32[?,64]");
    EXPECT_INFERRED("matmul", "f32[?,20], f32[?,64]; transpose_a=true", "f32[20,64]");
    EXPECT_INFERRED("matmul", "f32[?,4,5], f32[?,5,6]", "f32[?,4,6]");
}

/* ---- dense ---- */

static void test_dense(void **state) {
    (void)state;
    duet_tensor *x = F64(SHAPE(2, 3), 0.5, -1.25, 2, 3, 0, -0.75);
    duet_tensor *w = F64(SHAPE(3, 2), 1, -0.5, 0.25, 2, -1.5, 0.75), *b = F64(SHAPE(2), 0.125, -4);
    EXPECT_NEAR(duet_dense(x, w, b, NULL), 1e-15, SHAPE(2, 2), -2.6875, -5.25, 4.25, -6.0625);
    EXPECT_NEAR(duet_dense(x, w, b, "relu"), 1e-15, SHAPE(2, 2), 0, 0, 4.25, 0);
    assert_null(duet_dense(x, w, b, "rleu"));
    assert_string_equal(duet_error_message(),
                        "dense: activation: no op \"rleu\"; did you mean \"relu\"?");
    assert_null(duet_dense(x, w, b, "matmul"));
    assert_string_equal(duet_error_message(),
                        "dense: activation: expected an op of one input and one output, got "
                        "\"matmul\"");
    assert_null(duet_dense(x, x, b, "rleu")); /* told before the product, here one that fails */
    assert_string_equal(duet_error_message(),
                        "dense: activation: no op \"rleu\"; did you mean \"relu\"?");
    check_gradients("dense");
}

/* The one op has the bits of matmul, then add, then relu. */
static void test_dense_in_one_op_has_the_same_bits(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {{1, 1, 1},    {64, 64, 20},    {33, 65, 20}, {7, 1, 64},
                                       {1, 130, 70}, {200, 300, 150}, {5, 3, 600}};
    for (size_t i = 0; i < LENGTH(sizes); i++)
        for (int dtype = DUET_F32; dtype <= DUET_F64; dtype++) {
            int64_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
            duet_tensor *x = noisy(&(duet_spec){SHAPE(m, k), dtype}, 1);
            duet_tensor *w = noisy(&(duet_spec){SHAPE(k, n), dtype}, 2);
            duet_tensor *b = noisy(&(duet_spec){SHAPE(n), dtype}, 3);
            duet_tensor *sum = duet_add(duet_matmul(x, w), b);
            expect_same_bits(duet_dense(x, w, b, NULL), sum);
            expect_same_bits(duet_dense(x, w, b, "relu"), duet_relu(sum));
            expect_same_bits(duet_dense(x, w, b, "tanh"), duet_tanh(sum));
        }
}

static void test_dense_infers(void **state) {
    (void)state;
    EXPECT_INFERRED("dense", "f32[?,7,20], f32[20,64], f32[64]", "f32[?,7,64]");
    EXPECT_INFERRED("dense", "f32[2,3], f32[4,5], f32[5]",
                    "dense: inner dimensions differ: x is f32[2,3], w is f32[4,5]");
    EXPECT_INFERRED("dense", "f32[2,3], f32[3,5], f32[4]",
                    "dense: b: expected one element for each column of w f32[3,5], got f32[4]");
    EXPECT_INFERRED("dense", "f32[2,3], f32[2,3,5], f32[5]",
                    "dense: w: expected rank 2, got f32[2,3,5]");
    EXPECT_INFERRED("dense", "f32[2,3], f32[3,5], f32[5]; activation=tanh",
                    "dense: activation: expected \"none\" or \"relu\", got \"tanh\"");
}

/* ---- softmax ---- */

static void test_softmax(void **state) {
    (void)state;
    duet_tensor *x = F64(SHAPE(2, 3), 0.5, -1.25, 2, 3, 0, -0.75), *grads[1];
    duet_tensor *g = F64(SHAPE(2, 3), 1, -2, 0.5, 0.25, 4, -1), *s = duet_softmax(x, -1);
    EXPECT_NEAR(s, 1e-15, SHAPE(2, 3), 0.17682018210744427, 0.030726740326436432,
                0.7924530775661193, 0.9317017745076629, 0.04638669994587317, 0.02191152554646392);
    gradients_of(grads, "softmax", (duet_attr[]){{.i = -1}}, &x, 1, s, g);
    EXPECT_NEAR(grads[0], 1e-15, SHAPE(2, 3), 0.08636017220368886, -0.07717307329841476,
                -0.009187098905274122, -0.136550880906954, 0.16715165675361782,
                -0.030600775846663812);
    s = duet_softmax(x, 0);
    EXPECT_NEAR(s, 1e-15, SHAPE(2, 3), 0.07585818002124356, 0.22270013882530884, 0.9399133498259924,
                0.9241418199787566, 0.7772998611746911, 0.06008665017400762);
    gradients_of(grads, "softmax", (duet_attr[]){{.i = 0}}, &x, 1, s, g);
    EXPECT_NEAR(grads[0], 1e-15, SHAPE(2, 3), 0.05257778740883112, -1.0386287219549821,
                0.08471436696731105, -0.05257778740883116, 1.0386287219549823,
                -0.08471436696731108);
    check_gradients("softmax");
}

static void test_softmax_of_extremes(void **state) {
    (void)state;
    EXPECT(duet_softmax(F32(SHAPE(3), 800, 1, 1), 0), SHAPE(3), 1, 0, 0);
    EXPECT(duet_softmax(F32(SHAPE(3), 1000, 1000, 1000), 0), SHAPE(3), 1.f / 3, 1.f / 3, 1.f / 3);
    EXPECT(duet_softmax(F64(SHAPE(2), -10000, -10000), 0), SHAPE(2), .5, .5);
    EXPECT(duet_softmax(F32(SHAPE(2), -INFINITY, 3), 0), SHAPE(2), 0, 1);
    EXPECT(duet_softmax(F32(SHAPE(2, 2), 800, -1e4f, 1, -1e4f), 0), SHAPE(2, 2), 1, .5, 0, .5);
    EXPECT(duet_softmax(F32(SHAPE(2, 2), NAN, 1, 0, 0), 1), SHAPE(2, 2), NAN, NAN, .5, .5);
    EXPECT(duet_softmax(F32(SHAPE(2, 2), 0, 1, 0, NAN), 0), SHAPE(2, 2), .5, NAN, .5, NAN);
    EXPECT(duet_softmax(F32(SHAPE(1, 2), INFINITY, 1), 1), SHAPE(1, 2), NAN, NAN);
}

/* Along each axis of many shapes: the sum of exp(x - max) in plain double. */
static void check_softmax(duet_shape shape, int64_t axis, duet_dtype dtype) {
    duet_tensor *x = noisy(&(duet_spec){shape, dtype}, 5), *s = duet_softmax(x, axis);
    expect_shape(s, shape);
    int64_t inner = 1, count = shape.dims[axis];
    for (int64_t i = axis + 1; i < shape.rank; i++) inner *= shape.dims[i];
    for (int64_t i = 0; i < duet_tensor_count(x); i++) {
        int64_t first = i / (inner * count) * inner * count + i % inner;
        double most = -INFINITY, sum = 0;
        for (int64_t k = 0; k < count; k++) most = fmax(most, duet_item(x, first + k * inner));
        for (int64_t k = 0; k < count; k++) sum += exp(duet_item(x, first + k * inner) - most);
        double expected = exp(duet_item(x, i) - most) / sum;
        if (!(fabs(duet_item(s, i) - expected) <= (dtype == DUET_F32 ? 4e-7 : 1e-15) * expected))
            fail_msg("softmax of %s, axis %d, element %d: expected %.17g, got %.17g",
                     DUET_SHAPE_TEXT(&shape), (int)axis, (int)i, expected, duet_item(s, i));
    }
}

static void test_softmax_of_many_lengths(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 67; n++) {
        check_softmax(SHAPE(2, n), 1, DUET_F32);
        check_softmax(SHAPE(2, n), 1, DUET_F64);
        check_softmax(SHAPE(3, n), 0, DUET_F32);
        check_softmax(SHAPE(3, n), 0, DUET_F64);
    }
    check_softmax(SHAPE(2, 5, 150), 1, DUET_F32);
    check_softmax(SHAPE(1, 3000), 1, DUET_F32);
    check_softmax(SHAPE(4, 3, 2, 5), 2, DUET_F64);
    EXPECT_INFERRED("softmax", "f32[?,10]", "f32[?,10]");
    EXPECT_INFERRED("softmax", "i32[3]", "softmax: x: expected f32 or f64, got i32[3]");
    EXPECT_INFERRED("softmax", "f32[]",
                    "softmax: expected an axis from 0 to -1 for x f32[], got -1");
}

/* ---- mse ---- */

static void test_mse(void **state) {
    (void)state;
    duet_tensor *y = F64(SHAPE(2, 3), 0.5, -1.25, 2, 3, 0, -0.75);
    duet_tensor *t = F64(SHAPE(2, 3), 1, -2, 0.5, 0.25, 4, -1), *in[] = {y, t}, *grads[2];
    duet_tensor *loss = duet_mse(y, t);
    EXPECT_NEAR(loss, 1e-15, DUET_SCALAR, 4.447916666666667);
    gradients_of(grads, "mse", NULL, in, 2, loss, duet_f64(3));
    EXPECT_NEAR(grads[0], 1e-15, SHAPE(2, 3), -0.5, 0.75, 1.5, 2.75, -4, 0.25);
    EXPECT_NEAR(grads[1], 1e-15, SHAPE(2, 3), 0.5, -0.75, -1.5, -2.75, 4, -0.25);
    check_gradients("mse");
    check_gradients("mse_grad");
    duet_tensor *none = duet_zeros(SHAPE(0, 2), DUET_F32);
    EXPECT(duet_mse(none, none), DUET_SCALAR, NAN);
    EXPECT_INFERRED("mse", "f32[64,1], f32[64]",
                    "mse: shapes differ: y is f32[64,1], t is f32[64]");
    EXPECT_INFERRED("mse", "f32[?,1], f32[64,1]", "f32[]");
    EXPECT_INFERRED("mse_grad", "f32[], f32[?,1], f32[64,1]", "f32[64,1]");
}

/* A long sum stays exact to f32's last bit: no running f32 anywhere. */
static void test_mse_of_many(void **state) {
    (void)state;
    static const int64_t counts[] = {7, 8, 9, 4095, 4096, 4097, 300001};
    for (size_t i = 0; i < LENGTH(counts); i++) {
        int64_t n = counts[i];
        duet_tensor *y = duet_full(SHAPE(n), DUET_F32, 1.25), *t = duet_zeros(SHAPE(n), DUET_F32);
        EXPECT(duet_mse(y, t), DUET_SCALAR, 1.5625);
        ((float *)y->data)[n - 1] = 0.25f;
        EXPECT_NEAR(duet_mse(y, t), 1e-7, DUET_SCALAR, 1.5625 - 1.5 / (double)n);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_matmul),
        TEST(test_matmul_of_nothing),
        TEST(test_matmul_of_a_transposed_left_operand),
        TEST(test_gradient_of_x_times_its_transpose),
        TEST(test_matmul_broadcasts_batches),
        TEST(test_matmul_of_a_transposed_batch),
        TEST(test_matmul_infers),
        TEST(test_dense),
        TEST(test_dense_in_one_op_has_the_same_bits),
        TEST(test_dense_infers),
        TEST(test_softmax),
        TEST(test_softmax_of_extremes),
        TEST(test_softmax_of_many_lengths),
        TEST(test_mse),
        TEST(test_mse_of_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
