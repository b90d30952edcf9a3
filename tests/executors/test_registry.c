/* Every op there is, from its descriptor alone: an op dropped into ops/ is tested with no further
 * line. `test_registry NAME ...` tests only those and says which it covered. */
#include "duet.h"
#include "sample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static char **only; /* names from the command line, ends with NULL */

static bool chosen(const duet_op *op) {
    for (char **name = only; *name; name++)
        if (strcmp(*name, op->name) == 0) return true;
    return *only == NULL;
}

/* Calls visit(op, sample) for every sample of every chosen op. */
static void each_sample(void (*visit)(const duet_op *op, const char *sample)) {
    for (int i = 0; i < duet_op_count(); i++) {
        const duet_op *op = duet_op_at(i);
        if (!chosen(op)) continue;
        for (int j = 0; j < DUET_MAX_SAMPLES && op->samples[j]; j++) {
            duet_error_clear();
            duet_scope_open();
            visit(op, op->samples[j]);
            duet_scope_close(NULL);
        }
    }
}

#define FAIL(op, sample, ...)                                                                      \
    do {                                                                                           \
        print_error("%s: \"%s\": ", (op)->name, sample);                                           \
        print_error(__VA_ARGS__);                                                                  \
        fail();                                                                                    \
    } while (0)

/* ---- eager = graph -------------------------------------------------------------------------- */

/* The op's results, then the variables it was given. */
static duet_status call_body(duet_tensor **out, duet_tensor *const *in, void *user) {
    const sample_call *call = user;
    duet_tensor *results[DUET_MAX_OUTPUTS];
    TRY(duet_dispatch(results, call->op, call->attrs, in, call->n_in));
    int n = 0;
    for (int i = 0; i < duet_op_n_out(call->op, call->attrs); i++) out[n++] = results[i];
    for (int i = 0; i < call->n_in; i++)
        if (in[i]->flags & DUET_TENSOR_VARIABLE) out[n++] = duet_read(in[i]);
    return DUET_OK;
}

static int count_results(const sample_call *call) {
    int n = duet_op_n_out(call->op, call->attrs);
    for (int i = 0; i < call->n_in; i++) n += (call->in[i]->flags & DUET_TENSOR_VARIABLE) != 0;
    return n;
}

static void compare_with(const duet_op *op, const char *sample, sample_fill fill) {
    sample_call eager, graph; /* made alike, each with variables of its own */
    duet_tensor *e[DUET_MAX_OUTPUTS], *g[DUET_MAX_OUTPUTS];
    if (!sample_make(&eager, op, sample, fill, false, 7) ||
        !sample_make(&graph, op, sample, fill, false, 7))
        FAIL(op, sample, "does not parse: %s", duet_error_message());
    int n = count_results(&eager);
    duet_function *f = duet_function_new(op->name, call_body, graph.n_in, n, &graph);
    for (int round = 0; round < 3; round++) { /* traced, replayed, replayed */
        duet_status one = call_body(e, eager.in, &eager), two = duet_call(f, g, graph.in);
        if (one != two)
            FAIL(op, sample, "eager gives %d, graph %d: %s", one, two, duet_error_message());
        for (int i = 0; i < n && one == DUET_OK; i++)
            if (!same_bits(e[i], g[i])) FAIL(op, sample, "result %d differs in round %d", i, round);
    }
    duet_function_free(f);
    sample_release(&eager);
    sample_release(&graph);
}

static void compare(const duet_op *op, const char *sample) {
    compare_with(op, sample, FILL_DOMAIN);
}
static void compare_special(const duet_op *op, const char *sample) {
    compare_with(op, sample, FILL_SPECIAL);
}

static void test_eager_equals_graph(void **state) {
    (void)state;
    each_sample(compare);
}

static void test_special_values(void **state) {
    (void)state;
    each_sample(compare_special);
}

/* Elementwise ops at every size around a vector's and a tile's. */
static void test_sizes(void **state) {
    (void)state;
    static const int sizes[] = {0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 127, 129, 1000};
    for (int i = 0; i < duet_op_count(); i++) {
        const duet_op *op = duet_op_at(i);
        if (!op->elementwise || !chosen(op)) continue;
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            char sample[128] = "";
            size_t used = 0; /* the op's first sample with every shape replaced */
            for (const char *at = op->samples[0]; *at && *at != ';';) {
                duet_spec spec;
                const char *end;
                if (!duet_spec_parse(&spec, at, &end)) {
                    at++;
                    continue;
                }
                used += (size_t)snprintf(sample + used, sizeof sample - used, "%s[%d],",
                                         duet_dtype_name((duet_dtype)spec.dtype), sizes[s]);
                at = end;
            }
            const char *attrs = strchr(op->samples[0], ';');
            snprintf(sample + used, sizeof sample - used, "%s", attrs ? attrs : "");
            duet_scope_open();
            compare(op, sample);
            compare_special(op, sample);
            duet_scope_close(NULL);
        }
    }
}

