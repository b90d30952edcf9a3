/* Elementwise ops in every loop that is compiled from their expression, for every type: vectors and
 * tails, scalar operands, in place, broadcast. What they must be is computed one element at a time,
 * in double or in 64-bit integers. Nothing beside the operands may be touched. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "direct.h"
#include "kernels/tile.h"
#include "ops_elementwise.h"

#include <float.h>
#include <sys/mman.h>

enum { MOST = 67, PAGE = 4096 };

/* ---- what is right ----------------------------------------------------------------------------
 */

/* In double; rounded to f32 this is f32's result too, since double has more than twice the digits
 * (S. Figueroa: "When is double rounding innocuous?", SIGNUM 30(3), 1995). */
#define REAL(name, value)                                                                          \
    static double real_##name(double x, double y, double z) { return (void)y, (void)z, (value); }
REAL(neg, -x)
REAL(abs, fabs(x))
REAL(square, x *x)
REAL(relu, isnan(x) ? x : x < 0 ? 0 : x)
REAL(sqrt, sqrt(x))
REAL(add, x + y)
REAL(sub, x - y)
REAL(mul, x *y)
REAL(div, x / y)
REAL(maximum, isnan(x) || isnan(y) ? NAN : x > y ? x : y)
REAL(minimum, isnan(x) || isnan(y) ? NAN : x < y ? x : y)
REAL(relu_grad, y > 0 ? x : 0)
REAL(greater, x > y)
REAL(equal, x == y)
REAL(where, x != 0 ? y : z)

#define INTEGER(name, value)                                                                       \
    static int64_t integer_##name(int64_t x, int64_t y, int64_t z) {                               \
        return (void)y, (void)z, (value);                                                          \
    }
INTEGER(neg, -x)
INTEGER(abs, x < 0 ? -x : x)
INTEGER(square, x *x)
INTEGER(relu, x < 0 ? 0 : x)
INTEGER(add, x + y)
INTEGER(sub, x - y)
INTEGER(mul, x *y)
INTEGER(div, y ? x / y : 0)
INTEGER(maximum, x > y ? x : y)
INTEGER(minimum, x < y ? x : y)
INTEGER(relu_grad, y > 0 ? x : 0)
INTEGER(greater, x > y)
INTEGER(equal, x == y)
INTEGER(where, x ? y : z)

typedef struct reference {
    const char *name;
    double (*real)(double x, double y, double z);
    int64_t (*integer)(int64_t x, int64_t y, int64_t z); /* NULL: floats only */
} reference;

#define BOTH(name)                                                                                 \
    { #name, real_##name, integer_##name }
static const reference references[] = {
    BOTH(neg),     BOTH(abs),     BOTH(square), BOTH(relu),  {"sqrt", real_sqrt, NULL},
    BOTH(add),     BOTH(sub),     BOTH(mul),    BOTH(div),   BOTH(maximum),
    BOTH(minimum), BOTH(greater), BOTH(equal),  BOTH(where), BOTH(relu_grad),
};

static double right(const reference *r, duet_dtype dtype, const double v[3]) {
    if (dtype == DUET_I32) { /* the low half */
        int64_t wide = r->integer((int64_t)v[0], (int64_t)v[1], (int64_t)v[2]);
        return (double)(int32_t)(uint32_t)wide;
    }
    double value = r->real(v[0], v[1], v[2]);
    return dtype == DUET_F32 ? (double)(float)value : value;
}

static bool same_number(double a, double b) {
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

/* ---- values -----------------------------------------------------------------------------------
 */

static double get(const void *from, duet_dtype dtype, int64_t i) {
    switch (dtype) {
    case DUET_F32: return (double)((const float *)from)[i];
    case DUET_F64: return ((const double *)from)[i];
    case DUET_I32: return ((const int32_t *)from)[i];
    default: return ((const uint8_t *)from)[i];
    }
}

static void put(void *to, duet_dtype dtype, int64_t i, double value) {
    switch (dtype) {
    case DUET_F32: ((float *)to)[i] = (float)value; break;
    case DUET_F64: ((double *)to)[i] = value; break;
    case DUET_I32: ((int32_t *)to)[i] = (int32_t)value; break;
    default: ((uint8_t *)to)[i] = value > 0; break;
    }
}

/* Ordinary and special values, so mixed that over some salts each meets each. */
static double value_for(duet_dtype dtype, int salt, int64_t i) {
    static const double reals[] = {NAN,     INFINITY, -INFINITY, 0,       -0.0,     1,      -1,
                                   0.5,     -2,       1e-45,     -1e-45,  1e-310,   1e-38,  -3e38,
                                   FLT_MAX, FLT_MIN,  -FLT_MIN,  DBL_MAX, -DBL_MAX, DBL_MIN};
    static const double integers[] = {0, 1, -1, 2, -7, INT32_MIN, INT32_MAX, 65536, -65537, 46341};
    uint64_t at = (uint64_t)salt * 977 + (uint64_t)i;
    unsigned pick = (unsigned)((noise(at) + 1) * 1e6);
    if (dtype == DUET_I32)
        return pick & 1 ? integers[pick / 2 % LENGTH(integers)] : trunc(noise(at + 7777) * 2e9);
    return pick & 1 ? reals[pick / 2 % LENGTH(reals)] : noise(at + 7777) * 4;
}

/* Four areas of memory, a page each, between pages that nobody may touch. */
static char *areas[4];

static int map_areas(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        char *at = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED || mprotect(at + PAGE, PAGE, PROT_READ | PROT_WRITE)) return -1;
        areas[i] = at + PAGE;
    }
    return 0;
}

