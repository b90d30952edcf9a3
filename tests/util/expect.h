/* What tests of whole programs share: short ways to make tensors, and to say what they must be.
 * Include this instead of cmocka.h. */
#ifndef TEST_EXPECT_H
#define TEST_EXPECT_H

#include "duet.h"
#include "warning.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))
#define F32(shape, ...) duet_from_data(shape, DUET_F32, (float[]){__VA_ARGS__})
#define I32(shape, ...) duet_from_data(shape, DUET_I32, (int32_t[]){__VA_ARGS__})
#define SHAPE(...) DUET_SHAPE(__VA_ARGS__)

/* `t` has exactly these elements, compared as numbers of its own dtype (NaN equals NaN, -0 is not
 * 0); on failure the message names the caller's line. */
#define EXPECT(t, ...)                                                                             \
    expect_elements(t, (double[]){__VA_ARGS__},                                                    \
                    (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), __FILE__, __LINE__)
void expect_elements(const duet_tensor *t, const double *expected, int count, const char *file,
                     int line);

/* Every element is `value`. */
#define EXPECT_ALL(t, value) expect_all(t, value, __FILE__, __LINE__)
void expect_all(const duet_tensor *t, double value, const char *file, int line);

#define EXPECT_SHAPE(t, text) assert_string_equal(DUET_SHAPE_TEXT(&(t)->spec.shape), text)

/* Same spec, same bits. */
#define EXPECT_SAME(a, b) expect_same(a, b, __FILE__, __LINE__)
void expect_same(const duet_tensor *a, const duet_tensor *b, const char *file, int line);

#define EXPECT_OK(call) expect_ok(call, __FILE__, __LINE__)
void expect_ok(duet_status status, const char *file, int line);

/* The thread's last failure has this code and its message contains `part`; clears it. */
#define EXPECT_ERROR(code, part) expect_error(code, part, __FILE__, __LINE__)
void expect_error(duet_status code, const char *part, const char *file, int line);

/* Warnings since expect_warnings_begin(): their number and the last one's text. */
void expect_warnings_begin(void);
extern int warnings_seen;
extern char last_warning[1024];

/* A test's set-up and tear-down: a clear error, no warnings, a scope around everything. */
int expect_setup(void **state);
int expect_teardown(void **state);
#define TEST(function) cmocka_unit_test_setup_teardown(function, expect_setup, expect_teardown)

#endif
