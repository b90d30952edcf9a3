/* The lessons written by hand, as the limit to compare with: what a careful programmer gets who
 * knows all shapes, and needs no dispatch, no allocation and no memory for intermediates. Dense f32
 * arrays, 64-byte aligned. */
#ifndef DUET_BENCH_HAND_H
#define DUET_BENCH_HAND_H

/* y: [100], x: [100]; fifty times x = max(x * 0.99 + 0.01, 0), with separate roundings. */
enum { SMALL_OPS_ELEMENTS = 100, SMALL_OPS_STEPS = 50 };
void hand_small_ops(float *y, const float *x);

/* c: [n,n] = a · b with OpenBLAS's own threads. */
void hand_big_matmul(float *c, const float *a, const float *b, int n, int threads);

/* y: [512,512] = x · a · a + x · b · b with OpenBLAS, a thread of the pool for each chain.
 * spare: three more of that size. */
enum { BRANCH_PRODUCTS = 2, BRANCH_SIZE = 512 };
void hand_branches(float *y, float *const *spare, const float *x, const float *a, const float *b);

/* One step of training with batch 64: h = relu(x w1 + b1), y = h w2 + b2, loss = mean (y - t)²,
 * then each weight -= 0.01 · its gradient. `loss`: [1]; w1: [20,64], b1: [64], w2: [64], b2: [1]
 * are updated; x: [64,20], t: [64]. */
enum { TRAIN_BATCH = 64, TRAIN_INPUTS = 20, TRAIN_HIDDEN = 64 };
#define TRAIN_RATE 0.01f
void hand_train_step(float *loss, float *w1, float *b1, float *w2, float *b2, const float *x,
                     const float *t);

#endif