/* Room for `bytes` in area i: `from_begin` bytes from its begin, or up against its end (-1). The
 * rest of the page is filled with guard bytes. */
static void *place(int i, size_t bytes, int from_begin) {
    memset(areas[i], GUARD_BYTE, PAGE);
    return from_begin < 0 ? areas[i] + PAGE - bytes : areas[i] + from_begin;
}

static void expect_guards(int i, const void *data, size_t bytes) {
    static char guards[PAGE];
    memset(guards, GUARD_BYTE, PAGE);
    size_t before = (size_t)((const char *)data - areas[i]);
    if (memcmp(areas[i], guards, before) ||
        memcmp(areas[i] + before + bytes, guards, PAGE - before - bytes))
        fail_msg("something was written beside an output of %d bytes", (int)bytes);
}

/* ---- one call of a compiled form --------------------------------------------------------------
 */

typedef struct form {
    const duet_op *op;
    duet_dtype dtype; /* computed in */
    int n, scalars;   /* bit i: operand i is one element */
    int place;        /* see place() */
    int over;         /* the operand that the output lies on, or -1 */
} form;

static duet_dtype dtype_in(const form *f, int i) {
    return i == 0 && f->op->elementwise->x_is_bool ? DUET_BOOL : f->dtype;
}
static duet_dtype dtype_out(const form *f) {
    return f->op->elementwise->out_is_bool ? DUET_BOOL : f->dtype;
}

/* Fills the operands and says where everything lies: in[0..2], and the output as in[3]. */
static void lay_out(const form *f, void **in, int salt) {
    for (int i = 0; i < f->op->elementwise->arity; i++) {
        int count = f->scalars >> i & 1 ? 1 : f->n;
        in[i] = place(i, (size_t)count * duet_dtype_size(dtype_in(f, i)), f->place);
        for (int k = 0; k < count; k++)
            put(in[i], dtype_in(f, i), k, value_for(f->dtype, salt + 100 * i, k));
    }
    size_t bytes = (size_t)f->n * duet_dtype_size(dtype_out(f));
    in[3] = f->over < 0 ? place(3, bytes, f->place) : in[f->over];
}

static double operand(const form *f, void *const *in, int i, int k) {
    return get(in[i], dtype_in(f, i), f->scalars >> i & 1 ? 0 : k);
}

static void check_form(const reference *r, const form *f) {
    void *in[4] = {NULL};
    double expected[MOST], v[3];
    int arity = f->op->elementwise->arity;
    lay_out(f, in, f->n);
    for (int k = 0; k < f->n; k++) {
        for (int i = 0; i < arity; i++) v[i] = operand(f, in, i, k);
        expected[k] = right(r, f->dtype, v);
    }
    f->op->elementwise->code[f->dtype].loops[f->scalars](in[3], in[0], in[1], in[2], f->n);
    for (int k = 0; k < f->n; k++) {
        double got = get(in[3], dtype_out(f), k);
        if (!same_number(got, expected[k]))
            fail_msg("%s %s[%d], scalars %d, place %d, over %d, element %d: expected %g, got %g",
                     r->name, duet_dtype_name(f->dtype), f->n, f->scalars, f->place, f->over, k,
                     expected[k], got);
    }
    size_t bytes = (size_t)f->n * duet_dtype_size(dtype_out(f));
    expect_guards(f->over < 0 ? 3 : f->over, in[3], bytes);
}

