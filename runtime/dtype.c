#include "dtype.h"

#include <string.h>

static const struct {
    const char *name, *npy;
} dtypes[] = {
#define X(name, ctype, text, npy) {text, npy},
    DUET_DTYPES(X)
#undef X
};

const char *duet_dtype_name(duet_dtype dtype) {
    return (unsigned)dtype < DUET_DTYPE_COUNT ? dtypes[dtype].name : "?";
}

const char *duet_dtype_npy(duet_dtype dtype) { return dtypes[dtype].npy; }

bool duet_dtype_parse(duet_dtype *out, const char *name) {
    for (int i = 0; i < DUET_DTYPE_COUNT; i++) {
        if (strcmp(dtypes[i].name, name) == 0) {
            *out = (duet_dtype)i;
            return true;
        }
    }
    return false;
}
