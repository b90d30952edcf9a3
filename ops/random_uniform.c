#include "core/attrs.h"
#include "core/rng.h"
#include "ops_state.h"
#include "random.h"

#include <math.h>

extern const duet_op duet_op_random_uniform;

enum { SHAPE, DTYPE, LOW, HIGH }; /* attributes */

static duet_tensor *draw(const duet_shape *shape, duet_dtype dtype, duet_tensor *rng,
                         duet_tensor *like, int n_in, double low, double high) {
    duet_attr attrs[] = {duet_attr_shape(shape), {.dtype = dtype}, {.f = low}, {.f = high}};
    return duet_apply(&duet_op_random_uniform, attrs, (duet_tensor *[]){rng, like}, n_in);
}

duet_tensor *duet_random_uniform(duet_shape shape, duet_dtype dtype, duet_tensor *rng, double low,
                                 double high) {
    return draw(&shape, dtype, rng, NULL, 1, low, high);
}

duet_tensor *duet_random_uniform_like(duet_tensor *like, duet_dtype dtype, duet_tensor *rng,
                                      double low, double high) {
    return draw(&DUET_SCALAR, dtype, rng, like, 2, low, high);
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    double low = call->attrs[LOW].f, high = call->attrs[HIGH].f;
    CHECK(isfinite(high - low) && low < high, DUET_STATUS_ARGUMENT,
          "random_uniform: expected low < high, got %g and %g", low, high);
    return duet_infer_random(out, call);
}

/* low + u (high - low) may round up to high, which is not in [low, high). */
#define DEFINE_SCALE(name, type, next)                                                             \
    static void name(type *x, int64_t count, type low, type high) {                                \
        type range = high - low, last = next(high, low);                                           \
        for (int64_t i = 0; i < count; i++) {                                                      \
            type value = low + x[i] * range;                                                       \
            x[i] = value < high ? value : last;                                                    \
        }                                                                                          \
    }
DEFINE_SCALE(scale_f32, float, nextafterf)
DEFINE_SCALE(scale_f64, double, nextafter)

static duet_status run(const duet_kernel *kernel) {
    const duet_view *out = &kernel->out[0];
    int64_t count = duet_shape_count(&out->spec->shape);
    duet_rng_place at = duet_rng_take(&kernel->in[0], count);
    double low = kernel->attrs[LOW].f, high = kernel->attrs[HIGH].f;
    if (out->spec->dtype == DUET_F32) {
        duet_random_uniform_f32(out->data, count, at.key, at.first);
        if (low != 0 || high != 1) scale_f32(out->data, count, (float)low, (float)high);
    } else {
        duet_random_uniform_f64(out->data, count, at.key, at.first);
        if (low != 0 || high != 1) scale_f64(out->data, count, low, high);
    }
    return DUET_OK;
}

const duet_op duet_op_random_uniform = {
    .name = "random_uniform",
    .doc = "numbers drawn evenly from [low, high); rng moves on. The shape of like, where given",
    .n_in = 1,
    .n_in_max = 2,
    .n_out = 1,
    .in_names = {"rng", "like"},
    .traits = DUET_OP_STATEFUL | DUET_OP_SHAPE_ONLY,
    .writes = 1 << 0,
    .attrs = {[SHAPE] = {.name = "shape", .kind = DUET_ATTR_INTS},
              [DTYPE] = {"dtype", DUET_ATTR_DTYPE, .initial.dtype = DUET_F32},
              [LOW] = {"low", DUET_ATTR_FLOAT, .initial.f = 0},
              [HIGH] = {"high", DUET_ATTR_FLOAT, .initial.f = 1}},
    .infer = infer,
    .run = run,
    .samples = {"var i32[4]; shape=[3,4]", "var i32[4]; shape=[67], dtype=f64, low=-1, high=3",
                "var i32[4], f32[2,5]; low=-0.5, high=0.5", "var i32[4]; shape=[0]"},
};
