/* Statuses and their messages, dtypes, and shapes: checks, broadcasting, text and back. */
#include "shape.h"

#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define SPEC(type, ...) ((duet_spec){DUET_SHAPE(__VA_ARGS__), DUET_##type})
#define SCALAR_SPEC(type) ((duet_spec){DUET_SCALAR, DUET_##type})

/* ---- status ---- */

static void test_message_stays_until_the_next_or_clear(void **state) {
    (void)state;
    duet_error_clear();
    assert_int_equal(duet_error_code(), DUET_OK);
    assert_string_equal(duet_error_message(), "");
    assert_int_equal(duet_fail(DUET_STATUS_SHAPE, "relu: %d of %s", 3, "x"), DUET_STATUS_SHAPE);
    assert_int_equal(duet_error_code(), DUET_STATUS_SHAPE);
    assert_string_equal(duet_error_message(), "relu: 3 of x");
    duet_fail_at("model.c", 7);
    assert_string_equal(duet_error_message(), "relu: 3 of x (at model.c:7)");
    duet_fail_at("outer.c", 8); /* the first one is nearest to the fault */
    assert_string_equal(duet_error_message(), "relu: 3 of x (at model.c:7)");
    duet_fail(DUET_STATUS_IO, "again: %s", duet_error_message());
    assert_string_equal(duet_error_message(), "again: relu: 3 of x (at model.c:7)");
    duet_error_clear();
    assert_int_equal(duet_error_code(), DUET_OK);
    assert_string_equal(duet_error_message(), "");
}

static void test_long_messages_are_cut(void **state) {
    (void)state;
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    duet_fail(DUET_STATUS_FORMAT, "%s", text);
    size_t length = strlen(duet_error_message());
    assert_true(length > 200 && length < sizeof text);
    duet_fail_at("model.c", 7);
    assert_int_equal(strlen(duet_error_message()), length);
    duet_error_clear();
}

static void *fail_elsewhere(void *seen) {
    *(duet_status *)seen = duet_error_code();
    duet_fail(DUET_STATUS_MEMORY, "elsewhere");
    return NULL;
}

static void test_each_thread_has_its_own_message(void **state) {
    (void)state;
    duet_status seen = DUET_STATUS_IO;
    pthread_t thread;
    duet_fail(DUET_STATUS_DTYPE, "here");
    pthread_create(&thread, NULL, fail_elsewhere, &seen);
    pthread_join(thread, NULL);
    assert_int_equal(seen, DUET_OK);
    assert_string_equal(duet_error_message(), "here");
    duet_error_clear();
}

static void test_every_status_has_a_name(void **state) {
    (void)state;
    for (int a = DUET_OK; a <= DUET_STATUS_UNSUPPORTED; a++) {
        const char *name = duet_status_name((duet_status)a);
        assert_non_null(name);
        assert_string_not_equal(name, "unknown");
        for (int b = DUET_OK; b < a; b++)
            assert_string_not_equal(name, duet_status_name((duet_status)b));
    }
    assert_string_equal(duet_status_name((duet_status)1000), "unknown");
    assert_string_equal(duet_status_name((duet_status)-1), "unknown");
}

static int reached;
static duet_status macros(int number) {
    TRY(number == 1 ? duet_fail(DUET_STATUS_IO, "tried") : DUET_OK);
    CHECK(number != 2, DUET_STATUS_STATE, "checked %d", number);
    reached++;
    return DUET_OK;
}

static void test_macros_return_at_the_failure(void **state) {
    (void)state;
    reached = 0;
    assert_int_equal(macros(1), DUET_STATUS_IO);
    assert_int_equal(macros(2), DUET_STATUS_STATE);
    assert_string_equal(duet_error_message(), "checked 2");
    assert_int_equal(reached, 0);
    assert_int_equal(macros(3), DUET_OK);
    assert_int_equal(reached, 1);
    duet_error_clear();
}

/* ---- dtype ---- */

