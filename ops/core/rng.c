#include "core/rng.h"

#include "core/attrs.h"
#include "core/infer.h"
#include "ops_state.h"

#include <math.h>

typedef struct state {
    uint32_t key[2], counter[2]; /* low word, high word */
} state;

static uint64_t join(const uint32_t words[2]) { return (uint64_t)words[1] << 32 | words[0]; }

duet_tensor *duet_rng_new(uint64_t seed) {
    state initial = {.key = {(uint32_t)seed, (uint32_t)(seed >> 32)}};
    duet_tensor *value = duet_tensor_alloc(&(duet_spec){.shape = DUET_SHAPE(4), .dtype = DUET_I32});
    if (!value) return NULL;
    memcpy(value->data, &initial, sizeof initial);
    duet_tensor *rng = duet_variable_new("rng", value);
    duet_release(value);
    return rng;
}

duet_status duet_infer_random(duet_spec *out, const duet_op_call *call) {
    duet_spec expected = {.shape = DUET_SHAPE(4), .dtype = DUET_I32};
    const char *name = call->op->name;
    CHECK(duet_spec_equal(call->in[0], &expected), DUET_STATUS_ARGUMENT,
          "%s: rng: expected i32[4] as from duet_rng_new, got %s", name,
          DUET_SPEC_TEXT(call->in[0]));
    duet_dtype dtype = call->attrs[1].dtype;
    CHECK(duet_dtype_is_float(dtype), DUET_STATUS_DTYPE, "%s: dtype: expected f32 or f64, got %s",
          name, duet_dtype_name(dtype));
    *out = (duet_spec){.shape = duet_ints_shape(&call->attrs[0].ints), .dtype = dtype};
    if (call->n_in == 1) return duet_spec_check(out, name);
    out->shape = call->in[1]->shape;
    return duet_infer_fits(call, out);
}

duet_rng_place duet_rng_take(const duet_view *view, int64_t count) {
    state *s = view->data;
    duet_rng_place place = {.key = join(s->key), .first = join(s->counter)};
    uint64_t next = place.first + (uint64_t)count;
    s->counter[0] = (uint32_t)next;
    s->counter[1] = (uint32_t)(next >> 32);
    return place;
}

duet_tensor *duet_glorot_uniform(duet_shape shape, duet_dtype dtype, duet_tensor *rng) {
    double window = 1;
    int64_t last = shape.rank - 1;
    for (int64_t i = 0; i < last - 1 && i < DUET_MAX_RANK; i++) window *= (double)shape.dims[i];
    double in = 1, out = 1;
    if (last >= 0 && last < DUET_MAX_RANK) {
        in = window * (double)shape.dims[last > 0 ? last - 1 : 0];
        out = window * (double)shape.dims[last];
    }
    double range = sqrt(6 / fmax(in + out, 1));
    return duet_random_uniform(shape, dtype, rng, -range, range);
}
