/* The tile machine against the same ops one by one, bit for bit, on random programs. */
#include "direct.h"
#include "kernels/tile.h"
#include "ops_elementwise.h"
#include "pool.h"

#include <pthread.h>

enum { MOST_NODES = DUET_TILE_MAX_NODES, MOST_VALUES = MOST_NODES + 80 };

/* A program, and what each of its values is when computed op by op. */
typedef struct program {
    duet_tile_source source;
    duet_tile_node nodes[MOST_NODES];
    duet_tensor *values[MOST_VALUES];
    const duet_spec *in[DUET_MAX_INPUTS];
    duet_view constants[16];
    int32_t out[DUET_MAX_OUTPUTS];
    duet_dtype out_dtypes[DUET_MAX_OUTPUTS];
    int n_values;
    uint64_t random;
} program;

static unsigned pick(program *p, unsigned below) {
    p->random = p->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(p->random >> 33) % below;
}

/* Numbers of ordinary size, with a special one now and then. */
static duet_tensor *operand(program *p, duet_shape shape, duet_dtype dtype) {
    static const double specials[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e-40, 1e30};
    duet_spec spec = {.shape = shape, .dtype = dtype};
    duet_tensor *x = noisy(&spec, pick(p, 1000000));
    for (int64_t i = 0; i < duet_tensor_count(x); i++) {
        if (pick(p, 9) > 0) continue;
        double special = specials[pick(p, LENGTH(specials))];
        if (dtype == DUET_F32) ((float *)x->data)[i] = (float)special;
        if (dtype == DUET_F64) ((double *)x->data)[i] = special;
        if (dtype == DUET_I32) ((int32_t *)x->data)[i] = (int32_t[]){INT32_MIN, -1, 0}[pick(p, 3)];
    }
    return x;
}

static void begin(program *p, duet_dtype dtype, duet_shape shape, uint64_t seed) {
    memset(p, 0, sizeof *p);
    p->random = seed * 0x9E3779B97F4A7C15u + 1;
    p->source = (duet_tile_source){.dtype = dtype,
                                   .shape = shape,
                                   .in = p->in,
                                   .constants = p->constants,
                                   .nodes = p->nodes,
                                   .out = p->out,
                                   .out_dtypes = p->out_dtypes};
}

static int add_input(program *p, duet_tensor *x) {
    p->in[p->source.n_in++] = &x->spec;
    p->values[p->n_values] = x;
    return p->n_values++;
}

static int add_constant(program *p, duet_tensor *x) {
    p->constants[p->source.n_constants++] = (duet_view){x->data, &x->spec};
    p->values[p->n_values] = x;
    return p->n_values++;
}

/* A call of an op: computed now, and added as a node. */
static int add_call(program *p, const char *name, duet_dtype cast_to, const int *args) {
    const duet_op *op = duet_op_find(name);
    duet_tensor *in[3];
    const duet_spec *specs[3];
    duet_dtype type;
    for (int i = 0; i < op->n_in; i++) in[i] = p->values[args[i]], specs[i] = &in[i]->spec;
    duet_attr attr = {.dtype = cast_to};
    duet_tensor *y = duet_apply(op, &attr, in, op->n_in);
    assert_non_null(y);
    duet_tile_node *node = &p->nodes[p->source.n_nodes++];
    node->expression = duet_elementwise_of(&type, op, specs, &y->spec);
    assert_non_null(node->expression);
    for (int i = 0; i < op->n_in; i++) node->args[i] = args[i];
    p->values[p->n_values] = y;
    return p->n_values++;
}

static void add_output(program *p, int value) {
    p->out_dtypes[p->source.n_out] = duet_tensor_dtype(p->values[value]);
    p->out[p->source.n_out++] = value;
}

/* ---- random programs ------------------------------------------------------------------------- */

static duet_shape part_of(program *p, duet_shape shape) {
    switch (pick(p, 5)) {
    case 0: return DUET_SCALAR;
    case 1: /* a row */
        if (shape.rank > 1) return SHAPE(shape.dims[shape.rank - 1]);
        return shape;
    case 2: /* a column */
        if (shape.rank > 1) shape.dims[shape.rank - 1] = 1;
        return shape;
    default: return shape;
    }
}

/* A value of T, or a bool, among those there are; the last ones more often. */
static int some_value(program *p, bool is_bool) {
    for (int tries = 0; tries < 100; tries++) {
        int v =
            pick(p, 2) ? p->n_values - 1 - (int)pick(p, 4) : (int)pick(p, (unsigned)p->n_values);
        if (v >= 0 && (duet_tensor_dtype(p->values[v]) == DUET_BOOL) == is_bool) return v;
    }
    return is_bool ? 1 : 0; /* inputs 0 and 1 are of these kinds */
}