static void test_dtypes(void **state) {
    (void)state;
    static const struct {
        duet_dtype dtype;
        size_t size;
        const char *name, *npy;
        bool is_float;
    } expected[] = {{DUET_F32, 4, "f32", "f4", true},
                    {DUET_F64, 8, "f64", "f8", true},
                    {DUET_I32, 4, "i32", "i4", false},
                    {DUET_BOOL, 1, "bool", "b1", false}};
    assert_int_equal(LENGTH(expected), DUET_DTYPE_COUNT);
    for (size_t i = 0; i < LENGTH(expected); i++) {
        duet_dtype parsed = DUET_DTYPE_COUNT;
        assert_int_equal(duet_dtype_size(expected[i].dtype), expected[i].size);
        assert_string_equal(duet_dtype_name(expected[i].dtype), expected[i].name);
        assert_string_equal(duet_dtype_npy(expected[i].dtype), expected[i].npy);
        assert_int_equal(duet_dtype_is_float(expected[i].dtype), expected[i].is_float);
        assert_true(duet_dtype_parse(&parsed, expected[i].name));
        assert_int_equal(parsed, expected[i].dtype);
    }
    duet_dtype untouched = DUET_I32;
    static const char *const unknown[] = {"", "f3", "f32 ", "F32", "float"};
    for (size_t i = 0; i < LENGTH(unknown); i++)
        assert_false(duet_dtype_parse(&untouched, unknown[i]));
    assert_int_equal(untouched, DUET_I32);
    assert_string_equal(duet_dtype_name((duet_dtype)77), "?");
}

/* ---- shapes ---- */

static void test_macros_count_and_equality(void **state) {
    (void)state;
    duet_shape a = DUET_SHAPE(2, 3), b = DUET_SHAPE(2, 3, 1), scalar = DUET_SCALAR;
    assert_int_equal(a.rank, 2);
    assert_int_equal(duet_shape_count(&a), 6);
    assert_int_equal(duet_shape_count(&scalar), 1);
    assert_int_equal(duet_shape_count(&DUET_SHAPE(4, 0, 9)), 0);
    assert_true(duet_shape_equal(&a, &DUET_SHAPE(2, 3)));
    assert_false(duet_shape_equal(&a, &b));
    assert_false(duet_shape_equal(&a, &DUET_SHAPE(3, 2)));
    assert_true(duet_spec_equal(&SPEC(F32, 2, 3), &SPEC(F32, 2, 3)));
    assert_false(duet_spec_equal(&SPEC(F32, 2, 3), &SPEC(I32, 2, 3)));
    assert_int_equal(duet_spec_bytes(&SPEC(F64, 2, 3)), 48);
    assert_int_equal(duet_spec_bytes(&SPEC(BOOL, 2, 3)), 6);
    assert_true(duet_shape_is_free(&DUET_SHAPE(2, DUET_FREE_DIM)));
    assert_false(duet_shape_is_free(&DUET_SHAPE(2, 0)));
}

static void refused(duet_spec spec, duet_status status, const char *part) {
    duet_error_clear();
    assert_int_equal(duet_spec_check(&spec, "zeros"), status);
    assert_int_equal(duet_error_code(), status);
    assert_ptr_equal(strstr(duet_error_message(), "zeros: "), duet_error_message());
    assert_non_null(strstr(duet_error_message(), part));
    duet_error_clear();
}

static void test_check_accepts(void **state) {
    (void)state;
    duet_error_clear();
    assert_int_equal(duet_spec_check(&SCALAR_SPEC(F32), "zeros"), DUET_OK);
    assert_int_equal(duet_spec_check(&SPEC(BOOL, 1, 2, 3, 4, 5, 6), "zeros"), DUET_OK);
    assert_int_equal(duet_spec_check(&SPEC(F64, 0, 1000000), "zeros"), DUET_OK);
    assert_int_equal(duet_spec_check(&SPEC(F32, INT64_C(1) << 40), "zeros"), DUET_OK);
    assert_int_equal(duet_error_code(), DUET_OK);
}

/* A product that wraps to 0, to a small number, and two that are only larger than memory can be. */
static void test_check_refuses_sizes_beyond_memory(void **state) {
    (void)state;
    const int64_t one = 1;
    refused(SPEC(F32, 2, 2, 1, one << 61), DUET_STATUS_OVERFLOW, "f32[2,2,1,2305843009213693952]");
    refused(SPEC(F32, (one << 62) + 2), DUET_STATUS_OVERFLOW, "f32[4611686018427387906]");
    refused(SPEC(F32, (one << 59) + 1), DUET_STATUS_OVERFLOW, "f32[576460752303423489]");
    refused(SPEC(BOOL, INT64_MAX), DUET_STATUS_OVERFLOW, "bool[9223372036854775807]");
    refused(SPEC(F64, 0, one << 62), DUET_STATUS_OVERFLOW, "f64[0,4611686018427387904]");
    refused(SPEC(F64, one << 62, 0), DUET_STATUS_OVERFLOW, "f64[4611686018427387904,0]");
}

