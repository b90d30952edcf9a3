#include "kernels/broadcast.h"

/* Axis `i` from the end of a shape, 1 where it has none. */
static int64_t dim_from_end(const duet_shape *shape, int64_t i) {
    return i < shape->rank ? shape->dims[shape->rank - 1 - i] : 1;
}

void duet_broadcast_init(duet_broadcast *out, const duet_shape *from, const duet_shape *to) {
    *out = (duet_broadcast){.rank = 0};
    int64_t stride = 1;
    for (int64_t i = 0; i < to->rank; i++) {
        int64_t extent = dim_from_end(to, i), dim = dim_from_end(from, i);
        if (extent == 1) continue;
        int64_t step = dim == 1 ? 0 : stride;
        int last = out->rank - 1;
        if (last >= 0 && step == out->step[last] * out->extent[last]) {
            out->extent[last] *= extent; /* goes on where the axis inside it ends */
        } else {
            out->extent[out->rank] = extent;
            out->step[out->rank++] = step;
        }
        stride *= dim;
    }
    if (out->rank == 0) out->extent[out->rank++] = 1;
    out->kind = out->rank > 1       ? DUET_BROADCAST_REPEAT
                : out->step[0] == 1 ? DUET_BROADCAST_SAME
                                    : DUET_BROADCAST_ONE;
}

int64_t duet_broadcast_period(const duet_broadcast *b) {
    int last = b->rank - 1;
    if (b->step[last] != 0) return 0;
    int64_t period = 1;
    for (int i = 0; i < last; i++) period *= b->extent[i];
    return period;
}

/* A place in the broadcast tensor: its index along each axis, and the element of `data` there. */
typedef struct cursor {
    int64_t index[DUET_MAX_RANK], element;
} cursor;

static cursor cursor_at(const duet_broadcast *b, int64_t place) {
    cursor at = {.element = 0};
    int last = b->rank - 1;
    for (int i = 0; i < last; i++) {
        at.index[i] = place % b->extent[i];
        at.element += at.index[i] * b->step[i];
        place /= b->extent[i];
    }
    at.index[last] = place;
    at.element += place * b->step[last];
    return at;
}

/* Moves on by `count` elements that do not reach past the end of the innermost axis. */
static void advance(cursor *at, const duet_broadcast *b, int64_t count) {
    at->index[0] += count;
    at->element += count * b->step[0];
    for (int i = 0; i + 1 < b->rank && at->index[i] == b->extent[i]; i++) {
        at->index[i] = 0;
        at->index[i + 1]++;
        at->element += b->step[i + 1] - b->extent[i] * b->step[i];
    }
}

#define DEFINE_COPY(name, E)                                                                       \
    static void name(void *to, const void *from, int64_t step, int64_t count) {                    \
        E *out = to;                                                                               \
        const E *in = from;                                                                        \
        if (step == 0)                                                                             \
            for (int64_t i = 0; i < count; i++) out[i] = *in;                                      \
        else                                                                                       \
            for (int64_t i = 0; i < count; i++) out[i] = in[i];                                    \
    }
DEFINE_COPY(copy1, uint8_t)
DEFINE_COPY(copy4, uint32_t)
DEFINE_COPY(copy8, uint64_t)

void duet_broadcast_read(void *out, const duet_broadcast *b, const void *data, size_t size,
                         int64_t begin, int64_t count) {
    void (*copy)(void *, const void *, int64_t, int64_t) = size == 4   ? copy4
                                                           : size == 8 ? copy8
                                                                       : copy1;
    char *to = out;
    cursor at = cursor_at(b, begin);
    while (count > 0) {
        int64_t run = b->extent[0] - at.index[0];
        if (run > count) run = count;
        copy(to, (const char *)data + (size_t)at.element * size, b->step[0], run);
        to += (size_t)run * size;
        count -= run;
        advance(&at, b, run);
    }
}

const void *duet_broadcast_find(const duet_broadcast *b, const void *data, size_t size,
                                int64_t begin, int64_t count) {
    if (b->step[0] != 1) return NULL;
    cursor at = cursor_at(b, begin);
    if (at.index[0] + count > b->extent[0]) return NULL;
    return (const char *)data + (size_t)at.element * size;
}
