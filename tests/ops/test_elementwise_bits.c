/* How exact the functions are that do not round correctly, and that an element's bits depend on the
 * element alone: not on its place, its neighbours, or the form of code that computes it. */
#include "direct.h"
#include "kernels/elementwise.h"
#include "kernels/tile.h"
#include "ops_elementwise.h"

#include <float.h>

/* ---- errors in ulp -----------------------------------------------------------------------------
 */

static long double sigmoid(long double x) { return 1 / (1 + expl(-x)); }

typedef struct range {
    const char *name;
    long double (*right)(long double x);
    duet_dtype dtype;
    double low, high; /* uniform; both 0: any bits */
} range;

/* Distance of f32s or f64s near `value`, their smallest one near 0. */
static long double ulp_at(long double value, duet_dtype dtype) {
    int digits = dtype == DUET_F32 ? FLT_MANT_DIG : DBL_MANT_DIG;
    int least = dtype == DUET_F32 ? FLT_MIN_EXP : DBL_MIN_EXP, exponent;
    frexpl(value, &exponent);
    return ldexpl(1, (exponent < least ? least : exponent) - digits);
}

static long double ulps(double got, long double right, duet_dtype dtype) {
    double rounded = dtype == DUET_F32 ? (double)(float)right : (double)right;
    if (isnan(right) || isinf(rounded))
        return (isnan(right) && isnan(got)) || got == rounded ? 0 : INFINITY;
    return isfinite(got) ? fabsl(got - right) / ulp_at(right, dtype) : INFINITY;
}

static uint64_t random_bits(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = *state ^ *state >> 29;
    x *= 0x9E3779B97F4A7C15u;
    return x ^ x >> 32;
}

static void fill(void *to, const range *r, int count, uint64_t *state) {
    bool any = r->low == r->high;
    for (int i = 0; i < count; i++) {
        uint64_t bits = random_bits(state);
        double x = r->low + (r->high - r->low) * ((double)(bits >> 11) / 9007199254740992.0);
        if (r->dtype == DUET_F32 && any)
            memcpy((float *)to + i, &(uint32_t){(uint32_t)bits}, 4);
        else if (r->dtype == DUET_F32)
            ((float *)to)[i] = (float)x;
        else
            memcpy((double *)to + i, any ? (void *)&bits : (void *)&x, 8);
    }
}

