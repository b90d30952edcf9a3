/* Reading a tensor as if it were broadcast to a larger shape, along that shape's row-major order.
 * Shapes are worked out once; readings then only walk. */
#ifndef DUET_KERNELS_BROADCAST_H
#define DUET_KERNELS_BROADCAST_H

#include "shape.h"

typedef enum duet_broadcast_kind {
    DUET_BROADCAST_SAME,   /* the same elements in the same order */
    DUET_BROADCAST_ONE,    /* one element everywhere */
    DUET_BROADCAST_REPEAT, /* anything else: some axes repeat */
} duet_broadcast_kind;

typedef struct duet_broadcast {
    duet_broadcast_kind kind;
    int rank;                      /* axes left when those that walk alike are merged */
    int64_t extent[DUET_MAX_RANK]; /* of the larger shape; axis 0 is the innermost */
    int64_t step[DUET_MAX_RANK];   /* elements to go for one step along the axis: step[0] is 0, 1 */
} duet_broadcast;

/* `from` must broadcast to `to`; no free dimensions. */
void duet_broadcast_init(duet_broadcast *out, const duet_shape *from, const duet_shape *to);

/* After how many elements it begins anew, where only the outermost axis repeats; else 0. */
int64_t duet_broadcast_period(const duet_broadcast *b);

/* out[i] = element begin + i of the broadcast tensor, for i < count; `data` is what it is made of,
 * elements of `size` bytes (1, 4 or 8). */
void duet_broadcast_read(void *out, const duet_broadcast *b, const void *data, size_t size,
                         int64_t begin, int64_t count);

/* Where those elements lie side by side already, or NULL where they do not. */
const void *duet_broadcast_find(const duet_broadcast *b, const void *data, size_t size,
                                int64_t begin, int64_t count);

#endif