/* ---- gradient = central difference, in f64 -----------------------------------------------------
 */

/* sum over results of <result, weights>, weights fixed by a seed. */
static duet_tensor *weighted_sum(const sample_call *call) {
    duet_tensor *out[DUET_MAX_OUTPUTS], *sum = NULL;
    if (duet_dispatch(out, call->op, call->attrs, call->in, call->n_in) != DUET_OK) return NULL;
    uint64_t seed = 99;
    for (int i = 0; i < duet_op_n_out(call->op, call->attrs); i++) {
        if (duet_tensor_dtype(out[i]) != DUET_F64) continue;
        duet_tensor *w = sample_tensor(&out[i]->spec, FILL_DOMAIN, -1, 1, &seed);
        duet_tensor *part = duet_sum(duet_mul(out[i], w), DUET_NO_AXES, false);
        sum = sum ? duet_add(sum, part) : part;
    }
    return sum;
}

static double difference(sample_call *call, int input, int64_t element) {
    double *x = (double *)call->in[input]->data + element, kept = *x;
    double h = 1e-5 * fmax(1, fabs(kept));
    duet_scope_open();
    *x = kept + h;
    double up = duet_item(weighted_sum(call), 0);
    *x = kept - h;
    double down = duet_item(weighted_sum(call), 0);
    *x = kept;
    duet_scope_close(NULL);
    return (up - down) / (2 * h);
}

static void check_gradient(const duet_op *op, const char *sample) {
    sample_call call;
    if (!op->grad || (op->traits & DUET_OP_STATEFUL)) return;
    if (!sample_make(&call, op, sample, FILL_DOMAIN, true, 11))
        FAIL(op, sample, "does not parse: %s", duet_error_message());
    duet_tape *tape = duet_tape_new(false);
    duet_tensor *grads[DUET_MAX_INPUTS], *sources[DUET_MAX_INPUTS];
    int inputs[DUET_MAX_INPUTS], n = 0;
    bool mean_of_nothing = false;
    for (int i = 0; i < call.n_in; i++) {
        bool variable = call.in[i]->flags & DUET_TENSOR_VARIABLE;
        mean_of_nothing |= duet_tensor_count(call.in[i]) == 0;
        if (duet_tensor_dtype(call.in[i]) != DUET_F64 || variable) continue;
        duet_tape_watch(tape, call.in[i]);
        sources[n] = call.in[i];
        inputs[n++] = i;
    }
    duet_tensor *sum = weighted_sum(&call);
    if (n && sum) {
        if (duet_gradient(grads, tape, sum, sources, n) != DUET_OK)
            FAIL(op, sample, "no gradient: %s", duet_error_message());
        for (int i = 0; i < n; i++) {
            if (grads[i] && !duet_shape_equal(&grads[i]->spec.shape, &sources[i]->spec.shape))
                FAIL(op, sample, "gradient of input %d is %s", inputs[i],
                     DUET_SPEC_TEXT(&grads[i]->spec));
            for (int64_t j = 0; j < duet_tensor_count(sources[i]); j++) {
                double wanted = difference(&call, inputs[i], j);
                double got = grads[i] ? duet_item(grads[i], j) : 0;
                if (isnan(got) && mean_of_nothing) continue; /* as mean([]) is NaN */
                if (!(fabs(got - wanted) <= 1e-6 + 1e-5 * fabs(wanted)))
                    FAIL(op, sample, "gradient of input %d, element %d: %.9g, by differences %.9g",
                         inputs[i], (int)j, got, wanted);
            }
        }
    }
    duet_tape_free(tape);
    sample_release(&call);
}

static void test_gradients(void **state) {
    (void)state;
    each_sample(check_gradient);
}

/* ---- bad input ---------------------------------------------------------------------------------
 */

static void expect_refusal(const duet_op *op, const char *what, const sample_call *call,
                           duet_tensor *const *in, int n_in) {
    duet_tensor *out[DUET_MAX_OUTPUTS];
    duet_error_clear();
    if (duet_dispatch(out, op, call->attrs, in, n_in) == DUET_OK) FAIL(op, what, "was not refused");
    if (!strstr(duet_error_message(), op->name))
        FAIL(op, what, "the message does not name the op: \"%s\"", duet_error_message());
}

