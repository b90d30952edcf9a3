#include "core/attrs.h"
#include "core/rng.h"
#include "ops_state.h"
#include "random.h"

#include <math.h>

extern const duet_op duet_op_random_normal;

enum { SHAPE, DTYPE, MEAN, STDDEV }; /* attributes */

static duet_tensor *draw(const duet_shape *shape, duet_dtype dtype, duet_tensor *rng,
                         duet_tensor *like, int n_in, double mean, double stddev) {
    duet_attr attrs[] = {duet_attr_shape(shape), {.dtype = dtype}, {.f = mean}, {.f = stddev}};
    return duet_apply(&duet_op_random_normal, attrs, (duet_tensor *[]){rng, like}, n_in);
}

duet_tensor *duet_random_normal(duet_shape shape, duet_dtype dtype, duet_tensor *rng) {
    return draw(&shape, dtype, rng, NULL, 1, 0, 1);
}

duet_tensor *duet_random_normal_scaled(duet_shape shape, duet_dtype dtype, duet_tensor *rng,
                                       double mean, double stddev) {
    return draw(&shape, dtype, rng, NULL, 1, mean, stddev);
}

duet_tensor *duet_random_normal_like(duet_tensor *like, duet_dtype dtype, duet_tensor *rng,
                                     double mean, double stddev) {
    return draw(&DUET_SCALAR, dtype, rng, like, 2, mean, stddev);
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    double mean = call->attrs[MEAN].f, stddev = call->attrs[STDDEV].f;
    CHECK(isfinite(mean) && isfinite(stddev) && stddev >= 0, DUET_STATUS_ARGUMENT,
          "random_normal: expected a finite mean and a stddev of 0 or more, got %g and %g", mean,
          stddev);
    return duet_infer_random(out, call);
}

#define DEFINE_SCALE(name, type)                                                                   \
    static void name(type *x, int64_t count, type mean, type stddev) {                             \
        for (int64_t i = 0; i < count; i++) x[i] = mean + x[i] * stddev;                           \
    }
DEFINE_SCALE(scale_f32, float)
DEFINE_SCALE(scale_f64, double)

static duet_status run(const duet_kernel *kernel) {
    const duet_view *out = &kernel->out[0];
    int64_t count = duet_shape_count(&out->spec->shape);
    duet_rng_place at = duet_rng_take(&kernel->in[0], count);
    double mean = kernel->attrs[MEAN].f, stddev = kernel->attrs[STDDEV].f;
    if (out->spec->dtype == DUET_F32) {
        duet_random_normal_f32(out->data, count, at.key, at.first);
        if (mean != 0 || stddev != 1) scale_f32(out->data, count, (float)mean, (float)stddev);
    } else {
        duet_random_normal_f64(out->data, count, at.key, at.first);
        if (mean != 0 || stddev != 1) scale_f64(out->data, count, mean, stddev);
    }
    return DUET_OK;
}

const duet_op duet_op_random_normal = {
    .name = "random_normal",
    .doc = "numbers from the normal distribution; rng moves on. The shape of like, where given",
    .n_in = 1,
    .n_in_max = 2,
    .n_out = 1,
    .in_names = {"rng", "like"},
    .traits = DUET_OP_STATEFUL | DUET_OP_SHAPE_ONLY,
    .writes = 1 << 0,
    .attrs = {[SHAPE] = {.name = "shape", .kind = DUET_ATTR_INTS},
              [DTYPE] = {"dtype", DUET_ATTR_DTYPE, .initial.dtype = DUET_F32},
              [MEAN] = {"mean", DUET_ATTR_FLOAT, .initial.f = 0},
              [STDDEV] = {"stddev", DUET_ATTR_FLOAT, .initial.f = 1}},
    .infer = infer,
    .run = run,
    .samples = {"var i32[4]; shape=[3,4]", "var i32[4]; shape=[67], dtype=f64, mean=2, stddev=0.5",
                "var i32[4], f32[2,5]; stddev=3", "var i32[4]; shape=[0]"},
};
