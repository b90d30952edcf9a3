/* Shapes, and what is known of a value before its data: dtype and shape together, the `spec`. */
#ifndef DUET_SHAPE_H
#define DUET_SHAPE_H

#include "dtype.h"
#include "status.h"

#include <stdint.h>
#include <string.h>

enum { DUET_MAX_RANK = 6 };

/* No value has more bytes: 57-bit addresses, half of them the program's, are the most that there
 * is. Well below 2^63, so that adding a header or rounding up never overflows. */
#define DUET_MAX_BYTES ((int64_t)1 << 56)

/* A dimension that a declared signature leaves open ("f32[?,20]"). It occurs only inside a trace:
 * a tensor with data always has all its dimensions. */
enum { DUET_FREE_DIM = -1 };

/* Row-major. dims[rank ..] are always 0, so that equal shapes have equal bytes. */
typedef struct duet_shape {
    int64_t rank;
    int64_t dims[DUET_MAX_RANK];
} duet_shape;

typedef struct duet_spec {
    duet_shape shape;
    int64_t dtype; /* a duet_dtype; 64 bits so that a spec has no padding and compares as bytes */
} duet_spec;

/* DUET_SHAPE(2, 3) is the shape [2,3]; DUET_SCALAR is []. */
#define DUET_SHAPE(...)                                                                            \
    ((duet_shape){sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), {__VA_ARGS__}})
#define DUET_SCALAR ((duet_shape){0})

static inline bool duet_shape_equal(const duet_shape *a, const duet_shape *b) {
    return memcmp(a, b, sizeof *a) == 0;
}
/* *to = *from, in two halves: what is stored as one cache line is slow to read back in parts. */
static inline void duet_spec_copy(duet_spec *to, const duet_spec *from) {
    typedef int64_t half __attribute__((vector_size(32), aligned(8), may_alias));
    half *h = (half *)to;
    const half *g = (const half *)from, low = g[0], high = g[1];
    h[0] = low;
    h[1] = high;
}
static inline bool duet_spec_equal(const duet_spec *a, const duet_spec *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

/* Number of elements; 1 for rank 0. The shape must be valid and without free dimensions. */
static inline int64_t duet_shape_count(const duet_shape *shape) {
    int64_t count = 1;
    for (int i = 0; i < DUET_MAX_RANK && i < shape->rank; i++) /* two ends: unrolled, not vectors */
        count *= shape->dims[i];
    return count;
}

bool duet_shape_is_free(const duet_shape *shape); /* has a DUET_FREE_DIM */

/* Checks dtype, rank, negative dimensions and that the size is at most DUET_MAX_BYTES (with
 * dimensions of 0 taken for 1, so that [0, 2^62] is refused as NumPy refuses it). A free dimension
 * is refused as negative. `who` begins the message. */
duet_status duet_spec_check(const duet_spec *spec, const char *who);

/* Bytes of a checked spec. */
static inline size_t duet_spec_bytes(const duet_spec *spec) {
    return (size_t)duet_shape_count(&spec->shape) * duet_dtype_size((duet_dtype)spec->dtype);
}

/* The same for any spec without free dimensions; false above DUET_MAX_BYTES. */
static inline bool duet_spec_bytes_checked(size_t *bytes, const duet_spec *spec) {
    size_t product = duet_dtype_size((duet_dtype)spec->dtype);
    for (int64_t i = 0; i < spec->shape.rank; i++)
        if (__builtin_mul_overflow(product, (size_t)spec->shape.dims[i], &product)) return false;
    *bytes = product;
    return product <= (size_t)DUET_MAX_BYTES;
}

/* NumPy broadcasting of two shapes; false where they do not fit. A free dimension meets 1 as
 * itself and any other dimension as that dimension. */
bool duet_shape_broadcast(duet_shape *out, const duet_shape *a, const duet_shape *b);

/* "f32[64,20]", "[2,?]": written into the caller's buffer, which is also returned. */
typedef struct duet_text {
    char chars[160]; /* "bool[" and six numbers of 20 characters need 132 */
} duet_text;
const char *duet_shape_text(duet_text *buffer, const duet_shape *shape);
const char *duet_spec_text(duet_text *buffer, const duet_spec *spec);
#define DUET_SPEC_TEXT(spec) duet_spec_text(&(duet_text){{0}}, spec)
#define DUET_SHAPE_TEXT(shape) duet_shape_text(&(duet_text){{0}}, shape)

/* The reverse of duet_spec_text; `*end` is set behind what was read. False if it does not parse. */
bool duet_spec_parse(duet_spec *out, const char *text, const char **end);

#endif