static bool has_type(const duet_op *op, int dtype) {
    return op->elementwise->code[dtype].loops[0] != NULL;
}

/* Calls `check` for each of the ops above in each of its types. */
static void each_op(void (*check)(const reference *r, const duet_op *op, duet_dtype dtype)) {
    for (size_t i = 0; i < LENGTH(references); i++) {
        const duet_op *op = duet_op_find(references[i].name);
        assert_non_null(op);
        for (int dtype = DUET_F32; dtype <= DUET_I32; dtype++) {
            assert_int_equal(has_type(op, dtype), dtype != DUET_I32 || references[i].integer);
            if (has_type(op, dtype)) check(&references[i], op, (duet_dtype)dtype);
        }
    }
}

static void check_forms(const reference *r, const duet_op *op, duet_dtype dtype) {
    int all = (1 << op->elementwise->arity) - 1, size = (int)duet_dtype_size(dtype);
    for (int n = 1; n <= MOST; n++)
        for (int scalars = 0; scalars < all; scalars++)
            for (int at = -1; at < 4; at++)
                check_form(r, &(form){op, dtype, n, scalars, at < 0 ? -1 : at * size, -1});
}

/* Both ends of every operand lie against forbidden memory in turn. */
static void every_form_is_right_at_every_length(void **state) {
    (void)state;
    each_op(check_forms);
}

static void check_in_place(const reference *r, const duet_op *op, duet_dtype dtype) {
    int arity = op->elementwise->arity;
    form f = {.op = op, .dtype = dtype};
    for (f.n = 1; f.n <= MOST; f.n++)
        for (f.over = 0; f.over < arity; f.over++)
            for (f.scalars = 0; f.scalars < (1 << arity) - 1; f.scalars++) {
                bool whole = !(f.scalars >> f.over & 1) || f.n == 1;
                if (whole && dtype_in(&f, f.over) == dtype_out(&f)) check_form(r, &f);
            }
}

static void the_output_may_lie_on_an_operand(void **state) {
    (void)state;
    each_op(check_in_place);
}

/* ---- broadcasting -----------------------------------------------------------------------------
 */

static duet_tensor *tensor_for(const form *f, int i, duet_shape shape) {
    duet_tensor *x = duet_zeros(shape, dtype_in(f, i));
    for (int64_t k = 0; k < duet_tensor_count(x); k++)
        put(x->data, dtype_in(f, i), k, value_for(f->dtype, 100 * i, k));
    return x;
}

/* Which element of x stands at place `at` of the result. */
static int64_t source_of(const duet_tensor *x, const duet_shape *out, int64_t at) {
    int64_t index = 0, stride = 1;
    for (int64_t i = 0; i < x->spec.shape.rank; i++) {
        int64_t dim = x->spec.shape.dims[x->spec.shape.rank - 1 - i];
        int64_t extent = out->dims[out->rank - 1 - i];
        if (dim > 1) index += at % extent * stride;
        at /= extent;
        stride *= dim;
    }
    return index;
}

static void check_broadcast(const reference *r, const form *f, const duet_shape *shapes,
                            duet_shape out) {
    duet_tensor *in[3];
    double v[3];
    duet_scope_open();
    int arity = f->op->elementwise->arity;
    for (int i = 0; i < arity; i++) in[i] = tensor_for(f, i, shapes[i]);
    duet_tensor *y = duet_apply(f->op, NULL, in, arity);
    expect_shape(y, out);
    assert_int_equal(y->spec.dtype, dtype_out(f));
    for (int64_t k = 0; k < duet_tensor_count(y); k++) {
        for (int i = 0; i < arity; i++)
            v[i] = get(in[i]->data, dtype_in(f, i), source_of(in[i], &out, k));
        double expected = right(r, f->dtype, v), got = get(y->data, dtype_out(f), k);
        if (!same_number(got, expected))
            fail_msg("%s %s[%s, %s], element %d: expected %g, got %g", r->name,
                     duet_dtype_name(f->dtype), DUET_SHAPE_TEXT(&shapes[0]),
                     DUET_SHAPE_TEXT(&shapes[1]), (int)k, expected, got);
    }
    duet_scope_close(NULL);
}

