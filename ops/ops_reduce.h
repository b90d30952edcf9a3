/* Reductions, and their adjoints. A NULL operand passes through; errors give NULL with a message.
 * Results belong to the innermost scope.
 *
 * `axes` names axes of x, negative ones from the end; none (DUET_INTS()) means all of them. With
 * `keepdims` a reduced axis stays as 1, else it goes. Sums are pairwise, in an order that depends
 * on the shape alone, never on the number of threads. */
#ifndef DUET_OPS_REDUCE_H
#define DUET_OPS_REDUCE_H

#include "op.h"

/* No axes: all of them where a reduction is asked for. */
#define DUET_NO_AXES ((duet_ints){0})

/* out[i] = sum_j x[i,j]; of nothing: 0.  x: T[d...] number -> T */
duet_tensor *duet_sum(duet_tensor *x, duet_ints axes, bool keepdims);

/* out[i] = sum_j x[i,j] / n; of nothing: NaN.  x: T[d...] float -> T */
duet_tensor *duet_mean(duet_tensor *x, duet_ints axes, bool keepdims);

/* out[i] = max_j x[i,j]; NaN where one of them is; of nothing: an error. Equal maxima share the
 * gradient evenly.  x: T[d...] number -> T */
duet_tensor *duet_max(duet_tensor *x, duet_ints axes, bool keepdims);

/* x repeated to the shape of `like` by NumPy's rule; reads only like's shape.
 * x: T[3,1], like: U[2,3,4] -> T[2,3,4] */
duet_tensor *duet_broadcast_like(duet_tensor *x, duet_tensor *like);

/* Its adjoint: x summed over the axes that repeat when `like` is broadcast to x's shape.
 * x: T[2,3,4], like: U[3,1] -> T[3,1] */
duet_tensor *duet_sum_to_like(duet_tensor *x, duet_tensor *like);

/* The same two where the smaller shape lacks `axes` of the larger, as a reduction without keepdims
 * leaves it. `mean`: divided by the number of elements of the larger to one of the smaller. */
duet_tensor *duet_broadcast_like_axes(duet_tensor *x, duet_tensor *like, duet_ints axes, bool mean);
duet_tensor *duet_sum_to_like_axes(duet_tensor *x, duet_tensor *like, duet_ints axes, bool mean);

#endif
