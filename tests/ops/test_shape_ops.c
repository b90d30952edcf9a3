/* Ops that move elements: against hand-written values, and against an index-by-index copy. */
#include "direct.h"
#include "ops_shape.h"

/* ---- reshape ------------------------------------------------------------------------------------
 */

static void test_reshape(void **state) {
    (void)state;
    duet_tensor *x = F32(SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
    EXPECT(duet_reshape(x, SHAPE(3, 2)), SHAPE(3, 2), 1, 2, 3, 4, 5, 6);
    EXPECT(duet_reshape(x, SHAPE(-1)), SHAPE(6), 1, 2, 3, 4, 5, 6);
    EXPECT(duet_reshape(x, SHAPE(1, -1, 2)), SHAPE(1, 3, 2), 1, 2, 3, 4, 5, 6);
    EXPECT(duet_reshape_like(x, I32(SHAPE(6), 0, 0, 0, 0, 0, 0)), SHAPE(6), 1, 2, 3, 4, 5, 6);
    EXPECT(duet_reshape(duet_f64(7), SHAPE(1, 1)), SHAPE(1, 1), 7);
    check_gradients("reshape");
    check_gradients("reshape_like");
}

static void test_reshape_infers(void **state) {
    (void)state;
    EXPECT_INFERRED("reshape", "f32[?,20]; shape=[-1,5,4]", "f32[?,5,4]");
    EXPECT_INFERRED("reshape", "f32[?,20]; shape=[64,20]", "f32[64,20]");
    EXPECT_INFERRED("reshape", "i32[0,3]; shape=[-1,3]", "i32[0,3]");
    EXPECT_INFERRED("reshape", "f32[2,3]; shape=[4,2]",
                    "reshape: x f32[2,3] has 6 elements, shape [4,2] has 8");
    EXPECT_INFERRED(
        "reshape", "f32[2,3]; shape=[4,-1]",
        "reshape: the 6 elements of x f32[2,3] leave no number for the ? of shape [4,?]");
    EXPECT_INFERRED(
        "reshape", "f32[0,3]; shape=[0,-1]",
        "reshape: the 0 elements of x f32[0,3] leave no number for the ? of shape [0,?]");
    EXPECT_INFERRED("reshape", "f32[2,3]; shape=[-1,-1]",
                    "reshape: shape: expected at most one -1, got dimensions 0 and 1");
    EXPECT_INFERRED("reshape", "f32[2,3]; shape=[2,-3]",
                    "reshape: shape: expected dimensions of 0 or more, or one -1, got -3 as "
                    "dimension 1");
    EXPECT_INFERRED("reshape_like", "f32[?,2], i32[3,4]", "f32[3,4]");
    EXPECT_INFERRED("reshape_like", "f32[2,3], f32[7]",
                    "reshape_like: x f32[2,3] has 6 elements, like f32[7] has 7");
}

/* Sizes that wrap around in 64 bits are refused before anything is allocated. */
static void test_sizes_that_overflow(void **state) {
    (void)state;
    const char *shapes[] = {"[2,2,1,2305843009213693952]", "[4611686018427387904]",
                            "[0,4611686018427387904]", "[4294967296,4294967296]"};
    for (size_t i = 0; i < LENGTH(shapes); i++) {
        char sample[128];
        snprintf(sample, sizeof sample, "f32[0]; shape=%s", shapes[i]);
        assert_non_null(strstr(inferred("reshape", sample), "reshape: "));
        snprintf(sample, sizeof sample, "f32[]; shape=%s", shapes[i]);
        assert_non_null(strstr(inferred("broadcast_to", sample), "broadcast_to: "));
        assert_non_null(strstr(inferred("broadcast_to", sample), "bytes"));
    }
    assert_non_null(strstr(inferred("matmul", "f32[4294967296,0], f32[0,4294967296]"), "bytes"));
    assert_non_null(strstr(inferred("concat", "bool[9223372036854775807], bool[1]; axis=0"),
                           "concat: axis 0 grows past 63 bits with x1 bool[1]"));
}

/* ---- transpose and broadcast_to
 * ------------------------------------------------------------------ */

/* The offset in `shape` of the index that `rank` entries of `index` make. */
static int64_t offset(const duet_shape *shape, const int64_t *index) {
    int64_t at = 0;
    for (int64_t i = 0; i < shape->rank; i++) at = at * shape->dims[i] + index[i];
    return at;
}

/* Steps `index` through `shape` in row-major order. */
static void step(int64_t *index, const duet_shape *shape) {
    for (int64_t i = shape->rank - 1; i >= 0 && ++index[i] == shape->dims[i]; i--) index[i] = 0;
}

static void check_transpose(const char *spec_text, duet_ints perm) {
    const char *end;
    duet_spec spec;
    assert_true(duet_spec_parse(&spec, spec_text, &end));
    duet_tensor *x = noisy(&spec, 1), *y = duet_transpose(x, perm);
    assert_non_null(y);
    size_t size = duet_dtype_size((duet_dtype)spec.dtype);
    int64_t index[DUET_MAX_RANK] = {0};
    for (int64_t i = 0; i < duet_tensor_count(y); i++, step(index, &y->spec.shape)) {
        int64_t from[DUET_MAX_RANK] = {0};
        for (int64_t d = 0; d < spec.shape.rank; d++)
            from[perm.count ? perm.at[d] : spec.shape.rank - 1 - d] = index[d];
        if (memcmp((char *)y->data + i * (int64_t)size,
                   (char *)x->data + offset(&spec.shape, from) * (int64_t)size, size) != 0)
            fail_msg("transpose of %s: element %d", spec_text, (int)i);
    }
}

/* The same where tensors are made: the message names what is wrong, and nothing was allocated. */
static void test_tensors_that_cannot_be(void **state) {
    (void)state;
    const int64_t one = 1;
    const struct {
        duet_shape shape;
        duet_status status;
        const char *text;
    } cases[] = {
        {SHAPE(2, 2, 1, one << 61), DUET_STATUS_OVERFLOW, "[2,2,1,2305843009213693952]"},
        {SHAPE((one << 59) + 1), DUET_STATUS_OVERFLOW, "[576460752303423489]"},
        {SHAPE((one << 62) + 2), DUET_STATUS_OVERFLOW, "[4611686018427387906]"},
        {SHAPE(-1, 3), DUET_STATUS_SHAPE, "got -1 as dimension 0 of"},
    };
    const float some[4] = {0};
    duet_memory_stats before = duet_memory_get_stats();
    for (size_t i = 0; i < LENGTH(cases); i++)
        for (int how = 0; how < 3; how++) {
            duet_error_clear();
            assert_null(how == 0   ? duet_zeros(cases[i].shape, DUET_F32)
                        : how == 1 ? duet_full(cases[i].shape, DUET_F32, 1)
                                   : duet_from_data(cases[i].shape, DUET_F32, some));
            assert_int_equal(duet_error_code(), cases[i].status);
            assert_non_null(strstr(duet_error_message(), cases[i].text));
        }
    assert_true(duet_memory_get_stats().system_allocs == before.system_allocs);
    assert_true(duet_memory_get_stats().live_bytes == before.live_bytes);
    duet_error_clear();
}

static void test_transpose(void **state) {
    (void)state;
    EXPECT(duet_transpose(F32(SHAPE(2, 3), 1, 2, 3, 4, 5, 6), DUET_INTS(1, 0)), SHAPE(3, 2), 1, 4,
           2, 5, 3, 6);
    static const char *const flat[] = {"f32[1,1]",   "f32[16,16]", "f32[17,33]", "f64[31,16]",
                                       "bool[40,5]", "i32[1,70]",  "f64[64,3]",  "f32[0,4]"};
    for (size_t i = 0; i < LENGTH(flat); i++) check_transpose(flat[i], (duet_ints){0});
    static const int64_t perms[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                       {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (size_t i = 0; i < LENGTH(perms); i++) {
        duet_ints perm = DUET_INTS(perms[i][0], perms[i][1], perms[i][2]);
        check_transpose("f32[5,19,34]", perm);
        check_transpose("f64[18,1,3]", perm);
        check_transpose("bool[3,17,2]", perm);
    }
    check_transpose("f32[2,3,4,5,6,7]", DUET_INTS(5, 0, 3, 1, 4, 2));
    check_transpose("f32[300,500]", (duet_ints){0}); /* enough for several threads */
    check_gradients("transpose");
    EXPECT_INFERRED("transpose", "f32[?,20]", "f32[20,?]");
    EXPECT_INFERRED("transpose", "f32[2,3,4]; perm=[0,1]",
                    "transpose: perm: expected all 3 axes of x f32[2,3,4], got 2");
    EXPECT_INFERRED("transpose", "f32[2,3]; perm=[1,1]", "transpose: axis 1 is given twice");
    EXPECT_INFERRED("transpose", "f32[2,3]; perm=[0,2]",
                    "transpose: expected an axis from -2 to 1 for x f32[2,3], got 2");
}

static void test_broadcast_to(void **state) {
    (void)state;
    EXPECT(duet_broadcast_to(F32(SHAPE(2, 1), 1, 2), SHAPE(2, 3)), SHAPE(2, 3), 1, 1, 1, 2, 2, 2);
    EXPECT(duet_broadcast_to(F64(SHAPE(2), 1, 2), SHAPE(3, -1)), SHAPE(3, 2), 1, 2, 1, 2, 1, 2);
    EXPECT(duet_broadcast_to(duet_i32(7), SHAPE(2, 2)), SHAPE(2, 2), 7, 7, 7, 7);
    EXPECT(duet_broadcast_to(F32(SHAPE(2, 1, 2), 1, 2, 3, 4), SHAPE(2, 2, 2)), SHAPE(2, 2, 2), 1, 2,
           1, 2, 3, 4, 3, 4);
    check_gradients("broadcast_to");
    EXPECT_INFERRED("broadcast_to", "f32[?,1]; shape=[-1,5]", "f32[?,5]");
    EXPECT_INFERRED("broadcast_to", "f32[2,3]; shape=[3]",
                    "broadcast_to: x f32[2,3] does not broadcast to shape [3]");
    EXPECT_INFERRED("broadcast_to", "f32[2]; shape=[3,4]",
                    "broadcast_to: x f32[2] does not broadcast to shape [3,4]");
    EXPECT_INFERRED("broadcast_to", "f32[2]; shape=[-1,2]",
                    "broadcast_to: shape: expected dimensions of 0 or more, or -1 for one of x "
                    "f32[2], got -1 as dimension 0");
}

/* ---- slice and concat
 * ---------------------------------------------------------------------------- */

static void test_slice(void **state) {
    (void)state;
    duet_tensor *x = F32(SHAPE(3, 4), 0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23);
    EXPECT(duet_slice(x, DUET_INTS(1, 2), DUET_INTS(-1, 2)), SHAPE(2, 2), 12, 13, 22, 23);
    EXPECT(duet_slice(x, DUET_INTS(0, 3), DUET_INTS(2, 1)), SHAPE(2, 1), 3, 13);
    EXPECT(duet_slice(x, DUET_INTS(3, 0), DUET_INTS(-1, -1)), SHAPE(0, 4), 0);
    duet_tensor *part = F32(SHAPE(2, 1), 8, 9);
    EXPECT(duet_slice_grad(part, x, DUET_INTS(1, 2), DUET_INTS(2, 1)), SHAPE(3, 4), 0, 0, 0, 0, 0,
           0, 8, 0, 0, 0, 9, 0);
    check_gradients("slice");
    check_gradients("slice_grad");
}

static void test_slice_infers(void **state) {
    (void)state;
    EXPECT_INFERRED("slice", "f32[?,20]; begin=[0,5], size=[-1,10]", "f32[?,10]");
    EXPECT_INFERRED("slice", "f32[?,20]; begin=[1,5], size=[3,-1]", "f32[3,15]");
    EXPECT_INFERRED(
        "slice", "f32[4,5]; begin=[1], size=[2]",
        "slice: expected begin and size with 2 entries each for x f32[4,5], got 1 and 1");
    EXPECT_INFERRED("slice", "f32[4,5]; begin=[1,3], size=[2,3]",
                    "slice: begin 3 and size 3 pass the end of axis 1 of x f32[4,5]");
    EXPECT_INFERRED("slice", "f32[4]; begin=[5], size=[-1]",
                    "slice: begin 5 and size -1 pass the end of axis 0 of x f32[4]");
    EXPECT_INFERRED(
        "slice", "f32[4]; begin=[1], size=[9223372036854775807]",
        "slice: begin 1 and size 9223372036854775807 pass the end of axis 0 of x f32[4]");
    EXPECT_INFERRED("slice", "f32[4]; begin=[-1], size=[2]",
                    "slice: expected begin of 0 or more and size of -1 or more, got -1 and 2 for "
                    "axis 0");
    EXPECT_INFERRED("slice_grad", "f32[?,10], f32[?,20]; begin=[0,5], size=[-1,10]", "f32[?,20]");
    EXPECT_INFERRED(
        "slice_grad", "f32[3], f32[5]; begin=[1], size=[2]",
        "slice_grad: x: expected the shape [2] that begin and size name in like f32[5], "
        "got f32[3]");
}

static void test_concat(void **state) {
    (void)state;
    duet_tensor *a = F32(SHAPE(2, 2), 1, 2, 3, 4), *b = F32(SHAPE(2, 1), 5, 6);
    duet_tensor *none = duet_zeros(SHAPE(2, 0), DUET_F32);
    EXPECT(duet_concat((duet_tensor *[]){a, b}, 2, 1), SHAPE(2, 3), 1, 2, 5, 3, 4, 6);
    EXPECT(duet_concat((duet_tensor *[]){b, none, a}, 3, -1), SHAPE(2, 3), 5, 1, 2, 6, 3, 4);
    EXPECT(duet_concat((duet_tensor *[]){a, a}, 2, 0), SHAPE(4, 2), 1, 2, 3, 4, 1, 2, 3, 4);
    EXPECT(duet_concat(&a, 1, 0), SHAPE(2, 2), 1, 2, 3, 4);
    check_gradients("concat");
    EXPECT_INFERRED("concat", "f32[2,?], f32[?,3]; axis=0", "f32[?,3]");
    EXPECT_INFERRED("concat", "f32[2,?], f32[2,3]; axis=1", "f32[2,?]");
    EXPECT_INFERRED("concat", "f32[2,3], f32[2,3], f32[2,4]; axis=0",
                    "concat: expected equal dimensions but for axis 0: x0 is f32[2,3], x2 is "
                    "f32[2,4]");
    EXPECT_INFERRED("concat", "f32[2,3], f64[2,3]; axis=0",
                    "concat: dtypes differ: x0 is f32[2,3], x1 is f64[2,3] (use cast)");
    EXPECT_INFERRED("concat", "f32[2], f32[3]; axis=1",
                    "concat: expected an axis from -1 to 0 for x f32[2], got 1");
}

/* 64 inputs, the most: every gradient is its own stretch of g. */
static void test_gradient_of_the_longest_concat(void **state) {
    (void)state;
    duet_tensor *in[DUET_MAX_INPUTS], *grads[DUET_MAX_INPUTS] = {NULL};
    int64_t total = 0;
    for (int i = 0; i < DUET_MAX_INPUTS; i++) {
        in[i] = duet_zeros(SHAPE(i % 5, 2), DUET_F32);
        total += i % 5;
    }
    const duet_op *op = duet_op_find("concat");
    duet_tensor *y = duet_concat(in, DUET_MAX_INPUTS, 0),
                *g = duet_zeros(SHAPE(total, 2), DUET_F32);
    expect_shape(y, SHAPE(total, 2));
    for (int64_t i = 0; i < 2 * total; i++) ((float *)g->data)[i] = (float)i;
    duet_grad call = {op, (duet_attr[]){{.i = 0}}, in, &y, &g, DUET_MAX_INPUTS, 1, ~(uint64_t)8};
    assert_int_equal(op->grad(grads, &call), DUET_OK);
    assert_null(grads[3]); /* not asked for */
    for (int64_t i = 0, at = 0; i < DUET_MAX_INPUTS; at += i++ % 5) {
        if (i == 3) continue;
        expect_shape(grads[i], in[i]->spec.shape);
        for (int64_t k = 0; k < i % 5 * 2; k++)
            assert_true(duet_item(grads[i], k) == (double)(2 * at + k));
    }
}

static void test_slice_like_and_pad_like(void **state) {
    (void)state;
    duet_tensor *x = F32(SHAPE(5), 0, 1, 2, 3, 4), *two = I32(SHAPE(2), 0, 0),
                *one = duet_zeros(SHAPE(1), DUET_F32);
    EXPECT(duet_slice_like(x, two, &one, 1, 0, false), SHAPE(2), 1, 2);
    EXPECT(duet_slice_like(x, two, &one, 1, 0, true), SHAPE(2), 2, 3);
    duet_tensor *part = F32(SHAPE(2), 8, 9);
    EXPECT(duet_pad_like(part, x, &one, 1, 0, false), SHAPE(5), 0, 8, 9, 0, 0);
    EXPECT(duet_pad_like(part, x, &one, 1, -1, true), SHAPE(5), 0, 0, 8, 9, 0);
    check_gradients("slice_like");
    check_gradients("pad_like");
    EXPECT_INFERRED("slice_like", "f32[?,9], i32[?,4], i32[?,3]; axis=1", "f32[?,4]");
    EXPECT_INFERRED("slice_like", "f32[?,9], f32[2,9]; axis=0", "f32[2,9]");
    EXPECT_INFERRED("slice_like", "f32[9], f32[4], f32[6]; axis=0",
                    "slice_like: like f32[4] at offset 6 passes the end of axis 0 of x f32[9]");
    EXPECT_INFERRED("slice_like", "f32[9,2], f32[4,3]; axis=0",
                    "slice_like: like f32[4,3] is no part of x f32[9,2] along axis 0");
    EXPECT_INFERRED("pad_like", "f32[4], f32[?], f32[6]; axis=0", "f32[?]");
    EXPECT_INFERRED("pad_like", "f32[4], f32[9], f32[6]; axis=0",
                    "pad_like: x f32[4] at offset 6 passes the end of axis 0 of like f32[9]");
}

/* A failing operand passes through every function with the first message. */
static void test_null_passes(void **state) {
    (void)state;
    duet_fail(DUET_STATUS_SHAPE, "first");
    duet_tensor *x = duet_zeros(SHAPE(2), DUET_F32);
    assert_null(duet_reshape(NULL, SHAPE(2)));
    assert_null(duet_concat((duet_tensor *[]){x, NULL}, 2, 0));
    assert_null(duet_slice_grad(x, NULL, DUET_INTS(0), DUET_INTS(2)));
    assert_null(duet_transpose(duet_slice(NULL, DUET_INTS(0), DUET_INTS(2)), (duet_ints){0}));
    assert_string_equal(duet_error_message(), "first");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_reshape),
        TEST(test_reshape_infers),
        TEST(test_sizes_that_overflow),
        TEST(test_tensors_that_cannot_be),
        TEST(test_transpose),
        TEST(test_broadcast_to),
        TEST(test_slice),
        TEST(test_slice_infers),
        TEST(test_concat),
        TEST(test_gradient_of_the_longest_concat),
        TEST(test_slice_like_and_pad_like),
        TEST(test_null_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
