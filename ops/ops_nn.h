/* Ops of neural networks' ordinary layers. A NULL operand passes through; errors give NULL with a
 * message. Results belong to the innermost scope. */
#ifndef DUET_OPS_NN_H
#define DUET_OPS_NN_H

#include "op.h"

/* Matrix product, one for each index of the batch dimensions, which broadcast as NumPy's do; f32
 * and f64. Errors: rank below 2, inner or batch dimensions that do not fit.
 * y[..,i,j] = sum_p x[..,i,p] w[..,p,j]      x: T[..,m,k], w: T[..,k,n] -> T[..,m,n] */
duet_tensor *duet_matmul(duet_tensor *x, duet_tensor *w);

/* The same with x's (transpose_a) or w's (transpose_b) last two axes swapped. */
duet_tensor *duet_matmul_flags(duet_tensor *x, duet_tensor *w, bool transpose_a, bool transpose_b);

/* A dense layer, activation(x w + b), with the bits of matmul, add and the op that `activation`
 * names ("relu", "tanh" ...; NULL or "none": none); b is added last.
 * x: T[..,m,k], w: T[k,n], b: T[n] -> T[..,m,n] */
duet_tensor *duet_dense(duet_tensor *x, duet_tensor *w, duet_tensor *b, const char *activation);

/* Along `axis` (negative: from the end), with m = max x: exp(x - m) / sum exp(x - m). So it neither
 * overflows nor divides by 0; a NaN makes its whole row NaN, as does +Inf.  x: T[..] -> T[..] */
duet_tensor *duet_softmax(duet_tensor *x, int64_t axis);

/* Mean squared error over all elements, (1/N) sum (y - t)^2; NaN for N = 0. The shapes must be
 * equal: silent broadcasting of y[n,1] against t[n] is a mistake more often than a wish.
 * y: T[..], t: T[..] -> T[] */
duet_tensor *duet_mse(duet_tensor *y, duet_tensor *t);

/* Its gradient by y, where g is the gradient of the result: 2 g (y - t) / N.
 * g: T[], y: T[..], t: T[..] -> T[..] */
duet_tensor *duet_mse_grad(duet_tensor *g, duet_tensor *y, duet_tensor *t);

#endif
