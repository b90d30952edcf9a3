#include "shape.h"

#include <inttypes.h>
#include <stdio.h>

bool duet_shape_is_free(const duet_shape *shape) {
    for (int64_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] == DUET_FREE_DIM) return true;
    return false;
}

duet_status duet_spec_check(const duet_spec *spec, const char *who) {
    const duet_shape *shape = &spec->shape;
    CHECK((uint64_t)spec->dtype < DUET_DTYPE_COUNT, DUET_STATUS_DTYPE,
          "%s: expected dtype f32, f64, i32 or bool, got number %" PRId64, who, spec->dtype);
    CHECK(shape->rank >= 0 && shape->rank <= DUET_MAX_RANK, DUET_STATUS_SHAPE,
          "%s: expected rank 0 to %d, got %" PRId64, who, DUET_MAX_RANK, shape->rank);
    for (int64_t i = 0; i < shape->rank; i++)
        CHECK(shape->dims[i] >= 0, DUET_STATUS_SHAPE,
              "%s: expected dimensions of 0 or more, got %" PRId64 " as dimension %" PRId64
              " of %s",
              who, shape->dims[i], i, DUET_SHAPE_TEXT(shape));
    int64_t bytes = (int64_t)duet_dtype_size((duet_dtype)spec->dtype);
    for (int64_t i = 0; i < shape->rank; i++) {
        int64_t dim = shape->dims[i] == 0 ? 1 : shape->dims[i];
        CHECK(!__builtin_mul_overflow(bytes, dim, &bytes) && bytes <= DUET_MAX_BYTES,
              DUET_STATUS_OVERFLOW, "%s: %s has more bytes than a program can address", who,
              DUET_SPEC_TEXT(spec));
    }
    return DUET_OK;
}

static bool broadcast_dim(int64_t *out, int64_t a, int64_t b) {
    if (a == b || b == 1)
        *out = a;
    else if (a == 1 || a == DUET_FREE_DIM)
        *out = b;
    else if (b == DUET_FREE_DIM)
        *out = a;
    else
        return false;
    return true;
}

bool duet_shape_broadcast(duet_shape *out, const duet_shape *a, const duet_shape *b) {
    if (a->rank < b->rank) {
        const duet_shape *swap = a;
        a = b;
        b = swap;
    }
    duet_shape result = *a;
    int64_t skip = a->rank - b->rank; /* the shorter shape is aligned to the right */
    for (int64_t i = 0; i < b->rank; i++)
        if (!broadcast_dim(&result.dims[skip + i], a->dims[skip + i], b->dims[i])) return false;
    *out = result;
    return true;
}

static int print_dims(char *at, size_t room, const duet_shape *shape) {
    int used = snprintf(at, room, "[");
    int64_t rank = shape->rank < 0 || shape->rank > DUET_MAX_RANK ? 0 : shape->rank;
    for (int64_t i = 0; i < rank; i++) {
        const char *comma = i ? "," : "";
        if (shape->dims[i] == DUET_FREE_DIM)
            used += snprintf(at + used, room - (size_t)used, "%s?", comma);
        else
            used += snprintf(at + used, room - (size_t)used, "%s%" PRId64, comma, shape->dims[i]);
    }
    return used + snprintf(at + used, room - (size_t)used, "]");
}

const char *duet_shape_text(duet_text *buffer, const duet_shape *shape) {
    print_dims(buffer->chars, sizeof buffer->chars, shape);
    return buffer->chars;
}

const char *duet_spec_text(duet_text *buffer, const duet_spec *spec) {
    int used = snprintf(buffer->chars, sizeof buffer->chars, "%s",
                        duet_dtype_name((duet_dtype)spec->dtype));
    print_dims(buffer->chars + used, sizeof buffer->chars - (size_t)used, &spec->shape);
    return buffer->chars;
}

/* Digits alone: no sign, no space, and false beyond 63 bits. */
static bool parse_dim(int64_t *dim, const char **at) {
    const char *p = *at;
    if (*p < '0' || *p > '9') return false;
    for (*dim = 0; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(*dim, 10, dim) || __builtin_add_overflow(*dim, *p - '0', dim))
            return false;
    *at = p;
    return true;
}

static bool parse_dims(duet_shape *shape, const char **at) {
    const char *p = *at;
    if (*p == ']') return *at = p + 1, true;
    for (;;) {
        if (shape->rank == DUET_MAX_RANK) return false;
        int64_t *dim = &shape->dims[shape->rank++];
        if (*p == '?') {
            *dim = DUET_FREE_DIM;
            p++;
        } else if (!parse_dim(dim, &p)) {
            return false;
        }
        if (*p == ']') return *at = p + 1, true;
        if (*p++ != ',') return false;
    }
}

bool duet_spec_parse(duet_spec *out, const char *text, const char **end) {
    for (int i = 0; i < DUET_DTYPE_COUNT; i++) {
        const char *name = duet_dtype_name((duet_dtype)i);
        size_t length = strlen(name);
        if (strncmp(text, name, length) != 0 || text[length] != '[') continue;
        duet_spec spec = {.dtype = i};
        const char *at = text + length + 1;
        if (!parse_dims(&spec.shape, &at)) return false;
        *out = spec;
        *end = at;
        return true;
    }
    return false;
}
