#include "core/attrs.h"
#include "core/cost.h"
#include "core/infer.h"
#include "core/view.h"
#include "ops_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

extern const duet_op duet_op_print;

enum { LABEL, EDGE }; /* attributes */

duet_tensor *duet_print(duet_tensor *x, const char *label, int64_t edge) {
    return duet_apply(&duet_op_print, (duet_attr[]){{.text = label}, {.i = edge}}, &x, 1);
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    CHECK(call->attrs[EDGE].i >= -1, DUET_STATUS_ARGUMENT,
          "print: edge: expected -1 (all elements) or more, got %" PRId64, call->attrs[EDGE].i);
    *out = *call->in[0];
    return DUET_OK;
}

/* With the digits that a decimal always keeps, or as many more as reading it back needs. */
static void print_real(FILE *to, double value, bool single) {
    char text[40] = "nan"; /* whatever its sign bit says */
    for (int digits = single ? 6 : 15; value == value && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value) break;
    }
    fputs(text, to);
}

static void print_element(FILE *to, const duet_view *x, int64_t at) {
    switch ((duet_dtype)x->spec->dtype) {
    case DUET_F32: print_real(to, ((const float *)x->data)[at], true); break;
    case DUET_F64: print_real(to, ((const double *)x->data)[at], false); break;
    case DUET_I32: fprintf(to, "%" PRId32, ((const int32_t *)x->data)[at]); break;
    default: fputs(((const uint8_t *)x->data)[at] ? "true" : "false", to); break;
    }
}

/* Axis `axis` of the part of x that begins at element `first` and has `count` elements. */
static void print_axis(FILE *to, const duet_view *x, int64_t axis, int64_t first, int64_t count,
                       int64_t edge) {
    const duet_shape *shape = &x->spec->shape;
    if (axis == shape->rank) {
        print_element(to, x, first);
        return;
    }
    int64_t dim = shape->dims[axis], step = dim ? count / dim : 0;
    fputc('[', to);
    for (int64_t i = 0; i < dim; i++) {
        if (i) fputs(", ", to);
        if (edge >= 0 && dim > 2 * edge && i == edge) {
            fputs("...", to);
            i = dim - edge;
            if (edge) fputs(", ", to);
            if (i == dim) break;
        }
        print_axis(to, x, axis + 1, first + i * step, step, edge);
    }
    fputc(']', to);
}

/* The line is put together first and written at once, so that threads do not mix theirs. */
static duet_status run(const duet_kernel *kernel) {
    const duet_view *x = &kernel->in[0];
    const char *label = kernel->attrs[LABEL].text;
    char *line = NULL;
    size_t length;
    FILE *memory = open_memstream(&line, &length);
    CHECK(memory, DUET_STATUS_MEMORY, "print: no memory for a line");
    if (label && *label) fprintf(memory, "%s ", label);
    fprintf(memory, "%s ", DUET_SPEC_TEXT(x->spec));
    print_axis(memory, x, 0, 0, duet_shape_count(&x->spec->shape), kernel->attrs[EDGE].i);
    fputc('\n', memory);
    fclose(memory);
    if (line) fwrite(line, 1, length, stderr);
    free(line);
    return duet_run_view(kernel);
}

const duet_op duet_op_print = {
    .name = "print",
    .doc = "x itself; each time it runs it writes x as one line on stderr",
    .n_in = 1,
    .n_out = 1,
    .in_names = {"x"},
    .traits = DUET_OP_VIEW | DUET_OP_STATEFUL,
    .attrs = {[LABEL] = {"label", DUET_ATTR_TEXT, .initial.text = ""},
              [EDGE] = {"edge", DUET_ATTR_INT, .initial.i = 3}},
    .infer = infer,
    .run = run,
    .grad = duet_grad_identity,
    .cost = duet_cost_nothing,
    .samples = {"f32[2,3]; label=x", "f64[9]", "i32[]", "bool[2,0]"},
};