static double element(const void *x, duet_dtype dtype, int64_t i) {
    return dtype == DUET_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

/* Prints the worst of many and returns it. */
static long double worst_of(const range *r, int rounds) {
    enum { COUNT = 1000 };
    _Alignas(64) double x[COUNT], y[COUNT];
    uint64_t state = 42;
    long double worst = 0;
    double worst_x = 0;
    duet_elementwise_loop loop = duet_op_find(r->name)->elementwise->code[r->dtype].loops[0];
    for (int round = 0; round < rounds; round++) {
        fill(x, r, COUNT, &state);
        loop(y, x, NULL, NULL, COUNT);
        for (int i = 0; i < COUNT; i++) {
            double at = element(x, r->dtype, i);
            long double error = ulps(element(y, r->dtype, i), r->right(at), r->dtype);
            if (error > worst) worst = error, worst_x = at;
        }
    }
    print_message("  %-8s %s %7g .. %-7g %5.3Lf ulp, at %.17g\n", r->name,
                  duet_dtype_name(r->dtype), r->low, r->high, worst, worst_x);
    return worst;
}

static void errors_are_within_four_ulp(void **state) {
    (void)state;
    static const range ranges[] = {
        {"exp", expl, DUET_F32, 0, 0},
        {"exp", expl, DUET_F32, -104, 89},
        {"exp", expl, DUET_F32, -1, 1},
        {"exp", expl, DUET_F64, 0, 0},
        {"exp", expl, DUET_F64, -746, 710},
        {"exp", expl, DUET_F64, -1, 1},
        {"log", logl, DUET_F32, 0, 0},
        {"log", logl, DUET_F32, 0.5, 2},
        {"log", logl, DUET_F32, 0, 1e30},
        {"log", logl, DUET_F64, 0, 0},
        {"log", logl, DUET_F64, 0.5, 2},
        {"log", logl, DUET_F64, 0, 1e300},
        {"tanh", tanhl, DUET_F32, 0, 0},
        {"tanh", tanhl, DUET_F32, -10, 10},
        {"tanh", tanhl, DUET_F32, -0.1, 0.1},
        {"tanh", tanhl, DUET_F64, 0, 0},
        {"tanh", tanhl, DUET_F64, -20, 20},
        {"tanh", tanhl, DUET_F64, -0.1, 0.1},
        {"sigmoid", sigmoid, DUET_F32, -88, 90},
        {"sigmoid", sigmoid, DUET_F32, -20, 20},
        {"sigmoid", sigmoid, DUET_F64, -709, 90},
        {"sigmoid", sigmoid, DUET_F64, -20, 20},
    };
    bool fits = true;
    for (size_t i = 0; i < LENGTH(ranges); i++) {
        long double worst = worst_of(&ranges[i], 50);
        fits &= worst > 0.4L && worst <= 4; /* less would mean that nothing was measured */
    }
    assert_true(fits);
}

/* Correctly rounded. Of f64 the half ulp is known to long double's digits. */
static void square_roots_are_the_nearest(void **state) {
    (void)state;
    assert_true(worst_of(&(range){"sqrt", sqrtl, DUET_F32, 0, 0}, 100) <= 0.5L);
    assert_true(worst_of(&(range){"sqrt", sqrtl, DUET_F64, 0, 0}, 100) <= 0.5005L);
    assert_true(worst_of(&(range){"sqrt", sqrtl, DUET_F64, 1, 4}, 100) <= 0.5005L);
}

/* Below -88.73 (f64: -709.79) exp(-x) is infinite and the result 0, where it would be denormal. */
static void a_sigmoid_that_would_be_denormal_is_zero(void **state) {
    (void)state;
    duet_tensor *y = duet_sigmoid(F32(SHAPE(4), -88.72f, -88.74f, -100, -1e30f));
    assert_true(duet_item(y, 0) > 0 && duet_item(y, 0) < 3e-39);
    for (int i = 1; i < 4; i++) assert_true(duet_item(y, i) == 0);
    EXPECT(duet_sigmoid(F64(SHAPE(2), -709.8, -745)), SHAPE(2), 0, 0);
}

/* ---- the same bits everywhere ------------------------------------------------------------------
 */

enum { MOST = 67, ROOM = 80 };

typedef struct probe {
    const duet_op *op;
    duet_dtype dtype;
    size_t size_x, size, size_out;        /* bytes an element: first operand, others, output */
    _Alignas(64) char in[3][ROOM * 8];    /* ROOM elements of each operand */
    _Alignas(64) char alone[ROOM * 8];    /* their results, each computed by itself */
    _Alignas(64) char first[2][ROOM * 8]; /* the same with element 0 of x, or y, for all */
} probe;

/* NaN's payload has no meaning where two meet. */
static bool same_lane(const probe *p, const void *a, const void *b) {
    if (memcmp(a, b, p->size_out) == 0) return true;
    if (p->size_out == 1 || p->dtype == DUET_I32) return false;
    return isnan(element(a, p->dtype, 0)) && isnan(element(b, p->dtype, 0));
}

static void expect_lanes(const probe *p, const char *got, const char *expected, int n,
                         const char *how) {
    for (int i = 0; i < n; i++) {
        size_t at = (size_t)i * p->size_out;
        if (!same_lane(p, got + at, expected + at))
            fail_msg("%s %s: element %d of %d is not as when computed alone (%s)", p->op->name,
                     duet_dtype_name(p->dtype), i, n, how);
    }
}

static const void *operand(const probe *p, int i, int at) {
    return p->in[i] + (size_t)at * (i == 0 ? p->size_x : p->size);
}

static void compute_alone(probe *p) {
    const duet_elementwise_code *code = &p->op->elementwise->code[p->dtype];
    for (int i = 0; i < ROOM; i++) {
        const void *x = operand(p, 0, i), *y = operand(p, 1, i), *z = operand(p, 2, i);
        code->loops[0](p->alone + (size_t)i * p->size_out, x, y, z, 1);
        if (p->op->n_in != 2) continue;
        code->loops[0](p->first[0] + (size_t)i * p->size_out, p->in[0], y, z, 1);
        code->loops[0](p->first[1] + (size_t)i * p->size_out, x, p->in[1], z, 1);
    }
}

static probe *probe_new(const duet_op *op, duet_dtype dtype) {
    probe *p = aligned_alloc(64, (sizeof *p + 63) / 64 * 64);
    memset(p, 0, sizeof *p);
    p->op = op, p->dtype = dtype;
    p->size = p->size_x = p->size_out = duet_dtype_size(dtype);
    if (op->elementwise->x_is_bool) p->size_x = 1;
    if (op->elementwise->out_is_bool) p->size_out = 1;
    static const double specials[] = {NAN, INFINITY, -INFINITY, -0.0, 0, 1e-40, 88, -88, 700};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < ROOM; k++) {
            double value = noise((uint64_t)(1000 * i + k)) * 20;
            if (k % 7 == 2 * i) value = specials[(k + i) % (int)LENGTH(specials)];
            void *at = (void *)(uintptr_t)operand(p, i, k);
            if (i == 0 && p->size_x == 1)
                *(uint8_t *)at = value > 0;
            else if (dtype == DUET_I32)
                *(int32_t *)at = isfinite(value) ? (int32_t)(value * 1e7) : k;
            else if (dtype == DUET_F32)
                *(float *)at = (float)value;
            else
                *(double *)at = value;
        }
    compute_alone(p);
    return p;
}

