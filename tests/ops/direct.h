/* Calls ops without an executor: each is inferred, gets poisoned and guarded outputs, and runs. A
 * test program of the ops layer includes this once; it is the layer's missing upper half. */
#ifndef DUET_TESTS_DIRECT_H
#define DUET_TESTS_DIRECT_H

#include "core/attrs.h"
#include "core/sample.h"
#include "value.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define F32(shape, ...) duet_from_data(shape, DUET_F32, (float[]){__VA_ARGS__})
#define F64(shape, ...) duet_from_data(shape, DUET_F64, (double[]){__VA_ARGS__})
#define I32(shape, ...) duet_from_data(shape, DUET_I32, (int32_t[]){__VA_ARGS__})
#define SHAPE(...) DUET_SHAPE(__VA_ARGS__)

/* ---- the executor ---------------------------------------------------------------------------- */

enum { GUARD_BYTES = 64, GUARD_BYTE = 0xA5 };

static duet_status run_guarded(duet_tensor **out, int n_out, const duet_kernel *kernel,
                               const duet_spec *specs) {
    char *memory[DUET_MAX_OUTPUTS];
    duet_view views[DUET_MAX_OUTPUTS];
    for (int i = 0; i < n_out; i++) {
        size_t bytes = duet_spec_bytes(&specs[i]);
        memory[i] = aligned_alloc(64, (bytes + 2 * GUARD_BYTES + 63) / 64 * 64);
        memset(memory[i], GUARD_BYTE, bytes + 2 * GUARD_BYTES);
        memset(memory[i] + GUARD_BYTES, 0xFF, bytes); /* NaN */
        views[i] = (duet_view){memory[i] + GUARD_BYTES, &specs[i]};
    }
    duet_kernel guarded = *kernel;
    guarded.out = views;
    duet_status status = kernel->op->run(&guarded);
    for (int i = 0; i < n_out; i++) {
        size_t bytes = duet_spec_bytes(&specs[i]);
        for (int g = 0; g < GUARD_BYTES; g++) {
            assert_int_equal((uint8_t)memory[i][g], GUARD_BYTE);
            assert_int_equal((uint8_t)memory[i][GUARD_BYTES + bytes + (size_t)g], GUARD_BYTE);
        }
        out[i] = duet_scope_own(duet_tensor_alloc(&specs[i]));
        memcpy(out[i]->data, views[i].data, bytes);
        free(memory[i]);
    }
    return status;
}

duet_status duet_dispatch(duet_tensor **out, const duet_op *op, const duet_attr *attrs,
                          duet_tensor *const *in, int n_in) {
    duet_attr initial[DUET_MAX_ATTRS];
    const duet_spec *in_specs[DUET_MAX_INPUTS];
    duet_view views[DUET_MAX_INPUTS];
    duet_spec specs[DUET_MAX_OUTPUTS];
    duet_attrs_init(initial, op);
    assert_true(n_in >= op->n_in && n_in <= (op->n_in_max ? op->n_in_max : op->n_in));
    for (int i = 0; i < n_in; i++) {
        if (!in[i]) return duet_error_code();
        if (op->writes >> i & 1) TRY(duet_variable_make_unique(in[i], true));
        in_specs[i] = &in[i]->spec;
        views[i] = (duet_view){in[i]->data, &in[i]->spec};
    }
    duet_kernel kernel = {op, attrs ? attrs : initial, views, NULL, n_in, op->n_out};
    TRY(op->infer(specs, &(duet_op_call){op, kernel.attrs, in_specs, n_in}));
    return run_guarded(out, op->n_out, &kernel, specs);
}

duet_tensor *duet_apply(const duet_op *op, const duet_attr *attrs, duet_tensor *const *in,
                        int n_in) {
    duet_tensor *out[DUET_MAX_OUTPUTS];
    return duet_dispatch(out, op, attrs, in, n_in) == DUET_OK ? out[0] : NULL;
}
duet_tensor *duet_apply1(const duet_op *op, duet_tensor *x) { return duet_apply(op, NULL, &x, 1); }
duet_tensor *duet_apply2(const duet_op *op, duet_tensor *x, duet_tensor *y) {
    return duet_apply(op, NULL, (duet_tensor *[]){x, y}, 2);
}
duet_tensor *duet_apply3(const duet_op *op, duet_tensor *x, duet_tensor *y, duet_tensor *z) {
    return duet_apply(op, NULL, (duet_tensor *[]){x, y, z}, 3);
}

