/* Element types. The list below is the only one: sizes, names and .npy codes expand from it. */
#ifndef DUET_DTYPE_H
#define DUET_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name, C type, short name (messages, text form), .npy descriptor without byte order */
#define DUET_DTYPES(X)                                                                             \
    X(F32, float, "f32", "f4")                                                                     \
    X(F64, double, "f64", "f8")                                                                    \
    X(I32, int32_t, "i32", "i4")                                                                   \
    X(BOOL, uint8_t, "bool", "b1")

typedef enum duet_dtype {
#define X(name, ctype, text, npy) DUET_##name,
    DUET_DTYPES(X)
#undef X
        DUET_DTYPE_COUNT
} duet_dtype;

const char *duet_dtype_name(duet_dtype dtype); /* "f32" ...; "?" for no dtype */
const char *duet_dtype_npy(duet_dtype dtype);  /* "f4" ... */
bool duet_dtype_parse(duet_dtype *out, const char *name);

/* Bytes an element. */
static inline size_t duet_dtype_size(duet_dtype dtype) {
    static const uint8_t sizes[] = {
#define X(name, ctype, text, npy) sizeof(ctype),
        DUET_DTYPES(X)
#undef X
    };
    return sizes[dtype];
}

static inline bool duet_dtype_is_float(duet_dtype dtype) {
    return dtype == DUET_F32 || dtype == DUET_F64;
}

#endif
