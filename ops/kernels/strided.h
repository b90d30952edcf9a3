/* One copy for everything that only moves elements: transpose, slice, concat, pad and broadcast are
 * the same loop nest with other strides. */
#ifndef DUET_KERNELS_STRIDED_H
#define DUET_KERNELS_STRIDED_H

#include "shape.h"

/* For every index of the box `dims`: out[sum index*to] = in[sum index*from]. Strides count
 * elements; `from` is 0 along an axis that repeats, `to` never is. */
typedef struct duet_strided {
    int64_t rank;
    int64_t dims[DUET_MAX_RANK], to[DUET_MAX_RANK], from[DUET_MAX_RANK];
} duet_strided;

/* Copies elements of `size` bytes (1, 4 or 8) on the pool. Out and in may not overlap. */
void duet_strided_copy(void *out, const void *in, size_t size, const duet_strided *box);

/* The strides of a dense tensor of `shape`. */
void duet_strided_dense(int64_t *strides, const duet_shape *shape);

/* `box` between two dense tensors: it begins at `out_begin` in one and at `in_begin` in the other
 * (NULL: at the origin). */
void duet_strided_copy_box(void *out, const duet_shape *out_shape, const int64_t *out_begin,
                           const void *in, const duet_shape *in_shape, const int64_t *in_begin,
                           const duet_shape *box, size_t size);

#endif
