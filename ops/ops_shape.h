/* Ops that move elements or rename their axes, and compute nothing: every element type. A NULL
 * operand passes through; errors give NULL with a message. Results belong to the innermost scope.
 */
#ifndef DUET_OPS_SHAPE_H
#define DUET_OPS_SHAPE_H

#include "op.h"

/* The same elements in the same order under `shape`, of which one dimension may be -1: what is
 * left. Shares x's storage. Errors: the counts differ; -1 next to a 0, where it could be anything.
 * x: T[...] -> T[shape] */
duet_tensor *duet_reshape(duet_tensor *x, duet_shape shape);

/* x under the shape of `like`, whose data is not read. Shares x's storage.
 * x: T[...], like: U[d...] -> T[d...] */
duet_tensor *duet_reshape_like(duet_tensor *x, duet_tensor *like);

/* out[i_perm[0], i_perm[1], ...] = x[i_0, i_1, ...]: dimension j of the result is dimension perm[j]
 * of x. No perm (count 0) reverses the axes.  x: T[d0,d1] -> T[d1,d0] */
duet_tensor *duet_transpose(duet_tensor *x, duet_ints perm);

/* The inputs one behind the other along `axis` (negative: from the end); the other dimensions are
 * equal. 1 to DUET_MAX_INPUTS inputs.  T[a,k], T[b,k] at axis 0 -> T[a+b,k] */
duet_tensor *duet_concat(duet_tensor *const *inputs, int count, int64_t axis);

/* The box of x that begins at `begin` and has dimensions `size`, where -1 is all that is left
 * (tf.slice). One entry per axis of x.  out[i...] = x[begin+i...] */
duet_tensor *duet_slice(duet_tensor *x, duet_ints begin, duet_ints size);

/* slice's adjoint: zeros in the shape of `like`, with x in the place of slice(like, begin, size).
 * x: T[size...], like: U[d...] -> T[d...] */
duet_tensor *duet_slice_grad(duet_tensor *x, duet_tensor *like, duet_ints begin, duet_ints size);

/* The part of x along `axis` that is as long as `like` and lies behind parts as long as the tensors
 * `before` (from_end: it lies in front of such parts, which end x). Reads only their shapes: this
 * is how concat's gradient finds its parts when dimensions are free.
 * x: T[n,k], like: U[m,k] at axis 0 -> T[m,k] */
duet_tensor *duet_slice_like(duet_tensor *x, duet_tensor *like, duet_tensor *const *before,
                             int count, int64_t axis, bool from_end);

/* slice_like's adjoint: zeros in the shape of `like`, with x in the place of
 * slice_like(like, x, before, ...).  x: T[m,k], like: U[n,k] -> T[n,k] */
duet_tensor *duet_pad_like(duet_tensor *x, duet_tensor *like, duet_tensor *const *before, int count,
                           int64_t axis, bool from_end);

/* x repeated to `shape` by NumPy's rule: axes are aligned at the end, an axis of 1 repeats, missing
 * ones are added in front. -1 keeps x's own dimension.  x: T[3,1] to [2,3,4] -> T[2,3,4] */
duet_tensor *duet_broadcast_to(duet_tensor *x, duet_shape shape);

#endif
