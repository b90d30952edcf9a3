/* Ops that read and write variables, draw random numbers or watch values: they happen in program
 * order in both executors. Writing ops return a status; the others return NULL on errors. */
#ifndef DUET_OPS_STATE_H
#define DUET_OPS_STATE_H

#include "op.h"

/* ---- variables ------------------------------------------------------------------------------ */

/* The variable's value as of now: later writes do not change it. A variable that is given to an
 * ordinary op is read this way by itself.  v: T[..] variable -> T[..] */
duet_tensor *duet_read(duet_tensor *variable);

/* v = x. Same dtype and shape.  v: T[..] variable, x: T[..] */
duet_status duet_assign(duet_tensor *variable, duet_tensor *x);

/* v = v + x. Same dtype and shape, a number type.  v: T[..] variable, x: T[..] */
duet_status duet_assign_add(duet_tensor *variable, duet_tensor *x);

/* v = v - lr g. lr is 0-d, so that it can be a variable of its own.
 * v: T[..] variable, g: T[..], lr: T[] */
duet_status duet_sgd(duet_tensor *variable, duet_tensor *g, duet_tensor *lr);

/* The same with momentum, in Keras's form (keras.optimizers.SGD): lr scales a gradient as it enters
 * the velocity, not the velocity as it leaves (PyTorch's form), so a smaller lr does not shrink
 * steps that were gathered before. While lr stays the same both forms are one.
 *   velocity = momentum velocity - lr g
 *   v = v + velocity                           nesterov: v = v + (momentum velocity - lr g)
 * velocity: T[..] variable of v's shape, zeros at first. */
duet_status duet_sgd_momentum(duet_tensor *variable, duet_tensor *g, duet_tensor *lr,
                              duet_tensor *velocity, double momentum, bool nesterov);

/* ---- constants ------------------------------------------------------------------------------ */

/* `value` as an op's output: how a trace holds a tensor that it did not compute. */
duet_tensor *duet_constant(duet_tensor *value);

/* ---- random numbers ------------------------------------------------------------------------- */

/* A generator's state, from Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1,
 * 2, 3", SC 2011): a variable i32[4] of {key low, key high, counter low, counter high}. The caller
 * holds it and releases it. Same seed, same numbers, on any number of threads. */
duet_tensor *duet_rng_new(uint64_t seed);

/* Numbers drawn from `rng`, whose counter moves past them. f32 and f64.
 * uniform in [low, high); normal with the given mean and standard deviation.  rng: i32[4] */
duet_tensor *duet_random_uniform(duet_shape shape, duet_dtype dtype, duet_tensor *rng, double low,
                                 double high);
duet_tensor *duet_random_normal(duet_shape shape, duet_dtype dtype, duet_tensor *rng);
duet_tensor *duet_random_normal_scaled(duet_shape shape, duet_dtype dtype, duet_tensor *rng,
                                       double mean, double stddev);

/* The same in the shape of `like`, whose dimensions may be free. */
duet_tensor *duet_random_uniform_like(duet_tensor *like, duet_dtype dtype, duet_tensor *rng,
                                      double low, double high);
duet_tensor *duet_random_normal_like(duet_tensor *like, duet_dtype dtype, duet_tensor *rng,
                                     double mean, double stddev);

/* First weights: uniform in [-r, r) with r = sqrt(6 / (fan_in + fan_out)) (Glorot, Bengio:
 * "Understanding the difficulty of training deep feedforward neural networks", AISTATS 2010). The
 * last two dimensions are inputs and outputs; those in front (a convolution's window) multiply
 * both; a vector's length is both.  [..,in,out] */
duet_tensor *duet_glorot_uniform(duet_shape shape, duet_dtype dtype, duet_tensor *rng);

/* ---- watching values ------------------------------------------------------------------------ */

/* x itself; each time it runs, one line on stderr: "label f32[2,3] [[1, 2, 3], [4, 5, 6]]". Of an
 * axis longer than 2 `edge` only so many elements at either end are shown; edge -1 shows all. */
duet_tensor *duet_print(duet_tensor *x, const char *label, int64_t edge);

/* x itself; the call, or the graph's run, fails where x has a NaN or an infinity. f32 and f64. */
duet_tensor *duet_check_numerics(duet_tensor *x, const char *message);

#endif
