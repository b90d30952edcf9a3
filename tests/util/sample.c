#include "sample.h"

#include <math.h>

double sample_uniform(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u; /* splitmix64 */
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (double)((z ^ z >> 31) >> 11) / 9007199254740992.0;
}

static double special(uint64_t *state, bool single) {
    static const double values[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1, -1, 2.5};
    int which = (int)(sample_uniform(state) * 10);
    if (which < 8) return values[which];
    double least = single ? 1.4012984643e-45 : 4.9406564584124654e-324; /* smallest denormals */
    return which == 8 ? least : -3 * least;
}

duet_tensor *sample_tensor(const duet_spec *spec, sample_fill fill, double low, double high,
                           uint64_t *state) {
    duet_tensor *t = duet_zeros(spec->shape, (duet_dtype)spec->dtype);
    if (!t) return NULL;
    for (int64_t i = 0, count = duet_tensor_count(t); i < count; i++) {
        double value = low + (high - low) * sample_uniform(state);
        if (fill == FILL_SPECIAL && duet_dtype_is_float((duet_dtype)spec->dtype))
            value = special(state, spec->dtype == DUET_F32);
        if (spec->dtype == DUET_F32)
            ((float *)t->data)[i] = (float)value;
        else if (spec->dtype == DUET_F64)
            ((double *)t->data)[i] = value;
        else if (spec->dtype == DUET_I32)
            ((int32_t *)t->data)[i] = (int32_t)lround(3 * value);
        else
            ((uint8_t *)t->data)[i] = value > (low + high) / 2;
    }
    return t;
}

bool sample_make(sample_call *call, const duet_op *op, const char *sample, sample_fill fill,
                 bool promote, uint64_t seed) {
    *call = (sample_call){.op = op};
    if (duet_sample_parse(&call->sample, op, sample) != DUET_OK) return false;
    call->attrs = call->sample.attrs;
    double low = op->domain[0], high = op->domain[1];
    if (low == 0 && high == 0) low = -2, high = 2;
    for (int i = 0; i < call->sample.n_in; i++) {
        duet_spec spec = call->sample.specs[i];
        if (promote && spec.dtype == DUET_F32) spec.dtype = DUET_F64;
        duet_tensor *t = sample_tensor(&spec, fill, low, high, &seed);
        if (call->sample.variables >> i & 1) t = duet_variable_new("v", t);
        call->in[call->n_in++] = t;
        if (!t) return false;
    }
    return true;
}

void sample_release(sample_call *call) {
    for (int i = 0; i < call->n_in; i++)
        if (call->in[i] && (call->in[i]->flags & DUET_TENSOR_VARIABLE)) duet_release(call->in[i]);
}

/* Element i of both is a NaN. Which NaN comes out of two is the processor's choice, by the order in
 * which the compiler hands them over; IEEE 754 leaves it open. */
static bool both_nan(const duet_tensor *a, const duet_tensor *b, int64_t i) {
    return duet_dtype_is_float(duet_tensor_dtype(a)) && isnan(duet_item(a, i)) &&
           isnan(duet_item(b, i));
}

bool same_bits(const duet_tensor *a, const duet_tensor *b) {
    if (!a || !b) return a == b;
    if (!duet_spec_equal(&a->spec, &b->spec)) return false;
    size_t size = duet_dtype_size(duet_tensor_dtype(a));
    for (int64_t i = 0, count = duet_tensor_count(a); i < count; i++) {
        size_t at = (size_t)i * size;
        if (memcmp((const char *)a->data + at, (const char *)b->data + at, size) != 0 &&
            !both_nan(a, b, i))
            return false;
    }
    return true;
}