static void check_refusals(const duet_op *op, const char *sample) {
    sample_call call;
    duet_tensor *in[DUET_MAX_INPUTS + 1];
    if (!sample_make(&call, op, sample, FILL_DOMAIN, false, 3)) return;
    for (int i = 0; i < call.n_in; i++) in[i] = call.in[i];
    int most = op->n_in_max ? op->n_in_max : op->n_in;
    if (op->n_in > 0) expect_refusal(op, "too few inputs", &call, in, op->n_in - 1);
    for (int i = call.n_in; i <= most; i++) in[i] = duet_f32(1);
    expect_refusal(op, "too many inputs", &call, in, most + 1);
    for (int i = 0; i < call.n_in; i++) {
        duet_tensor *kept = in[i];
        in[i] = NULL;
        expect_refusal(op, "a NULL input", &call, in, call.n_in);
        in[i] = kept;
    }
    sample_release(&call);
}

/* Inputs of any dtype and shape: refused with a message that names the op, or computed; never a
 * crash. Under the sanitizers this is worth most. */
static void check_any_input(const duet_op *op, const char *sample) {
    sample_call call;
    uint64_t seed = 5;
    for (int round = 0; round < 40; round++) {
        duet_scope_open();
        if (!sample_make(&call, op, sample, FILL_DOMAIN, false, 3))
            FAIL(op, sample, "does not parse");
        duet_tensor *in[DUET_MAX_INPUTS], *out[DUET_MAX_OUTPUTS];
        for (int i = 0; i < call.n_in; i++) {
            duet_spec spec = {.dtype = (int64_t)(sample_uniform(&seed) * DUET_DTYPE_COUNT)};
            spec.shape.rank = (int64_t)(sample_uniform(&seed) * 4);
            for (int64_t d = 0; d < spec.shape.rank; d++)
                spec.shape.dims[d] = (int64_t)(sample_uniform(&seed) * 4);
            in[i] = sample_uniform(&seed) < 0.5 ? call.in[i]
                                                : sample_tensor(&spec, FILL_DOMAIN, -2, 2, &seed);
        }
        duet_error_clear();
        if (duet_dispatch(out, op, call.attrs, in, call.n_in) != DUET_OK &&
            !strstr(duet_error_message(), op->name))
            FAIL(op, sample, "the message does not name the op: \"%s\"", duet_error_message());
        sample_release(&call);
        duet_scope_close(NULL);
    }
}

static void test_refusals(void **state) {
    (void)state;
    each_sample(check_refusals);
    each_sample(check_any_input);
}

/* ---- kernels keep to their memory
 * ---------------------------------------------------------------- */

enum { GUARD = 64 };

static unsigned char *guarded(size_t bytes) {
    unsigned char *block = aligned_alloc(64, (bytes + 2 * GUARD + 63) / 64 * 64);
    memset(block, 0xA5, bytes + 2 * GUARD);
    return block + GUARD;
}

static bool guards_intact(const unsigned char *data, size_t bytes) {
    for (int i = 0; i < GUARD; i++)
        if (data[-1 - i] != 0xA5 || data[bytes + (size_t)i] != 0xA5) return false;
    return true;
}

static void check_guards(const duet_op *op, const char *sample) {
    sample_call call;
    if (!sample_make(&call, op, sample, FILL_DOMAIN, false, 3)) FAIL(op, sample, "does not parse");
    int n_out = duet_op_n_out(op, call.attrs);
    const duet_spec *specs[DUET_MAX_INPUTS];
    duet_spec out_specs[DUET_MAX_OUTPUTS];
    duet_view in[DUET_MAX_INPUTS], out[DUET_MAX_OUTPUTS];
    for (int i = 0; i < call.n_in; i++) specs[i] = &call.in[i]->spec;
    assert_int_equal(op->infer(out_specs, &(duet_op_call){op, call.attrs, specs, call.n_in}),
                     DUET_OK);
    for (int i = 0; i < call.n_in; i++) {
        size_t bytes = duet_spec_bytes(specs[i]);
        in[i] = (duet_view){guarded(bytes), specs[i]};
        memcpy(in[i].data, call.in[i]->data, bytes);
    }
    for (int i = 0; i < n_out; i++)
        out[i] = (duet_view){guarded(duet_spec_bytes(&out_specs[i])), &out_specs[i]};
    op->run(&(duet_kernel){op, call.attrs, in, out, call.n_in, n_out});
    for (int i = 0; i < call.n_in + n_out; i++) {
        duet_view *v = i < call.n_in ? &in[i] : &out[i - call.n_in];
        size_t bytes = duet_spec_bytes(v->spec);
        if (!guards_intact(v->data, bytes)) FAIL(op, sample, "wrote beside operand %d", i);
        bool written = i >= call.n_in || (op->writes >> i & 1);
        if (!written && memcmp(v->data, call.in[i]->data, bytes) != 0)
            FAIL(op, sample, "changed input %d", i);
        free((unsigned char *)v->data - GUARD);
    }
    sample_release(&call);
}

