/* .npy files: those that NumPy wrote (tests/reference/npy_fixtures.py), and hostile ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "npy.h"
#include "output.h"
#include "value.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIXTURE(name) "tests/bench/npy/" name ".npy"

static char scratch[64];

static int make_scratch(void **state) {
    (void)state;
    strcpy(scratch, "/tmp/test_npy.XXXXXX");
    int descriptor = mkstemp(scratch);
    if (descriptor < 0) return -1;
    return close(descriptor);
}

static int remove_scratch(void **state) {
    (void)state;
    return unlink(scratch);
}

static int end_test(void **state) {
    (void)state;
    duet_scope_reset();
    duet_error_clear();
    return 0;
}

static void write_scratch(const void *bytes, size_t count) {
    FILE *file = fopen(scratch, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* A version 1.0 file with this header and `data` zero bytes behind it. */
static duet_tensor *read_header(const char *header, size_t data) {
    char bytes[1024] = "\x93NUMPY\x01";
    size_t length = strlen(header);
    bytes[8] = (char)(length & 255);
    bytes[9] = (char)(length >> 8);
    memcpy(bytes + 10, header, length);
    write_scratch(bytes, 10 + length + data);
    return npy_read(scratch);
}

static void assert_refused(const duet_tensor *x, const char *message) {
    assert_null(x);
    if (!strstr(duet_error_message(), message))
        fail_msg("expected \"%s\" in \"%s\"", message, duet_error_message());
    duet_error_clear();
}

static void reads_what_numpy_wrote(void **state) {
    (void)state;
    static const struct {
        const char *path, *spec;
        double scale, offset; /* element i is i * scale + offset */
    } cases[] = {
        {FIXTURE("f4"), "f32[2,3]", 1 / 4.0, 0}, {FIXTURE("f8"), "f64[2,3]", 1 / 3.0, 0},
        {FIXTURE("i4"), "i32[2,3]", 1, -3},      {FIXTURE("version2"), "f32[2,3]", 1 / 4.0, 0},
        {FIXTURE("scalar"), "f32[]", 0, 2.5},    {FIXTURE("version3"), "f32[2,3]", 1 / 4.0, 0},
        {FIXTURE("empty"), "f32[0,3]", 0, 0},    {FIXTURE("rank6"), "f32[2,2,2,2,2,2]", 1, 0},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        duet_tensor *x = npy_read(cases[c].path);
        if (!x) fail_msg("%s", duet_error_message());
        assert_string_equal(DUET_SPEC_TEXT(&x->spec), cases[c].spec);
        for (int64_t i = 0; i < duet_tensor_count(x); i++) {
            double expected = cases[c].scale < 0.4 && cases[c].scale > 0.3
                                  ? (double)i / 3.0
                                  : (double)i * cases[c].scale + cases[c].offset;
            assert_true(duet_item(x, i) == expected);
        }
    }
    duet_tensor *b = npy_read(FIXTURE("b1"));
    assert_non_null(b);
    assert_string_equal(DUET_SPEC_TEXT(&b->spec), "bool[2,3]");
    assert_memory_equal(duet_data(b), ((uint8_t[]){0, 1, 0, 1, 0, 1}), 6);
}

static void refuses_by_name_what_duet_has_not(void **state) {
    (void)state;
    assert_refused(npy_read(FIXTURE("big_endian")), "expected dtype <f4, <f8, <i4 or |b1, got >f4");
    assert_refused(npy_read(FIXTURE("f2")), "f2.npy: expected dtype <f4, <f8, <i4 or |b1, got <f2");
    assert_refused(npy_read(FIXTURE("i8")), "got <i8");
    assert_refused(npy_read(FIXTURE("complex")), "got <c8");
    assert_refused(npy_read(FIXTURE("object")), "got |O");
    assert_refused(npy_read(FIXTURE("unicode")), "got <U4");
    assert_refused(npy_read(FIXTURE("record")), "got \"[('a', '<f4')");
    assert_refused(npy_read(FIXTURE("fortran")), "C order, got fortran_order: True");
    assert_refused(npy_read(FIXTURE("rank7")), "expected rank 0 to 6");
    assert_refused(npy_read("tests/bench/npy"), "expected a file, got a directory");
    assert_refused(npy_read("tests/bench/npy/missing.npy"), "got: No such file");
    assert_refused(npy_read("/dev/null"), "expected a file, got something else");
    assert_refused(npy_read("Makefile"), "Makefile: expected a .npy file");
}

static void refuses_headers_that_do_not_parse(void **state) {
    (void)state;
    static const struct {
        const char *header, *message;
    } cases[] = {
        {"", "expected a dictionary in the header, got its end"},
        {"[1]", "expected a dictionary"},
        {"{}", "expected 'descr', 'fortran_order' and 'shape' before the end"},
        {"{'descr': '<f4', 'fortran_order': False}", "before the end"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", "once"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}", "once"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", "fortran_order: True or False"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': ()}", "a comma"},
        {"{'descr' '<f4', 'fortran_order': False, 'shape': ()}", "a colon"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 3}", "a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3 4)}", "a comma between"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", "a dimension of 0 or more"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3", "a comma between"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", "nothing after"},
        {"{'descr': '<f4\n', 'fortran_order': False, 'shape': ()}", "got <f4?"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
         "expected dimensions below 2^63, got 99999999999999999999"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}",
         "more bytes than a program can address"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4611686018427387904)}",
         "more bytes than a program can address"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2305843009213693951,)}",
         "has more bytes than a program can address"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        assert_refused(read_header(cases[c].header, 0), cases[c].message);
}