static void add_random_call(program *p) {
    static const char *const names[] = {"add",       "sub",   "mul",  "maximum", "minimum", "relu",
                                        "relu_grad", "neg",   "abs",  "square",  "div",     "where",
                                        "greater",   "equal", "cast", "cast",    "exp",     "tanh",
                                        "sigmoid",   "sqrt",  "log"};
    bool integers = p->source.dtype == DUET_I32;
    const char *name = names[pick(p, integers ? 16 : LENGTH(names))];
    bool chooses = strcmp(name, "where") == 0, casts = strcmp(name, "cast") == 0;
    bool bool_first = chooses || (casts && pick(p, 2));
    int args[3] = {some_value(p, bool_first), some_value(p, false), some_value(p, false)};
    bool to_bool = casts && pick(p, 2);
    add_call(p, name, to_bool ? DUET_BOOL : p->source.dtype, args);
}

static void make_random(program *p, duet_dtype dtype, duet_shape shape, uint64_t seed) {
    begin(p, dtype, shape, seed);
    add_input(p, operand(p, shape, dtype));
    add_input(p, operand(p, shape, DUET_BOOL));
    for (int i = (int)pick(p, 5); i > 0; i--)
        add_input(p, operand(p, part_of(p, shape), pick(p, 4) ? dtype : DUET_BOOL));
    for (int i = (int)pick(p, 3); i > 0; i--)
        add_constant(p, operand(p, DUET_SCALAR, pick(p, 4) ? dtype : DUET_BOOL));
    for (int i = 1 + (int)pick(p, 30); i > 0; i--) add_random_call(p);
    for (int i = (int)pick(p, 4); i >= 0; i--)
        add_output(p, i == 0 ? p->n_values - 1 : (int)pick(p, (unsigned)p->n_values));
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Equal bits; of a NaN only that it is one, since which operand's payload it carries is free. */
static bool same(const void *x, const void *y, duet_dtype dtype) {
    if (memcmp(x, y, duet_dtype_size(dtype)) == 0) return true;
    if (dtype == DUET_F32) return isnan(*(const float *)x) && isnan(*(const float *)y);
    return dtype == DUET_F64 && isnan(*(const double *)x) && isnan(*(const double *)y);
}

/* x broadcast to a shape, by its definition. */
static duet_tensor *spread(const duet_tensor *x, const duet_shape *shape) {
    duet_spec spec = {.shape = *shape, .dtype = x->spec.dtype};
    duet_tensor *y = duet_scope_own(duet_tensor_alloc(&spec));
    size_t size = duet_dtype_size(duet_tensor_dtype(x));
    for (int64_t i = 0; i < duet_shape_count(shape); i++)
        memcpy((char *)y->data + (size_t)i * size,
               (const char *)x->data + (size_t)broadcast_place(x, shape, i) * size, size);
    return y;
}

static void expect_same(const duet_tensor *want, const char *got, const program *p) {
    duet_dtype dtype = duet_tensor_dtype(want);
    size_t size = duet_dtype_size(dtype);
    for (int64_t i = 0; i < duet_tensor_count(want); i++)
        if (!same((const char *)want->data + (size_t)i * size, got + (size_t)i * size, dtype))
            fail_msg("%s: element %d of a program of %d nodes differs", DUET_SPEC_TEXT(&want->spec),
                     (int)i, p->source.n_nodes);
}

/* Memory of just so many bytes, off the alignment of vectors, between guards. */
typedef struct guarded {
    char *block, *data;
    size_t bytes;
} guarded;

static guarded guard(size_t bytes, size_t size) {
    guarded g = {.bytes = bytes};
    g.block = malloc(bytes + 2 * GUARD_BYTES + size);
    memset(g.block, GUARD_BYTE, bytes + 2 * GUARD_BYTES + size);
    g.data = g.block + GUARD_BYTES + size;
    return g;
}

static void release(guarded *g, size_t size) {
    for (size_t i = 0; i < GUARD_BYTES; i++) {
        assert_int_equal((uint8_t)g->block[size + i], GUARD_BYTE);
        assert_int_equal((uint8_t)g->data[g->bytes + i], GUARD_BYTE);
    }
    free(g->block);
}

/* Inputs end where their memory ends, so that a sanitizer sees a read too far. */
static void copy_inputs(void **copies, const program *p) {
    for (int i = 0; i < p->source.n_in; i++) {
        size_t bytes = duet_spec_bytes(p->in[i]);
        copies[i] = malloc(bytes ? bytes : 1);
        memcpy(copies[i], p->values[i]->data, bytes);
    }
}

static void run_and_compare(const program *p) {
    duet_tile_program *compiled = duet_tile_compile(&p->source);
    if (!compiled) fail_msg("%s", duet_error_message());
    void *in[DUET_MAX_INPUTS], *out[DUET_MAX_OUTPUTS];
    guarded results[DUET_MAX_OUTPUTS];
    copy_inputs(in, p);
    for (int i = 0; i < p->source.n_out; i++) {
        duet_spec spec = {.shape = p->source.shape, .dtype = p->out_dtypes[i]};
        results[i] = guard(duet_spec_bytes(&spec), duet_dtype_size(p->out_dtypes[i]));
        out[i] = results[i].data;
    }
    assert_int_equal(duet_tile_run(compiled, (const void *const *)in, out), DUET_OK);
    for (int i = 0; i < p->source.n_out; i++) {
        duet_scope_open();
        expect_same(spread(p->values[p->out[i]], &p->source.shape), out[i], p);
        duet_scope_close(NULL);
        release(&results[i], duet_dtype_size(p->out_dtypes[i]));
    }
    for (int i = 0; i < p->source.n_in; i++) free(in[i]);
    duet_tile_free(compiled);
}

static const duet_dtype types[] = {DUET_F32, DUET_F64, DUET_I32};

static void random_programs_equal_op_by_op(void **state) {
    (void)state;
    static program p;
    uint64_t seed = 0;
    for (int64_t n = 1; n <= 67; n++)
        for (size_t t = 0; t < LENGTH(types); t++)
            for (int k = 0; k < 4; k++) {
                duet_scope_open();
                make_random(&p, types[t], SHAPE(n), ++seed);
                run_and_compare(&p);
                duet_scope_close(NULL);
            }
}

static void random_programs_broadcast(void **state) {
    (void)state;
    static program p;
    const duet_shape shapes[] = {SHAPE(3, 67), SHAPE(64, 64), SHAPE(5, 2, 7), SHAPE(10, 300),
                                 SHAPE(2, 700), SHAPE(100, 3), SHAPE(1, 1), SHAPE(0, 3),
                                 SHAPE(4, 1, 33), DUET_SCALAR,
                                 /* around one, two and three tiles of either size */
                                 SHAPE(63), SHAPE(127), SHAPE(128), SHAPE(129), SHAPE(2, 128),
                                 SHAPE(257), SHAPE(383), SHAPE(3, 43), SHAPE(2, 191), SHAPE(7, 55)};
    for (size_t s = 0; s < LENGTH(shapes); s++)
        for (size_t t = 0; t < LENGTH(types); t++)
            for (uint64_t k = 0; k < 12; k++) {
                duet_scope_open();
                make_random(&p, types[t], shapes[s], 10000 + 100 * s + k);
                run_and_compare(&p);
                duet_scope_close(NULL);
            }
}

/* ---- reductions at the end ------------------------------------------------------------------- */

static void compare_reduced(program *p, int64_t run, const duet_reduction *reduction) {
    duet_shape rows = SHAPE(run ? duet_shape_count(&p->source.shape) / run : 3);
    duet_spec spec = {.shape = rows, .dtype = p->source.dtype};
    duet_spec flat = {.shape = SHAPE(rows.dims[0], run), .dtype = p->source.dtype};
    int last = p->n_values - 1;
    if (p->values[last]->spec.dtype == DUET_BOOL)
        last = add_call(p, "cast", p->source.dtype, (int[]){last});
    p->source.n_out = 0;
    add_output(p, last);
    p->source.reduction = reduction;
    p->source.rows = rows.dims[0];
    p->source.run = run;
    duet_tensor *all = spread(p->values[last], &p->source.shape),
                *want = duet_zeros(rows, spec.dtype);
    assert_int_equal(
        duet_reduce(reduction, &(duet_view){want->data, &spec}, &(duet_view){all->data, &flat}, 2),
        DUET_OK);
    guarded got = guard(duet_spec_bytes(&spec), duet_dtype_size(p->source.dtype));
    void *in[DUET_MAX_INPUTS];
    copy_inputs(in, p);
    duet_tile_program *compiled = duet_tile_compile(&p->source);
    assert_int_equal(duet_tile_run(compiled, (const void *const *)in, (void *[]){got.data}),
                     DUET_OK);
    expect_same(want, got.data, p);
    release(&got, duet_dtype_size(p->source.dtype));
    for (int i = 0; i < p->source.n_in; i++) free(in[i]);
    duet_tile_free(compiled);
}

static void a_fused_producer_reduces_to_the_same_bits(void **state) {
    (void)state;
    static program p;
    const struct {
        duet_shape shape;
        int64_t run;
    } cases[] = {{SHAPE(5, 10), 10},      {SHAPE(64, 10), 10},  {SHAPE(3, 67), 67},
                 {SHAPE(3, 67), 201},     {SHAPE(2, 700), 700}, {SHAPE(3, 5000), 5000},
                 {SHAPE(3, 5000), 15000}, {SHAPE(7, 1), 1},     {SHAPE(1, 128), 128},
                 {SHAPE(40000), 40000},   {SHAPE(3, 0), 0}};
    const char *const names[] = {"sum", "max", "mean"};
    for (size_t c = 0; c < LENGTH(cases); c++)
        for (size_t t = 0; t < LENGTH(types); t++)
            for (size_t r = 0; r < (types[t] == DUET_I32 ? 2u : 3u); r++) {
                duet_scope_open();
                make_random(&p, types[t], cases[c].shape, 50000 + 10 * c + r);
                compare_reduced(&p, cases[c].run, duet_op_find(names[r])->reduction);
                duet_scope_close(NULL);
            }
}

/* ---- particular programs --------------------------------------------------------------------- */

/* x = relu(x * 0.99 + 0.01), `steps` times. */
static void make_steps(program *p, duet_tensor *x, int steps) {
    begin(p, DUET_F32, x->spec.shape, 1);
    int value = add_input(p, x);
    int scale = add_constant(p, duet_f32(0.99f)), shift = add_constant(p, duet_f32(0.01f));
    for (int i = 0; i < steps; i++) {
        value = add_call(p, "mul", DUET_F32, (int[]){value, scale});
        value = add_call(p, "add", DUET_F32, (int[]){value, shift});
        value = add_call(p, "relu", DUET_F32, (int[]){value});
    }
    add_output(p, value);
}

static void fifty_steps_round_as_fifty_steps(void **state) {
    (void)state;
    static program p;
    float data[100], got[100];
    for (int i = 0; i < 100; i++) data[i] = i < 50 ? 0 : 2;
    make_steps(&p, duet_from_data(SHAPE(10, 10), DUET_F32, data), 50);
    duet_tile_program *compiled = duet_tile_compile(&p.source);
    assert_int_equal(duet_tile_run(compiled, (const void *[]){data}, (void *[]){got}), DUET_OK);
    for (int i = 0; i < 100; i++) assert_true(got[i] == (i < 50 ? 0.394993901f : 1.60500658f));
    duet_tile_free(compiled);
}

/* All that a program of 64 inputs can want to keep at a time. */
static void many_values_may_wait(void **state) {
    (void)state;
    static program p;
    for (size_t t = 0; t < LENGTH(types); t++) {
        begin(&p, types[t], SHAPE(201), 3 + t);
        int kept[64];
        for (int i = 0; i < 64; i++) add_input(&p, operand(&p, SHAPE(201), types[t]));
        for (int i = 0; i < 64; i++)
            kept[i] = add_call(&p, "mul", types[t], (int[]){i, (i + 7) % 64});
        for (int half = 32; half > 0; half /= 2)
            for (int i = 0; i < half; i++)
                kept[i] = add_call(&p, "sub", types[t], (int[]){kept[i], kept[i + half]});
        for (int i = 0; i < 63; i++)
            kept[0] = add_call(&p, "maximum", types[t], (int[]){kept[0], 64 + i});
        add_output(&p, kept[0]);
        run_and_compare(&p);
    }
}

/* out[0] may lie over an input, though that is still read after out[0] is known. */
static void an_output_may_overwrite_an_input(void **state) {
    (void)state;
    static program p;
    for (int64_t n = 1; n <= 300; n += 13) {
        duet_spec spec = {.shape = SHAPE(n), .dtype = DUET_F32};
        begin(&p, DUET_F32, SHAPE(n), 5);
        int x = add_input(&p, operand(&p, SHAPE(n), DUET_F32));
        int first = add_call(&p, "neg", DUET_F32, (int[]){x});
        int second = add_call(&p, "sub", DUET_F32, (int[]){first, x});
        add_output(&p, first);
        add_output(&p, second);
        duet_tile_program *compiled = duet_tile_compile(&p.source);
        void *shared = malloc(duet_spec_bytes(&spec)), *other = malloc(duet_spec_bytes(&spec));
        memcpy(shared, p.values[x]->data, duet_spec_bytes(&spec));
        assert_int_equal(
            duet_tile_run(compiled, (const void *[]){shared}, (void *[]){shared, other}), DUET_OK);
        expect_same(p.values[first], shared, &p);
        expect_same(p.values[second], other, &p);
        free(shared);
        free(other);
        duet_tile_free(compiled);
    }
}

/* The same of any program: out[0] in the memory of one of the inputs of its type and shape. */
static void run_in_place(const program *p, int over) {
    void *in[DUET_MAX_INPUTS], *out[DUET_MAX_OUTPUTS];
    duet_tile_program *compiled = duet_tile_compile(&p->source);
    assert_non_null(compiled);
    copy_inputs(in, p);
    for (int i = 0; i < p->source.n_out; i++)
        out[i] = i == 0 ? in[over] : malloc(8 * (size_t)duet_shape_count(&p->source.shape));
    assert_int_equal(duet_tile_run(compiled, (const void *const *)in, out), DUET_OK);
    for (int i = 0; i < p->source.n_out; i++)
        expect_same(spread(p->values[p->out[i]], &p->source.shape), out[i], p);
    for (int i = 1; i < p->source.n_out; i++) free(out[i]);
    for (int i = 0; i < p->source.n_in; i++) free(in[i]);
    duet_tile_free(compiled);
}

static void random_programs_run_in_place(void **state) {
    (void)state;
    static program p;
    const duet_shape shapes[] = {SHAPE(1),   SHAPE(15),  SHAPE(67),     SHAPE(128),
                                 SHAPE(129), SHAPE(300), SHAPE(10, 30), SHAPE(3, 200)};
    int runs = 0;
    for (size_t s = 0; s < LENGTH(shapes); s++)
        for (size_t t = 0; t < LENGTH(types); t++)
            for (uint64_t k = 0; k < 10; k++) {
                duet_scope_open();
                make_random(&p, types[t], shapes[s], 80000 + 100 * s + k);
                for (int i = 0; i < p.source.n_in; i++)
                    if (duet_shape_equal(&p.in[i]->shape, &shapes[s]) &&
                        p.in[i]->dtype == (int64_t)p.out_dtypes[0])
                        run_in_place(&p, i), runs++;
                duet_scope_close(NULL);
            }
    assert_true(runs > 200);
}

static void *run_longest(void *argument) {
    duet_scope_open();
    static program p;
    make_steps(&p, duet_full(SHAPE(100), DUET_F32, 0.5), DUET_TILE_MAX_NODES / 3);
    run_and_compare(&p);
    duet_scope_close(NULL);
    return argument;
}

static void the_longest_program_needs_little_stack(void **state) {
    (void)state;
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    assert_int_equal(pthread_create(&thread, &attributes, run_longest, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

static void results_do_not_depend_on_threads(void **state) {
    (void)state;
    static program p;
    int threads = duet_pool_threads();
    for (int n = 1; n <= 4; n += 3) {
        duet_pool_set_threads(n);
        duet_scope_open();
        make_random(&p, DUET_F32, SHAPE(701, 501), 77);
        run_and_compare(&p);
        compare_reduced(&p, 501, duet_op_find("sum")->reduction);
        duet_scope_close(NULL);
    }
    duet_pool_set_threads(threads);
}

static void programs_print_themselves(void **state) {
    (void)state;
    static program p;
    make_steps(&p, duet_full(SHAPE(10), DUET_F32, 0.5), 1);
    p.source.n_constants = 2;
    duet_tile_program *compiled = duet_tile_compile(&p.source);
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    duet_tile_print(to, compiled);
    fclose(to);
    assert_non_null(strstr(text,
                           "    load       t0\n    mul        acc, s0\n"
                           "    add        acc, s1\n    relu       acc\n    store      t1\n"));
    free(text);
    duet_tile_free(compiled);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(random_programs_equal_op_by_op),
        TEST(random_programs_broadcast),
        TEST(a_fused_producer_reduces_to_the_same_bits),
        TEST(fifty_steps_round_as_fifty_steps),
        TEST(many_values_may_wait),
        TEST(an_output_may_overwrite_an_input),
        TEST(random_programs_run_in_place),
        TEST(the_longest_program_needs_little_stack),
        TEST(results_do_not_depend_on_threads),
        TEST(programs_print_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