static void test_checked_bytes(void **state) {
    (void)state;
    size_t bytes = 1;
    assert_true(duet_spec_bytes_checked(&bytes, &SPEC(F64, 2, 3)));
    assert_int_equal(bytes, 48);
    assert_true(duet_spec_bytes_checked(&bytes, &SPEC(F64, 2, 0)));
    assert_int_equal(bytes, 0);
    assert_true(duet_spec_bytes_checked(&bytes, &SPEC(BOOL, DUET_MAX_BYTES)));
    assert_false(duet_spec_bytes_checked(&bytes, &SPEC(BOOL, DUET_MAX_BYTES + 1)));
    assert_false(duet_spec_bytes_checked(&bytes, &SPEC(F32, 2, 2, 1, INT64_C(1) << 61)));
    assert_false(duet_spec_bytes_checked(&bytes, &SPEC(F32, (INT64_C(1) << 62) + 2)));
}

static void test_check_names_the_negative_dimension(void **state) {
    (void)state;
    refused(SPEC(F32, -1, 3), DUET_STATUS_SHAPE, "got -1 as dimension 0");
    refused(SPEC(F32, 2, 0, -77), DUET_STATUS_SHAPE, "got -77 as dimension 2 of [2,0,-77]");
    refused(SPEC(F32, INT64_MIN, 2), DUET_STATUS_SHAPE, "got -9223372036854775808 as dimension 0");
}

static void test_check_refuses_ranks_and_dtypes(void **state) {
    (void)state;
    duet_spec spec = SPEC(F32, 2);
    spec.shape.rank = 7;
    refused(spec, DUET_STATUS_SHAPE, "rank 0 to 6, got 7");
    spec.shape.rank = -1;
    refused(spec, DUET_STATUS_SHAPE, "rank 0 to 6, got -1");
    spec = SPEC(F32, 2);
    spec.dtype = DUET_DTYPE_COUNT;
    refused(spec, DUET_STATUS_DTYPE, "got number 4");
    spec.dtype = -1;
    refused(spec, DUET_STATUS_DTYPE, "got number -1");
}

enum { FREE = DUET_FREE_DIM };

static void test_broadcasting(void **state) {
    (void)state;
    static const struct {
        const char *a, *b, *out; /* out NULL: they do not fit */
    } cases[] = {
        {"f32[]", "f32[]", "f32[]"},
        {"f32[3]", "f32[]", "f32[3]"},
        {"f32[2,3]", "f32[3]", "f32[2,3]"},
        {"f32[2,1]", "f32[3]", "f32[2,3]"},
        {"f32[4,1,5]", "f32[3,1]", "f32[4,3,5]"},
        {"f32[1]", "f32[0]", "f32[0]"},
        {"f32[1,2,3,4,5,6]", "f32[6]", "f32[1,2,3,4,5,6]"},
        {"f32[?]", "f32[1]", "f32[?]"},
        {"f32[?]", "f32[?]", "f32[?]"},
        {"f32[?]", "f32[3]", "f32[3]"},
        {"f32[?,3]", "f32[2,1]", "f32[2,3]"},
        {"f32[2]", "f32[3]", NULL},
        {"f32[0]", "f32[2]", NULL},
        {"f32[2,3]", "f32[2]", NULL},
        {"f32[?,3]", "f32[2]", NULL},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        duet_spec a, b, expected;
        const char *end;
        assert_true(duet_spec_parse(&a, cases[i].a, &end) && duet_spec_parse(&b, cases[i].b, &end));
        duet_shape forth = DUET_SHAPE(9, 9), back = DUET_SHAPE(9, 9);
        assert_int_equal(duet_shape_broadcast(&forth, &a.shape, &b.shape), cases[i].out != NULL);
        assert_int_equal(duet_shape_broadcast(&back, &b.shape, &a.shape), cases[i].out != NULL);
        assert_true(duet_shape_equal(&forth, &back));
        if (cases[i].out)
            assert_true(duet_spec_parse(&expected, cases[i].out, &end));
        else
            expected.shape = DUET_SHAPE(9, 9);
        assert_true(duet_shape_equal(&forth, &expected.shape));
        duet_shape in_place = a.shape;
        if (cases[i].out && duet_shape_broadcast(&in_place, &in_place, &b.shape))
            assert_true(duet_shape_equal(&in_place, &expected.shape));
    }
}