/* At each length and alignment of operands and output. */
static void check_loops(const probe *p) {
    const duet_elementwise_code *code = &p->op->elementwise->code[p->dtype];
    _Alignas(64) char out[(MOST + 8) * 8];
    for (int n = 1; n <= MOST; n++)
        for (int from = 0; from < 8; from++) {
            char *to = out + (size_t)(n % 5) * p->size_out;
            size_t at = (size_t)from * p->size_out;
            const void *x = operand(p, 0, from), *y = operand(p, 1, from);
            code->loops[0](to, x, y, operand(p, 2, from), n);
            expect_lanes(p, to, p->alone + at, n, "eager");
            if (p->op->n_in != 2) continue;
            code->loops[1](to, p->in[0], y, NULL, n);
            expect_lanes(p, to, p->first[0] + at, n, "x a scalar");
            code->loops[2](to, x, p->in[1], NULL, n);
            expect_lanes(p, to, p->first[1] + at, n, "y a scalar");
        }
}

/* As an instruction of the tile machine, with operand `in_acc` in the accumulator, and those in
 * `scalars` of one element. A cast to its own type brings an operand there. */
static void run_tile(const probe *p, char *out, int in_acc, int scalars, int from, int n) {
    int arity = p->op->n_in;
    duet_spec specs[3];
    const duet_spec *in[3] = {&specs[0], &specs[1], &specs[2]};
    const void *data[3];
    duet_tile_node nodes[2] = {{duet_op_find("cast")->elementwise, {in_acc}},
                               {p->op->elementwise, {0, 1, 2}}};
    nodes[1].args[in_acc] = arity;
    for (int i = 0; i < arity; i++) {
        bool scalar = scalars >> i & 1;
        duet_dtype dtype = i == 0 && p->size_x == 1 ? DUET_BOOL : p->dtype;
        specs[i] = (duet_spec){scalar ? DUET_SCALAR : SHAPE(n), dtype};
        data[i] = operand(p, i, scalar ? 0 : from);
    }
    duet_dtype to = p->op->elementwise->out_is_bool ? DUET_BOOL : p->dtype;
    duet_tile_source source = {.dtype = p->dtype,
                               .shape = SHAPE(n),
                               .in = in,
                               .nodes = nodes,
                               .out = &(int32_t){arity + 1},
                               .out_dtypes = &to,
                               .n_in = arity,
                               .n_nodes = 2,
                               .n_out = 1};
    duet_tile_program *program = duet_tile_compile(&source);
    assert_non_null(program);
    assert_int_equal(duet_tile_run(program, data, (void *[]){out}), DUET_OK);
    duet_tile_free(program);
}

static void check_tiles(const probe *p) {
    _Alignas(64) char out[(MOST + 8) * 8];
    for (int n = 1; n <= MOST; n += n < 34 ? 1 : 11)
        for (int in_acc = 0; in_acc < p->op->n_in; in_acc++) {
            int from = (n + in_acc) % 8;
            size_t at = (size_t)from * p->size_out;
            run_tile(p, out, in_acc, 0, from, n);
            expect_lanes(p, out, p->alone + at, n, "tile");
            if (p->op->n_in != 2) continue;
            for (int scalar = 0; scalar < 2; scalar++) {
                run_tile(p, out, in_acc, 1 << scalar, from, n);
                expect_lanes(p, out, p->first[scalar] + at, n, "tile with a scalar");
            }
        }
}

/* Every elementwise op there is, registered ones too. */
static void each_probe(void (*check)(const probe *p)) {
    int seen = 0;
    for (int i = 0; i < duet_op_count(); i++) {
        const duet_op *op = duet_op_at(i);
        if (!op->elementwise) continue;
        for (int dtype = DUET_F32; dtype <= DUET_I32; dtype++) {
            if (!op->elementwise->code[dtype].loops[0]) continue;
            probe *p = probe_new(op, (duet_dtype)dtype);
            check(p);
            free(p);
        }
        seen++;
    }
    assert_true(seen >= 19);
}

static void place_and_length_change_no_bit(void **state) {
    (void)state;
    each_probe(check_loops);
}

static void the_tile_machine_has_the_loops_bits(void **state) {
    (void)state;
    each_probe(check_tiles);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(errors_are_within_four_ulp),
        TEST(square_roots_are_the_nearest),
        TEST(a_sigmoid_that_would_be_denormal_is_zero),
        TEST(place_and_length_change_no_bit),
        TEST(the_tile_machine_has_the_loops_bits),
    };
    return cmocka_run_group_tests_name("elementwise_bits", tests, NULL, NULL);
}
