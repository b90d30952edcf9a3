#include "command.h"
#include "npy.h"
#include "options.h"

#include "core/attrs.h"
#include "duet.h"

#include <string.h>

/* One op with what it is to be called with. */
typedef struct job {
    const duet_op *op;
    duet_attr attrs[DUET_MAX_ATTRS];
    duet_tensor *in[DUET_MAX_INPUTS];
    duet_tensor *out[DUET_MAX_OUTPUTS + DUET_MAX_INPUTS]; /* results, then written variables */
    int n_in, n_results, n_out;
    duet_tensor *variables[DUET_MAX_INPUTS]; /* those of `in` that the op writes: held */
    int n_variables;
} job;

static duet_status take_attributes(job *j, const words *rest) {
    bool given[DUET_MAX_ATTRS] = {false};
    duet_attrs_init(j->attrs, j->op);
    for (int i = 1; i < rest->count; i++) {
        const char *equals = strchr(rest->at[i], '=');
        CHECK(equals, DUET_STATUS_ARGUMENT, "op: expected attribute=value, got \"%s\"",
              rest->at[i]);
        int length = (int)(equals - rest->at[i]);
        TRY(duet_attr_parse(j->attrs, j->op, rest->at[i], length, equals + 1));
        for (int a = 0; a < duet_op_attr_count(j->op); a++)
            if (strncmp(j->op->attrs[a].name, rest->at[i], (size_t)length) == 0 &&
                !j->op->attrs[a].name[length]) {
                CHECK(!given[a], DUET_STATUS_ARGUMENT,
                      "%s: attribute %s: expected it once, got it twice", j->op->name,
                      j->op->attrs[a].name);
                given[a] = true;
            }
    }
    for (int a = 0; a < duet_op_attr_count(j->op); a++)
        CHECK(given[a] || !j->op->attrs[a].required, DUET_STATUS_ARGUMENT,
              "%s: attribute %s: expected %s, got nothing", j->op->name, j->op->attrs[a].name,
              duet_attr_kind_name(j->op->attrs[a].kind));
    return DUET_OK;
}

/* Reads the inputs; what the op writes becomes a variable. */
static duet_status take_inputs(job *j, const words *files) {
    CHECK(files->count <= DUET_MAX_INPUTS, DUET_STATUS_ARGUMENT,
          "op: expected at most %d inputs, got %d", DUET_MAX_INPUTS, files->count);
    for (int i = 0; i < files->count; i++) {
        duet_tensor *x = npy_read(files->at[i]);
        if (!x) return duet_error_code();
        if ((j->op->writes >> i & 1) || (j->op->traits & DUET_OP_BY_REFERENCE && i == 0)) {
            x = duet_variable_new(duet_op_input_name(j->op, i), x);
            if (!x) return duet_error_code();
            j->variables[j->n_variables++] = x;
        }
        j->in[j->n_in++] = x;
    }
    return DUET_OK;
}

static duet_status count_outputs(job *j, const words *files) {
    j->n_results = duet_op_n_out(j->op, j->attrs);
    int written = __builtin_popcountll(j->op->writes);
    j->n_out = files->count;
    bool fits = j->n_out == j->n_results || j->n_out == j->n_results + written;
    CHECK(fits && j->n_out > 0, DUET_STATUS_ARGUMENT, "%s: expected %d --out%s, got %d",
          j->op->name, j->n_results ? j->n_results : written,
          j->n_results && written ? " (and one more for each variable it writes)" : "", j->n_out);
    return DUET_OK;
}

/* The op, and then what the variables hold that it has written. */
static duet_status call_op(duet_tensor **out, duet_tensor *const *in, void *user) {
    const job *j = user;
    duet_tensor *operands[DUET_MAX_INPUTS]; /* variables are captured, not passed */
    for (int i = 0, next = 0; i < j->n_in; i++)
        operands[i] = j->in[i]->flags & DUET_TENSOR_VARIABLE ? j->in[i] : in[next++];
    TRY(duet_dispatch(out, j->op, j->attrs, operands, j->n_in));
    for (int i = 0, next = j->n_results; i < j->n_in && next < j->n_out; i++) {
        if (!(j->op->writes >> i & 1)) continue;
        out[next] = duet_read(j->in[i]);
        if (!out[next++]) return duet_error_code();
    }
    return DUET_OK;
}

static duet_status call_through(job *j, const char *by) {
    duet_tensor *values[DUET_MAX_INPUTS];
    int n_values = 0;
    for (int i = 0; i < j->n_in; i++)
        if (!(j->in[i]->flags & DUET_TENSOR_VARIABLE)) values[n_values++] = j->in[i];
    if (strcmp(by, "eager") == 0) return call_op(j->out, values, j);
    duet_function *f = duet_function_new(j->op->name, call_op, n_values, j->n_out, j);
    if (!f) return duet_error_code();
    duet_status status = duet_call(f, j->out, values);
    duet_function_free(f);
    return status;
}

static duet_status do_job(job *j, const words *rest, const words *in, const words *out,
                          const char *executor) {
    j->op = duet_op_find(rest->at[0]);
    if (!j->op) return duet_error_code();
    TRY(take_attributes(j, rest));
    TRY(count_outputs(j, out));
    TRY(take_inputs(j, in));
    TRY(call_through(j, executor));
    return npy_write_files(out->at, j->out, j->n_out);
}

static duet_status run(command_result *result, int argc, char **argv) {
    (void)result;
    words rest = {0}, in = {0}, out = {0};
    const char *executor = "eager";
    const option options[] = {
        {"--in", OPTION_TEXTS, &in, 0, 0},
        {"--out", OPTION_TEXTS, &out, 0, 0},
        {"--executor", OPTION_TEXT, &executor, 0, 0},
        {0},
    };
    TRY(options_parse(options, &rest, "op", argc, argv));
    CHECK(rest.count, DUET_STATUS_ARGUMENT, "op: expected the name of an op, got none");
    CHECK(strcmp(executor, "eager") == 0 || strcmp(executor, "graph") == 0, DUET_STATUS_ARGUMENT,
          "op: --executor: expected eager or graph, got \"%s\"", executor);
    job j = {0};
    duet_status status = do_job(&j, &rest, &in, &out, executor);
    for (int i = 0; i < j.n_variables; i++) duet_release(j.variables[i]);
    return status;
}

const command command_op = {
    .name = "op",
    .usage = "NAME [attribute=value ...] --in a.npy [--in b.npy ...] --out y.npy [--out ...] "
             "[--executor eager|graph]",
    .summary = "Run one op on .npy files",
    .help = "  --in FILE        an input, in the op's order; a variable where the op writes it\n"
            "  --out FILE       a result, in order; then the variables that the op has written\n"
            "  --executor NAME  eager (default) or graph\n"
            "\n"
            "`duet ops NAME` shows what an op takes. Files are .npy 1.0 to 3.0 with f4, f8, i4 or\n"
            "b1, little-endian, in C order. Nothing is written unless everything went well.\n"
            "\n"
            "  duet op sum axes=[0] keepdims=true --in a.npy --out y.npy\n",
    .run = run,
};