static void test_guards(void **state) {
    (void)state;
    each_sample(check_guards);
}

static void test_descriptors(void **state) {
    (void)state;
    for (int i = 0; i < duet_op_count(); i++) {
        const duet_op *op = duet_op_at(i);
        if (!chosen(op)) continue;
        bool takes_body =
            op->attrs[0].kind == DUET_ATTR_BODY || op->attrs[0].kind == DUET_ATTR_TENSOR;
        if (!op->doc || !op->infer || !op->run || (!op->samples[0] && !takes_body))
            FAIL(op, "descriptor", "expected doc, infer, run and samples");
        if (duet_op_find(op->name) != op) FAIL(op, "descriptor", "%s", duet_error_message());
        if (*only) printf("covered: %s\n", op->name);
    }
    for (char **name = only; *name; name++) assert_non_null(duet_op_find(*name));
}

/* A copy of `add` under another name, with one field changed: refused with `message`. */
#define EXPECT_NOT_REGISTERED(field, value, message)                                               \
    do {                                                                                           \
        duet_op broken = *duet_op_find("add");                                                     \
        broken.name = "broken";                                                                    \
        broken.field = value;                                                                      \
        assert_int_equal(duet_op_register(&broken), DUET_STATUS_ARGUMENT);                         \
        assert_string_equal(duet_error_message(), "op_register: " message);                        \
    } while (0)

static void test_descriptors_that_are_refused(void **state) {
    (void)state;
    int count = duet_op_count();
    EXPECT_NOT_REGISTERED(name, "", "expected a name");
    EXPECT_NOT_REGISTERED(name, "mul", "the name \"mul\" is taken");
    EXPECT_NOT_REGISTERED(run, NULL, "broken: expected doc, infer and run");
    EXPECT_NOT_REGISTERED(n_in, -1, "broken: expected 0 to 64 inputs, got -1 to -1");
    EXPECT_NOT_REGISTERED(n_in, 65, "broken: expected 0 to 64 inputs, got 65 to 65");
    EXPECT_NOT_REGISTERED(n_in_max, 65, "broken: expected 0 to 64 inputs, got 2 to 65");
    EXPECT_NOT_REGISTERED(n_in_max, 1, "broken: expected 0 to 64 inputs, got 2 to 1");
    EXPECT_NOT_REGISTERED(n_out, 17, "broken: expected -1 to 16 outputs, got 17");
    EXPECT_NOT_REGISTERED(n_out, -2, "broken: expected -1 to 16 outputs, got -2");
    EXPECT_NOT_REGISTERED(writes, 1 << 2, "broken: it writes an input beyond the 2 it takes");
    assert_int_equal(duet_op_count(), count);
    duet_error_clear();
}

static void expect_not_found(const char *name, const char *message) {
    duet_error_clear();
    assert_null(duet_op_find(name));
    assert_int_equal(duet_error_code(), DUET_STATUS_NOT_FOUND);
    assert_string_equal(duet_error_message(), message);
}

static duet_op own; /* registered for the rest of the process */

static void test_names_that_are_not_there(void **state) {
    (void)state;
    expect_not_found("rellu", "no op \"rellu\"; did you mean \"relu\"?");
    expect_not_found("Relu", "no op \"Relu\"; did you mean \"relu\"?");
    expect_not_found("matmull", "no op \"matmull\"; did you mean \"matmul\"?");
    expect_not_found("relu ", "no op \"relu \"; did you mean \"relu\"?");
    expect_not_found("ad", "no op \"ad\"; did you mean \"add\"?");
    expect_not_found("convolution", "no op \"convolution\"; `duet ops` lists them");
    expect_not_found("", "no op \"\"; `duet ops` lists them");
    expect_not_found("zebrq", "no op \"zebrq\"; `duet ops` lists them");
    own = *duet_op_find("add");
    own.name = "zebra";
    assert_int_equal(duet_op_register(&own), DUET_OK);
    expect_not_found("zebrq", "no op \"zebrq\"; did you mean \"zebra\"?");
    assert_ptr_equal(duet_op_find("zebra"), &own);
    duet_error_clear();
}

int main(int argc, char **argv) {
    (void)argc;
    only = argv + 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_eager_equals_graph),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_guards),
        cmocka_unit_test(test_descriptors_that_are_refused),
        cmocka_unit_test(test_names_that_are_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
