/* Ops of one element at a time. Operands have one dtype T (cast converts) and broadcast against
 * each other by NumPy's rule. A NULL operand passes through; errors give NULL with a message.
 * Results belong to the innermost scope.
 *
 * Arithmetic is IEEE's, one rounding per op; exp, log, tanh and sigmoid are within 4 ulp. i32 wraps
 * on overflow. */
#ifndef DUET_OPS_ELEMENTWISE_H
#define DUET_OPS_ELEMENTWISE_H

#include "ops_reduce.h"

/* ---- one operand: T[d...] -> T[d...] ----------------------------------------------------------
 */

duet_tensor *duet_neg(duet_tensor *x);     /* -x                     f32 f64 i32 */
duet_tensor *duet_abs(duet_tensor *x);     /* |x|, 0 gets gradient 0 f32 f64 i32 */
duet_tensor *duet_square(duet_tensor *x);  /* x * x                  f32 f64 i32 */
duet_tensor *duet_relu(duet_tensor *x);    /* x < 0 ? 0 : x: keeps NaN and -0; relu'(0) = 0 */
duet_tensor *duet_sqrt(duet_tensor *x);    /* correctly rounded      f32 f64 */
duet_tensor *duet_exp(duet_tensor *x);     /* e to the x             f32 f64 */
duet_tensor *duet_log(duet_tensor *x);     /* natural logarithm      f32 f64 */
duet_tensor *duet_tanh(duet_tensor *x);    /*                        f32 f64 */
duet_tensor *duet_sigmoid(duet_tensor *x); /* 1 / (1 + exp(-x))      f32 f64 */

/* x converted to `dtype`. To bool: x != 0. From float to i32: towards zero, what does not fit to
 * the nearest that does, NaN to 0. */
duet_tensor *duet_cast(duet_tensor *x, duet_dtype dtype);

/* ---- two operands: T[a...], T[b...] -> T[a... with b...] ---------------------------------------
 */

duet_tensor *duet_add(duet_tensor *x, duet_tensor *y); /* x + y */
duet_tensor *duet_sub(duet_tensor *x, duet_tensor *y); /* x - y */
duet_tensor *duet_mul(duet_tensor *x, duet_tensor *y); /* x * y */

/* x / y. i32: towards zero as in C, and x / 0 = 0. */
duet_tensor *duet_div(duet_tensor *x, duet_tensor *y);

/* The larger, the smaller; NaN where one of them is. Where x equals y the result, and all of the
 * gradient, is y's: so maximum(x, 0) has relu's gradient. */
duet_tensor *duet_maximum(duet_tensor *x, duet_tensor *y);
duet_tensor *duet_minimum(duet_tensor *x, duet_tensor *y);

/* relu's gradient: g where y > 0, else 0, for y = relu(x) (or x itself). */
duet_tensor *duet_relu_grad(duet_tensor *g, duet_tensor *y);

/* Comparisons: T, T -> bool. False where an operand is NaN. */
duet_tensor *duet_greater(duet_tensor *x, duet_tensor *y); /* x > y */
duet_tensor *duet_equal(duet_tensor *x, duet_tensor *y);   /* x == y */

/* ---- three -------------------------------------------------------------------------------------
 */

/* x ? y : z, chosen lane by lane. The operand that is not chosen gets gradient 0, which its own
 * rule may still turn to NaN (0 times an infinite derivative), as in where(x > 0, sqrt(x), 1) at 0.
 * x: bool, y: T, z: T -> T */
duet_tensor *duet_where(duet_tensor *x, duet_tensor *y, duet_tensor *z);

#endif
