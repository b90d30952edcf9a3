#include "expect.h"

#define FAIL(...)                                                                                  \
    do {                                                                                           \
        print_error(__VA_ARGS__);                                                                  \
        print_error("\n");                                                                         \
        _fail(file, line);                                                                         \
    } while (0)

static bool same_number(double a, double b) {
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static void expect_element(const duet_tensor *t, int index, double expected, const char *file,
                           int line) {
    double wanted = duet_tensor_dtype(t) == DUET_F32 ? (double)(float)expected : expected;
    double got = duet_item(t, index);
    if (!same_number(got, wanted))
        FAIL("element %d of %s: expected %.9g, got %.9g", index, DUET_SPEC_TEXT(&t->spec), wanted,
             got);
}

void expect_elements(const duet_tensor *t, const double *expected, int count, const char *file,
                     int line) {
    if (!t) FAIL("expected a tensor, got NULL: %s", duet_error_message());
    if (duet_tensor_count(t) != count)
        FAIL("expected %d elements, got %s", count, DUET_SPEC_TEXT(&t->spec));
    for (int i = 0; i < count; i++) expect_element(t, i, expected[i], file, line);
}

void expect_all(const duet_tensor *t, double value, const char *file, int line) {
    if (!t) FAIL("expected a tensor, got NULL: %s", duet_error_message());
    for (int i = 0; i < (int)duet_tensor_count(t); i++) expect_element(t, i, value, file, line);
}

void expect_same(const duet_tensor *a, const duet_tensor *b, const char *file, int line) {
    if (!a || !b) FAIL("expected two tensors, got NULL: %s", duet_error_message());
    if (!duet_spec_equal(&a->spec, &b->spec))
        FAIL("%s is not %s", DUET_SPEC_TEXT(&a->spec), DUET_SPEC_TEXT(&b->spec));
    size_t size = duet_dtype_size(duet_tensor_dtype(a));
    for (int64_t i = 0; i < duet_tensor_count(a); i++)
        if (memcmp((char *)a->data + (size_t)i * size, (char *)b->data + (size_t)i * size, size))
            FAIL("element %d of %s: %.9g is not %.9g, bit for bit", (int)i,
                 DUET_SPEC_TEXT(&a->spec), duet_item(a, i), duet_item(b, i));
}

void expect_ok(duet_status status, const char *file, int line) {
    if (status != DUET_OK) FAIL("%s: %s", duet_status_name(status), duet_error_message());
}

void expect_error(duet_status code, const char *part, const char *file, int line) {
    if (duet_error_code() != code || !strstr(duet_error_message(), part))
        FAIL("expected the %s error \"%s\", got %s: \"%s\"", duet_status_name(code), part,
             duet_status_name(duet_error_code()), duet_error_message());
    duet_error_clear();
}

int warnings_seen;
char last_warning[1024];

static void take_warning(const char *message) {
    warnings_seen++;
    snprintf(last_warning, sizeof last_warning, "%s", message);
}

void expect_warnings_begin(void) {
    warnings_seen = 0;
    *last_warning = '\0';
    duet_set_warning_handler(take_warning);
}

int expect_setup(void **state) {
    (void)state;
    duet_error_clear();
    expect_warnings_begin();
    duet_scope_open();
    return 0;
}

int expect_teardown(void **state) {
    (void)state;
    while (duet_scope_depth()) duet_scope_close(NULL);
    duet_set_warning_handler(NULL);
    return 0;
}