/* ---- test programs --------------------------------------------------------------------------- */

static inline int open_scope(void **state) {
    (void)state;
    duet_scope_open();
    return 0;
}
static inline int close_scope(void **state) {
    (void)state;
    duet_scope_close(NULL);
    return 0;
}

/* A test whose results are freed at its end. */
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scope, close_scope)

/* ---- expectations ---------------------------------------------------------------------------- */

/* A fixed number in [-1, 1) for each index. */
static inline double noise(uint64_t i) {
    i = (i + 1) * 0x9E3779B97F4A7C15u;
    i = (i ^ (i >> 31)) * 0xD6E8FEB86659FD93u;
    return (double)(int64_t)(i ^ (i >> 29)) / 9223372036854775808.0;
}

static inline duet_tensor *noisy(const duet_spec *spec, uint64_t salt) {
    int64_t count = duet_shape_count(&spec->shape);
    double *data = calloc((size_t)count + 1, sizeof *data);
    for (int64_t i = 0; i < count; i++) data[i] = noise(salt + (uint64_t)i);
    duet_tensor *x = duet_from_data(spec->shape, DUET_F64, data);
    free(data);
    if (spec->dtype == DUET_F64) return x;
    duet_tensor *y = duet_zeros(spec->shape, (duet_dtype)spec->dtype);
    for (int64_t i = 0; i < count; i++) {
        double value = ((const double *)x->data)[i];
        switch ((duet_dtype)spec->dtype) {
        case DUET_F32: ((float *)y->data)[i] = (float)value; break;
        case DUET_I32: ((int32_t *)y->data)[i] = (int32_t)(value * 1000); break;
        default: ((uint8_t *)y->data)[i] = value > 0; break;
        }
    }
    return y;
}

static inline void expect_shape(const duet_tensor *x, duet_shape shape) {
    if (!x) fail_msg("expected a result: %s", duet_error_message());
    if (!duet_shape_equal(&x->spec.shape, &shape))
        fail_msg("expected %s, got %s", DUET_SHAPE_TEXT(&shape), DUET_SPEC_TEXT(&x->spec));
}

/* Every element of x within |difference| <= tolerance (1 + |expected|); NaN equals NaN. */
static inline void expect_near(duet_tensor *x, duet_shape shape, const double *expected,
                               double tolerance) {
    expect_shape(x, shape);
    for (int64_t i = 0; i < duet_shape_count(&shape); i++) {
        double got = duet_item(x, i), allowed = tolerance * (1 + fabs(expected[i]));
        bool fits = got == expected[i] || fabs(got - expected[i]) <= allowed ||
                    (isnan(got) && isnan(expected[i]));
        if (!fits) fail_msg("element %d: expected %.17g, got %.17g", (int)i, expected[i], got);
    }
}
#define EXPECT(x, shape, ...) expect_near(x, shape, (double[]){__VA_ARGS__}, 0)
#define EXPECT_NEAR(x, tolerance, shape, ...)                                                      \
    expect_near(x, shape, (double[]){__VA_ARGS__}, tolerance)

static inline void expect_same_bits(const duet_tensor *x, const duet_tensor *y) {
    assert_non_null(x);
    assert_non_null(y);
    assert_true(duet_spec_equal(&x->spec, &y->spec));
    assert_memory_equal(x->data, y->data, duet_spec_bytes(&x->spec));
}

