#include "core/infer.h"
#include "core/view.h"
#include "ops_state.h"

#include <inttypes.h>
#include <math.h>

extern const duet_op duet_op_check_numerics;

duet_tensor *duet_check_numerics(duet_tensor *x, const char *message) {
    return duet_apply(&duet_op_check_numerics, (duet_attr[]){{.text = message}}, &x, 1);
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    *out = *call->in[0];
    return duet_infer_dtype(call, 0, DUET_TYPES_FLOAT);
}

/* The first element that is no number, or -1. x - x is 0 for numbers and NaN for the others: so
 * most of the work is one vectorised sum. */
#define DEFINE_FIND(name, type)                                                                    \
    static int64_t name(const type *x, int64_t count) {                                            \
        enum { BLOCK = 256 };                                                                      \
        for (int64_t first = 0; first < count; first += BLOCK) {                                   \
            int64_t end = first + BLOCK < count ? first + BLOCK : count;                           \
            int bad = 0;                                                                           \
            for (int64_t i = first; i < end; i++) bad |= x[i] - x[i] != 0;                         \
            for (int64_t i = first; bad && i < end; i++)                                           \
                if (!isfinite(x[i])) return i;                                                     \
        }                                                                                          \
        return -1;                                                                                 \
    }
DEFINE_FIND(find_f32, float)
DEFINE_FIND(find_f64, double)

static duet_status run(const duet_kernel *kernel) {
    const duet_view *x = &kernel->in[0];
    bool single = x->spec->dtype == DUET_F32;
    int64_t count = duet_shape_count(&x->spec->shape);
    int64_t at = single ? find_f32(x->data, count) : find_f64(x->data, count);
    if (at < 0) return duet_run_view(kernel);
    double value = single ? ((const float *)x->data)[at] : ((const double *)x->data)[at];
    const char *message = kernel->attrs[0].text;
    return duet_fail(
        DUET_STATUS_ARGUMENT,
        "check_numerics: x: expected numbers only, got %s as element %" PRId64 " of %s%s%s",
        isnan(value) ? "NaN"
        : value > 0  ? "Inf"
                     : "-Inf",
        at, DUET_SPEC_TEXT(x->spec), message && *message ? ": " : "", message ? message : "");
}

const duet_op duet_op_check_numerics = {
    .name = "check_numerics",
    .doc = "x itself; fails when it runs where x has a NaN or an infinity",
    .n_in = 1,
    .n_out = 1,
    .in_names = {"x"},
    .traits = DUET_OP_VIEW | DUET_OP_STATEFUL,
    .attrs = {{"message", DUET_ATTR_TEXT, .initial.text = ""}},
    .infer = infer,
    .run = run,
    .grad = duet_grad_identity,
    .samples = {"f32[3,4]; message=layer", "f64[67]", "f32[]", "f64[0,2]", "f32[300]"},
};