static void check_broadcasts(const reference *r, const duet_op *op, duet_dtype dtype) {
    /* Operands x, y, z (a unary op takes the last one), and what they make. */
    const duet_shape cases[][4] = {
        {SHAPE(3, 1), SHAPE(1, 5), DUET_SCALAR, SHAPE(3, 5)},
        {SHAPE(5, 67), SHAPE(67), SHAPE(5, 1), SHAPE(5, 67)},
        {SHAPE(2, 1, 67), SHAPE(3, 1), SHAPE(2, 3, 67), SHAPE(2, 3, 67)},
        {SHAPE(1), SHAPE(7), SHAPE(1, 1), SHAPE(1, 7)},
        {DUET_SCALAR, DUET_SCALAR, DUET_SCALAR, DUET_SCALAR},
        {DUET_SCALAR, SHAPE(1, 1), SHAPE(1), SHAPE(1, 1)},
        {SHAPE(2, 0, 3), SHAPE(3), SHAPE(2, 1, 1), SHAPE(2, 0, 3)},
        {SHAPE(2, 1, 3, 1, 2, 1), SHAPE(1, 4, 1, 3, 1, 5), SHAPE(5), SHAPE(2, 4, 3, 3, 2, 5)},
        {SHAPE(64, 64), SHAPE(64), SHAPE(64, 1), SHAPE(64, 64)}, /* alike in every chunk */
        {SHAPE(700, 3), SHAPE(3), SHAPE(1, 1), SHAPE(700, 3)},   /* in chunks of 510 */
        {SHAPE(1000, 2), SHAPE(1000, 1), SHAPE(2), SHAPE(1000, 2)},
        {SHAPE(2, 600), SHAPE(600), SHAPE(2, 1), SHAPE(2, 600)},
        {SHAPE(1, 513), SHAPE(3, 1), SHAPE(3, 513), SHAPE(3, 513)}, /* over the written-out part */
        {SHAPE(131, 1009), DUET_SCALAR, SHAPE(1009), SHAPE(131, 1009)}, /* over two threads */
    };
    form f = {.op = op, .dtype = dtype};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        duet_shape out = cases[i][3];
        duet_shape two[] = {cases[i][0], cases[i][1]}, swapped[] = {cases[i][1], cases[i][0]};
        if (op->n_in == 1)
            check_broadcast(r, &f, &out, out);
        else if (op->n_in == 3)
            check_broadcast(r, &f, cases[i], out);
        else if (duet_shape_broadcast(&out, &two[0], &two[1]))
            check_broadcast(r, &f, two, out), check_broadcast(r, &f, swapped, out);
    }
}

static void operands_broadcast(void **state) {
    (void)state;
    each_op(check_broadcasts);
}

/* ---- three operands of whole vectors: no op of duet's has that, an op of a user's may ---------
 */

extern const duet_op duet_op_three;
#define NAME three
#define ARITY 3
#define EXPR EXP(x) + y *z
#define FLOAT_ONLY
#define WHOLE_VECTORS
#include "kernels/elementwise.inc"
const duet_op duet_op_three = {.name = "three", .n_in = 3, DUET_ELEMENTWISE(three)};

static void whole_vectors_of_three_operands(void **state) {
    (void)state;
    double x[MOST], y[MOST], z[MOST], out[MOST];
    for (int i = 0; i < MOST; i++) x[i] = noise((uint64_t)i), y[i] = i, z[i] = 3 - i;
    for (int scalars = 0; scalars < 7; scalars++)
        for (int n = 1; n <= MOST; n++) {
            duet_op_three.elementwise->code[DUET_F64].loops[scalars](out, x, y, z, n);
            for (int i = 0; i < n; i++) {
                double a = y[scalars & 2 ? 0 : i], b = z[scalars & 4 ? 0 : i];
                double want = exp(x[scalars & 1 ? 0 : i]) + a * b;
                assert_true(fabs(out[i] - want) <= 1e-14 * (1 + fabs(want)));
            }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_form_is_right_at_every_length),
        TEST(the_output_may_lie_on_an_operand),
        TEST(operands_broadcast),
        TEST(whole_vectors_of_three_operands),
    };
    return cmocka_run_group_tests_name("elementwise_forms", tests, map_areas, NULL);
}