/* The result's spec as text, or the message of the refusal, of a call like "f32[?,3]; axis=1". */
static inline const char *inferred(const char *name, const char *sample_text) {
    static char text[1024];
    duet_sample sample;
    const duet_op *op = duet_op_find(name);
    duet_spec out[DUET_MAX_OUTPUTS];
    const duet_spec *in[DUET_MAX_INPUTS];
    assert_non_null(op);
    if (duet_sample_parse(&sample, op, sample_text) != DUET_OK)
        fail_msg("%s", duet_error_message());
    for (int i = 0; i < sample.n_in; i++) in[i] = &sample.specs[i];
    bool fits = op->infer(out, &(duet_op_call){op, sample.attrs, in, sample.n_in}) == DUET_OK;
    const char *result = !fits ? duet_error_message() : op->n_out ? DUET_SPEC_TEXT(out) : "fits";
    snprintf(text, sizeof text, "%s", result);
    duet_error_clear();
    return text;
}
#define EXPECT_INFERRED(name, sample, text) assert_string_equal(inferred(name, sample), text)

/* The element of x that element `place` of `to`, row-major, shows when x is broadcast to it. */
static inline int64_t broadcast_place(const duet_tensor *x, const duet_shape *to, int64_t place) {
    const duet_shape *from = &x->spec.shape;
    int64_t at = 0, stride = 1;
    for (int64_t i = to->rank - 1, k = from->rank - 1; i >= 0; i--, k--) {
        int64_t index = place % to->dims[i];
        place /= to->dims[i];
        if (k < 0) continue;
        at += from->dims[k] == 1 ? 0 : index * stride;
        stride *= from->dims[k];
    }
    return at;
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* sum(y * weights), y = op(in), with input `which`'s element `at` moved by `by`. */
static inline double moved_loss(const duet_op *op, const duet_attr *attrs, duet_tensor **in,
                                int n_in, const duet_tensor *weights, double *moved, double by) {
    double before = *moved, loss = 0;
    *moved = before + by;
    duet_tensor *y = duet_apply(op, attrs, in, n_in);
    *moved = before;
    for (int64_t i = 0; i < duet_tensor_count(y); i++)
        loss += duet_item(y, i) * duet_item(weights, i);
    return loss;
}

/* The rule of `name` on each of its samples, in f64, against central differences. Inputs whose
 * gradient is NULL must not matter. */
static inline void check_gradients(const char *name) {
    const duet_op *op = duet_op_find(name);
    for (int s = 0; s < DUET_MAX_SAMPLES && op->samples[s]; s++) {
        duet_sample sample;
        duet_tensor *in[DUET_MAX_INPUTS], *grads[DUET_MAX_INPUTS] = {NULL};
        duet_scope_open();
        assert_int_equal(duet_sample_parse(&sample, op, op->samples[s]), DUET_OK);
        for (int i = 0; i < sample.n_in; i++) {
            sample.specs[i].dtype = DUET_F64;
            in[i] = noisy(&sample.specs[i], (uint64_t)(1000 * s + 100 * i));
        }
        duet_tensor *y = duet_apply(op, sample.attrs, in, sample.n_in);
        duet_tensor *weights = noisy(&y->spec, 77);
        duet_grad call = {op, sample.attrs, in, &y, &weights, sample.n_in, 1, ~0ull};
        assert_int_equal(op->grad(grads, &call), DUET_OK);
        for (int i = 0; i < sample.n_in; i++) {
            if (grads[i]) expect_shape(grads[i], in[i]->spec.shape);
            for (int64_t at = 0; at < duet_tensor_count(in[i]); at++) {
                double h = 1e-5, *x = (double *)in[i]->data + at;
                double up = moved_loss(op, sample.attrs, in, sample.n_in, weights, x, h);
                double down = moved_loss(op, sample.attrs, in, sample.n_in, weights, x, -h);
                double expected = (up - down) / (2 * h),
                       got = grads[i] ? duet_item(grads[i], at) : 0;
                if (fabs(got - expected) > 1e-6 * (1 + fabs(expected)))
                    fail_msg("%s(%s): gradient %d, element %d: expected %g, got %g", name,
                             op->samples[s], i, (int)at, expected, got);
            }
        }
        duet_scope_close(NULL);
    }
}

#endif