static void wants_exactly_the_data(void **state) {
    (void)state;
    static const char header[] = "{'shape': (2,), 'fortran_order': False, 'descr': \"<f4\"}\n";
    assert_non_null(read_header(header, 8));
    assert_refused(read_header(header, 7), "expected 8 bytes of data for f32[2], got 7");
    assert_refused(read_header(header, 9), "expected 8 bytes of data for f32[2], got 9");
    assert_refused(read_header(header, 0), "expected 8 bytes of data for f32[2], got 0");
    assert_non_null(read_header("{'descr': '<i4', 'fortran_order': False, 'shape': (2L,)}", 8));
    write_scratch("\x93NUMPY\x01\x00\x76", 9);
    assert_refused(npy_read(scratch), "expected the length of the header, got the end");
    write_scratch("\x93NUMPY\x01\x00\x76\x00{", 11);
    assert_refused(npy_read(scratch), "expected a whole header, got the end");
    write_scratch("\x93NUMPY\x02\x00\xff\xff\xff\xff{", 13);
    assert_refused(npy_read(scratch), "expected a header of at most 65535 bytes");
    write_scratch("\x93NUMPY\x04\x00\x76\x00{", 11);
    assert_refused(npy_read(scratch), "expected .npy version 1.0, 2.0 or 3.0, got 4.0");
}

static void refuses_bools_that_are_none(void **state) {
    (void)state;
    static const char file[] = "\x93NUMPY\x01\x00\x38\x00"
                               "{'descr': '|b1', 'fortran_order': False, 'shape': (2,) }\x01\x07";
    write_scratch(file, sizeof file - 1);
    assert_refused(npy_read(scratch), "expected bools as bytes 0 or 1, got 7 as element 1");
}

static void write_array(const duet_tensor *x) {
    output out;
    assert_int_equal(output_open(&out, scratch), DUET_OK);
    assert_int_equal(npy_write(out.file, x, scratch), DUET_OK);
    assert_int_equal(output_commit(&out, 1), DUET_OK);
}

static void reads_back_what_it_wrote(void **state) {
    (void)state;
    static const duet_shape shapes[] = {
        {0}, {1, {0}}, {1, {7}}, {2, {3, 5}}, {6, {1, 2, 3, 1, 2, 3}}, {2, {5, 0}},
    };
    for (int dtype = 0; dtype < DUET_DTYPE_COUNT; dtype++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            duet_tensor *x = duet_full(shapes[s], (duet_dtype)dtype, 1.5);
            write_array(x);
            duet_tensor *y = npy_read(scratch);
            if (!y) fail_msg("%s", duet_error_message());
            assert_true(duet_spec_equal(&x->spec, &y->spec));
            assert_memory_equal(x->data, y->data, duet_spec_bytes(&x->spec));
        }
}

/* The bytes of NumPy's own file, from the same array. */
static void writes_what_numpy_writes(void **state) {
    (void)state;
    write_array(npy_read(FIXTURE("f4")));
    char ours[256] = {0}, theirs[256] = {0};
    FILE *a = fopen(scratch, "rb"), *b = fopen(FIXTURE("f4"), "rb");
    size_t length = fread(ours, 1, sizeof ours, a);
    assert_int_equal(length, fread(theirs, 1, sizeof theirs, b));
    assert_memory_equal(ours, theirs, length);
    fclose(a);
    fclose(b);
}

static void leaves_the_old_file_when_it_fails(void **state) {
    (void)state;
    write_scratch("old", 3);
    output out;
    assert_int_equal(output_open(&out, scratch), DUET_OK);
    fputs("half of the new", out.file);
    output_discard(&out);
    char text[8] = "";
    FILE *file = fopen(scratch, "rb");
    assert_int_equal(fread(text, 1, sizeof text, file), 3);
    fclose(file);
    assert_string_equal(text, "old");
    assert_int_equal(output_check("/nowhere/x.npy"), DUET_STATUS_IO);
    assert_int_equal(output_check("/tmp"), DUET_STATUS_IO);
    assert_int_equal(output_check("/dev/null"), DUET_OK);
}

static size_t next_random(size_t below) {
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

/* Files with a few bytes changed, cut or added: read or refused with the file's name, no more. */
static void survives_damaged_files(void **state) {
    (void)state;
    char good[512], bad[600];
    FILE *file = fopen(FIXTURE("i4"), "rb");
    size_t length = fread(good, 1, sizeof good, file);
    fclose(file);
    for (int round = 0; round < 3000; round++) {
        memcpy(bad, good, length);
        size_t size = length;
        for (uint32_t change = 1 + next_random(3); change; change--) {
            size_t place = next_random(round % 2 ? 80 : length);
            bad[place] = (char)next_random(256);
        }
        if (round % 5 == 0) size = next_random(length + 1);
        if (round % 7 == 0) memset(bad + length, 'x', 9), size = length + 9;
        write_scratch(bad, size);
        if (!npy_read(scratch)) assert_memory_equal(duet_error_message(), scratch, strlen(scratch));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(reads_what_numpy_wrote, end_test),
        cmocka_unit_test_teardown(refuses_by_name_what_duet_has_not, end_test),
        cmocka_unit_test_teardown(refuses_headers_that_do_not_parse, end_test),
        cmocka_unit_test_teardown(wants_exactly_the_data, end_test),
        cmocka_unit_test_teardown(refuses_bools_that_are_none, end_test),
        cmocka_unit_test_teardown(reads_back_what_it_wrote, end_test),
        cmocka_unit_test_teardown(writes_what_numpy_writes, end_test),
        cmocka_unit_test_teardown(leaves_the_old_file_when_it_fails, end_test),
        cmocka_unit_test_teardown(survives_damaged_files, end_test),
    };
    return cmocka_run_group_tests_name("npy", tests, make_scratch, remove_scratch);
}
