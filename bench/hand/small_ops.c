/* All of x in registers, the fifty steps as one loop: the chains of the vectors run side by side
 * and hide each other's latency. */
#include "hand/hand.h"

#include "vector.h"

#include <string.h>

enum {
    WHOLE = SMALL_OPS_ELEMENTS / DUET_VL, /* vectors; what is left beside them fills one more */
    REST = SMALL_OPS_ELEMENTS % DUET_VL,
    VECTORS = WHOLE + (REST > 0),
    SIDE_BY_SIDE = VECTORS <= 8 ? VECTORS : 7, /* what 16 registers hold beside the constants */
};

/* max(x, 0), which keeps NaN and -0. C has no vector form that GCC 12 turns into the one
 * instruction; a comparison and a mask instead take a quarter longer in all. */
DUET_ALWAYS_INLINE duet_vf32 relu(duet_vf32 x) {
#ifdef __AVX__
    __asm__("vmaxps %0, %1, %0" : "+v"(x) : "v"((duet_vf32){0}));
    return x;
#else
    return duet_vf32_relu(x);
#endif
}

DUET_ALWAYS_INLINE void fifty_steps(duet_vf32 *x, int count) {
    const duet_vf32 scale = duet_vf32_all(0.99f), shift = duet_vf32_all(0.01f);
    for (int step = 0; step < SMALL_OPS_STEPS; step++) {
        DUET_UNROLL
        for (int i = 0; i < count; i++) x[i] = relu(x[i] * scale + shift);
    }
}

/* `count` vectors, of which the last one has `rest` floats (0: all). */
DUET_ALWAYS_INLINE void run(float *y, const float *x, int count, int rest) {
    duet_vf32 v[SIDE_BY_SIDE];
    DUET_UNROLL
    for (int i = 0; i < count; i++) {
        if (rest && i == count - 1) {
            v[i] = (duet_vf32){0};
            memcpy(&v[i], x + (long)i * DUET_VL, (unsigned)rest * sizeof(float));
        } else {
            v[i] = duet_vf32_load(x + (long)i * DUET_VL);
        }
    }
    fifty_steps(v, count);
    DUET_UNROLL
    for (int i = 0; i < count; i++) {
        if (rest && i == count - 1)
            memcpy(y + (long)i * DUET_VL, &v[i], (unsigned)rest * sizeof(float));
        else
            duet_vf32_store(y + (long)i * DUET_VL, v[i]);
    }
}

void hand_small_ops(float *y, const float *x) {
    enum { LAST = (VECTORS - 1) % SIDE_BY_SIDE + 1 };
    long at = 0;
    for (; at + LAST < VECTORS; at += SIDE_BY_SIDE)
        run(y + at * DUET_VL, x + at * DUET_VL, SIDE_BY_SIDE, 0);
    run(y + at * DUET_VL, x + at * DUET_VL, LAST, REST);
}
