#include "signature.h"

#include <inttypes.h>
#include <stdio.h>

duet_arg_key duet_arg_key_of(const duet_tensor *argument) {
    duet_arg_key key = {.spec = argument->spec};
    if (argument->flags & DUET_TENSOR_LITERAL) {
        key.kind = DUET_ARG_LITERAL;
        memcpy(&key.bits, argument->data, duet_dtype_size(duet_tensor_dtype(argument)));
    } else if (argument->flags & DUET_TENSOR_VARIABLE) {
        key.kind = DUET_ARG_VARIABLE;
        key.bits = (uint64_t)(uintptr_t)argument;
    }
    return key;
}

static void literal_text(duet_text *buffer, const duet_arg_key *key) {
    const char *dtype = duet_dtype_name((duet_dtype)key->spec.dtype);
    double value = 0;
    if (key->spec.dtype == DUET_F64) memcpy(&value, &key->bits, sizeof value);
    if (key->spec.dtype == DUET_F32) {
        float single;
        memcpy(&single, &key->bits, sizeof single);
        value = single;
    }
    if (duet_dtype_is_float((duet_dtype)key->spec.dtype))
        snprintf(buffer->chars, sizeof buffer->chars, "literal %s %.9g", dtype, value);
    else
        snprintf(buffer->chars, sizeof buffer->chars, "literal %s %" PRId32, dtype,
                 (int32_t)key->bits);
}

const char *duet_arg_key_text(duet_text *buffer, const duet_arg_key *key) {
    if (key->kind == DUET_ARG_LITERAL)
        literal_text(buffer, key);
    else if (key->kind == DUET_ARG_VARIABLE)
        snprintf(buffer->chars, sizeof buffer->chars, "variable at %#" PRIx64 " %s", key->bits,
                 DUET_SPEC_TEXT(&key->spec));
    else
        duet_spec_text(buffer, &key->spec);
    return buffer->chars;
}

duet_status duet_signature_parse(duet_spec *specs, int *count, int room, const char *text) {
    const char *at = text;
    *count = 0;
    for (;;) {
        while (*at == ' ') at++;
        CHECK(*count < room, DUET_STATUS_ARGUMENT, "signature \"%s\": expected %d argument%s", text,
              room, room == 1 ? "" : "s");
        CHECK(duet_spec_parse(&specs[(*count)++], at, &at), DUET_STATUS_FORMAT,
              "signature \"%s\": expected a type such as f32[?,20] at \"%s\"", text, at);
        while (*at == ' ') at++;
        if (!*at) return DUET_OK;
        CHECK(*at++ == ',', DUET_STATUS_FORMAT, "signature \"%s\": expected , at \"%s\"", text,
              at - 1);
    }
}

bool duet_spec_fits(const duet_spec *declared, const duet_spec *actual) {
    if (declared->dtype != actual->dtype || declared->shape.rank != actual->shape.rank)
        return false;
    for (int64_t i = 0; i < declared->shape.rank; i++) {
        int64_t dim = declared->shape.dims[i];
        if (dim != DUET_FREE_DIM && dim != actual->shape.dims[i]) return false;
    }
    return true;
}