static void test_text_and_back(void **state) {
    (void)state;
    const struct {
        duet_spec spec;
        const char *text;
    } cases[] = {
        {SCALAR_SPEC(F32), "f32[]"},
        {SPEC(F64, 0), "f64[0]"},
        {SPEC(I32, 64, 20), "i32[64,20]"},
        {SPEC(BOOL, FREE, 20), "bool[?,20]"},
        {SPEC(F32, FREE, FREE, 1, 2, 3, INT64_MAX), "f32[?,?,1,2,3,9223372036854775807]"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        duet_spec back;
        const char *text = DUET_SPEC_TEXT(&cases[i].spec), *end = NULL;
        assert_string_equal(text, cases[i].text);
        assert_string_equal(DUET_SHAPE_TEXT(&cases[i].spec.shape), strchr(cases[i].text, '['));
        char more[200] = "";
        strcat(strcat(more, text), " rest");
        assert_true(duet_spec_parse(&back, more, &end));
        assert_string_equal(end, " rest");
        assert_true(duet_spec_equal(&back, &cases[i].spec));
    }
}

/* The longest text there is: six times the longest number. It stays inside its buffer. */
static void test_longest_text_fits(void **state) {
    (void)state;
    struct {
        duet_text text;
        char guard[64];
    } room;
    memset(&room, '#', sizeof room);
    const int64_t low = INT64_MIN;
    duet_spec_text(&room.text, &SPEC(BOOL, low, low, low, low, low, low));
    for (size_t i = 0; i < sizeof room.guard; i++) assert_int_equal(room.guard[i], '#');
    assert_int_equal(strlen(room.text.chars), strlen("bool[]") + 6 * 20 + 5);
}

static void test_parse_refuses(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "f32",
        "f32[",
        "f32[2",
        "f32[2,",
        "f32[2,]",
        "f32[,2]",
        "f32[-1]",
        "f32[-2]",
        "f32[ 2]",
        "f32[+2]",
        "f32[2 ]",
        "f32[2;3]",
        "f16[2]",
        "[2]",
        "f32 [2]",
        "f32[0x10]",
        "f32[1,1,1,1,1,1,1]",
        "f32[2?]",
        "f32[??]",
        "f32[2.5]",
        "F32[2]",
        "f32[9223372036854775808]",
        "f32[99999999999999999999999]",
    };
    for (size_t i = 0; i < LENGTH(bad); i++) {
        duet_spec spec = SPEC(I32, 5);
        const char *end = NULL;
        if (duet_spec_parse(&spec, bad[i], &end)) fail_msg("\"%s\" was accepted", bad[i]);
        assert_true(duet_spec_equal(&spec, &SPEC(I32, 5)));
        assert_null(end);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message_stays_until_the_next_or_clear),
        cmocka_unit_test(test_long_messages_are_cut),
        cmocka_unit_test(test_each_thread_has_its_own_message),
        cmocka_unit_test(test_every_status_has_a_name),
        cmocka_unit_test(test_macros_return_at_the_failure),
        cmocka_unit_test(test_dtypes),
        cmocka_unit_test(test_macros_count_and_equality),
        cmocka_unit_test(test_check_accepts),
        cmocka_unit_test(test_check_refuses_sizes_beyond_memory),
        cmocka_unit_test(test_checked_bytes),
        cmocka_unit_test(test_check_names_the_negative_dimension),
        cmocka_unit_test(test_check_refuses_ranks_and_dtypes),
        cmocka_unit_test(test_broadcasting),
        cmocka_unit_test(test_text_and_back),
        cmocka_unit_test(test_longest_text_fits),
        cmocka_unit_test(test_parse_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
