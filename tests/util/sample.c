#include "sample.h"

#include "core/attrs.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

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
        if (spec->dtype == DUET_F32) ((float *)t->data)[i] = (float)value;
        else if (spec->dtype == DUET_F64) ((double *)t->data)[i] = value;
        else if (spec->dtype == DUET_I32) ((int32_t *)t->data)[i] = (int32_t)lround(3 * value);
        else ((uint8_t *)t->data)[i] = value > (low + high) / 2;
    }
    return t;
}

static bool parse_attrs(sample_call *call, const char *at) {
    snprintf(call->text, sizeof call->text, "%s", at);
    for (char *item = call->text; *item;) {
        while (*item == ' ' || *item == ',') item++;
        char *equal = strchr(item, '='), *end = item;
        if (!equal) return *item == '\0';
        for (int depth = 0; *end && (depth || *end != ','); end++)
            depth += (*end == '[') - (*end == ']');
        bool last = *end == '\0';
        *end = '\0';
        if (duet_attr_parse(call->attrs, call->op, item, (int)(equal - item), equal + 1) != DUET_OK)
            return false;
        item = last ? end : end + 1;
    }
    return true;
}

static bool add_input(sample_call *call, const char **at, sample_fill fill, bool promote,
                      uint64_t *state) {
    const char *p = *at;
    duet_spec spec;
    bool variable = strncmp(p, "var ", 4) == 0;
    if (variable) p += 4;
    if (!duet_spec_parse(&spec, p, at)) return false;
    if (promote && spec.dtype == DUET_F32) spec.dtype = DUET_F64;
    double low = call->op->domain[0], high = call->op->domain[1];
    if (low == 0 && high == 0) low = -2, high = 2;
    duet_tensor *t = sample_tensor(&spec, fill, low, high, state);
    if (variable) t = duet_variable_new("v", t);
    call->in[call->n_in++] = t;
    return t != NULL;
}

bool sample_make(sample_call *call, const duet_op *op, const char *sample, sample_fill fill,
                 bool promote, uint64_t seed) {
    *call = (sample_call){.op = op};
    duet_attrs_init(call->attrs, op);
    const char *at = sample;
    while (*at && *at != ';') {
        if (isspace((unsigned char)*at) || *at == ',') at++;
        else if (!add_input(call, &at, fill, promote, &seed)) return false;
    }
    return *at != ';' || parse_attrs(call, at + 1);
}

void sample_release(sample_call *call) {
    for (int i = 0; i < call->n_in; i++)
        if (call->in[i] && (call->in[i]->flags & DUET_TENSOR_VARIABLE)) duet_release(call->in[i]);
}

bool same_bits(const duet_tensor *a, const duet_tensor *b) {
    if (!a || !b) return a == b;
    return duet_spec_equal(&a->spec, &b->spec) &&
           memcmp(a->data, b->data, duet_spec_bytes(&a->spec)) == 0;
}
