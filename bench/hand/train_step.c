/* A training step in two passes over the batch.
 *
 *   forward    a few rows at a time: hidden layer in a register tile that starts as the bias; relu,
 *              and the product with w2, as the tile leaves; then y, loss and d loss / d y of these
 *              rows, and in one sweep the gradient of the hidden layer and its sums
 *   backward   w1's gradient in a register tile over the whole batch, and the update as it leaves
 *
 * Only the gradient of the hidden layer (16 KB) goes through memory. This file alone is compiled
 * with -ffp-contract=fast: a * b + c is one multiply-add. */
#include "hand/hand.h"
#include "hand/registers.h"

#include "vector.h"

enum {
    BATCH = TRAIN_BATCH,
    INPUTS = TRAIN_INPUTS,
    HIDDEN = TRAIN_HIDDEN,
    COLUMNS = HIDDEN / DUET_VL, /* vectors a row of the hidden layer */
    /* Tiles, in rows times vectors: enough sums to hide the latency of a multiply-add, and room for
       a row of w1 and one element of x beside them. */
    TILE = DUET_VECTOR_REGISTERS == 32 ? 4 : 2,
    ROWS = DUET_VECTOR_REGISTERS == 32 ? 4 : 6,
    BACK_ROWS = 5, /* of w1; divides INPUTS */
};

typedef struct step {
    float *w1, *b1, *w2, *b2;
    const float *x, *t;
    float loss, grad_b2;
    duet_vf32 grad_w2[COLUMNS], grad_b1[COLUMNS];
    float grad_hidden[BATCH][HIDDEN] __attribute__((aligned(64)));
} step;

/* The sum of all lanes, as a tree. */
DUET_ALWAYS_INLINE float sum_lanes(duet_vf32 v) {
    typedef float f4 __attribute__((vector_size(16)));
#if DUET_VL == 16
    typedef float f8 __attribute__((vector_size(32)));
    f8 w = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
           __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
#elif DUET_VL == 8
    duet_vf32 w = v;
#endif
#if DUET_VL >= 8
    f4 q = __builtin_shufflevector(w, w, 0, 1, 2, 3) + __builtin_shufflevector(w, w, 4, 5, 6, 7);
#else
    f4 q = v;
#endif
    q += __builtin_shufflevector(q, q, 2, 3, 0, 1);
    return q[0] + q[1];
}

/* hidden[r] = relu(x[r] w1 + b1) for the columns of one tile, and y[r] += hidden[r] · w2. */
DUET_ALWAYS_INLINE void hidden_tile(float (*hidden)[HIDDEN], duet_vf32 *y, const step *s,
                                    const float *x, int rows, int column) {
    duet_vf32 sum[ROWS][TILE];
    DUET_UNROLL
    for (int r = 0; r < rows; r++) DUET_UNROLL
    for (int j = 0; j < TILE; j++) sum[r][j] = duet_vf32_load(s->b1 + column + j * DUET_VL);
    const float *row[ROWS];
    DUET_UNROLL
    for (int r = 0; r < rows; r++) {
        row[r] = x + r * INPUTS;
        OPAQUE(row[r]);
    }
    for (long k = 0; k < INPUTS; k++) {
        duet_vf32 w[TILE];
        DUET_UNROLL
        for (int j = 0; j < TILE; j++) w[j] = load_once(s->w1 + k * HIDDEN + column + j * DUET_VL);
        DUET_UNROLL
        for (int r = 0; r < rows; r++) {
            duet_vf32 a = duet_vf32_all(row[r][k]);
            DUET_UNROLL
            for (int j = 0; j < TILE; j++) sum[r][j] += a * w[j];
        }
    }
    DUET_UNROLL
    for (int j = 0; j < TILE; j++) {
        duet_vf32 w2 = duet_vf32_load(s->w2 + column + j * DUET_VL);
        DUET_UNROLL
        for (int r = 0; r < rows; r++) {
            duet_vf32 h = duet_vf32_relu(sum[r][j]);
            duet_vf32_store(&hidden[r][column + j * DUET_VL], h);
            y[r] += h * w2;
        }
    }
}

/* Loss and gradients of `rows` rows of the batch, all but w1's. */
DUET_ALWAYS_INLINE void forward(step *s, int first, int rows) {
    float hidden[ROWS][HIDDEN] __attribute__((aligned(64)));
    duet_vf32 y[ROWS], grad_y[ROWS];
    DUET_UNROLL
    for (int r = 0; r < rows; r++) y[r] = (duet_vf32){0};
    for (int column = 0; column < HIDDEN; column += TILE * DUET_VL)
        hidden_tile(hidden, y, s, s->x + first * INPUTS, rows, column);
    DUET_UNROLL
    for (int r = 0; r < rows; r++) {
        float error = sum_lanes(y[r]) + *s->b2 - s->t[first + r];
        float gradient = error * (2.0f / BATCH);
        s->loss += error * error;
        s->grad_b2 += gradient;
        grad_y[r] = duet_vf32_all(gradient);
    }
    DUET_UNROLL
    for (int c = 0; c < COLUMNS; c++) {
        duet_vf32 w2 = duet_vf32_load(s->w2 + c * DUET_VL);
        duet_vf32 grad_w2 = s->grad_w2[c], grad_b1 = s->grad_b1[c];
        DUET_UNROLL
        for (int r = 0; r < rows; r++) {
            duet_vf32 h = duet_vf32_load(&hidden[r][c * DUET_VL]);
            duet_vi32 active = h > (duet_vf32){0};
            duet_vf32 g = (duet_vf32)((duet_vi32)(grad_y[r] * w2) & active);
            grad_w2 += grad_y[r] * h;
            grad_b1 += g;
            duet_vf32_store(&s->grad_hidden[first + r][c * DUET_VL], g);
        }
        s->grad_w2[c] = grad_w2;
        s->grad_b1[c] = grad_b1;
    }
}

/* w1 -= rate · xᵀ grad_hidden for BACK_ROWS rows and the columns of one tile. */
DUET_ALWAYS_INLINE void backward_tile(step *s, int row, int column) {
    duet_vf32 sum[BACK_ROWS][TILE] = {{{0}}};
    for (int k = 0; k < BATCH; k++) {
        duet_vf32 g[TILE];
        DUET_UNROLL
        for (int j = 0; j < TILE; j++) g[j] = load_once(&s->grad_hidden[k][column + j * DUET_VL]);
        DUET_UNROLL
        for (int r = 0; r < BACK_ROWS; r++) {
            duet_vf32 a = duet_vf32_all(s->x[k * INPUTS + row + r]);
            DUET_UNROLL
            for (int j = 0; j < TILE; j++) sum[r][j] += a * g[j];
        }
    }
    DUET_UNROLL
    for (int r = 0; r < BACK_ROWS; r++) {
        float *w = s->w1 + (row + r) * HIDDEN + column;
        DUET_UNROLL
        for (int j = 0; j < TILE; j++)
            duet_vf32_store(w + j * DUET_VL,
                            duet_vf32_load(w + j * DUET_VL) - sum[r][j] * TRAIN_RATE);
    }
}

void hand_train_step(float *loss, float *w1, float *b1, float *w2, float *b2, const float *x,
                     const float *t) {
    step s;
    s.w1 = w1, s.b1 = b1, s.w2 = w2, s.b2 = b2, s.x = x, s.t = t;
    s.loss = s.grad_b2 = 0;
    for (int c = 0; c < COLUMNS; c++) s.grad_w2[c] = s.grad_b1[c] = (duet_vf32){0};

    int row = 0;
    for (; row + ROWS <= BATCH; row += ROWS) forward(&s, row, ROWS);
    if (BATCH % ROWS) forward(&s, row, BATCH % ROWS);
    for (row = 0; row < INPUTS; row += BACK_ROWS)
        for (int column = 0; column < HIDDEN; column += TILE * DUET_VL)
            backward_tile(&s, row, column);

    for (int c = 0; c < COLUMNS; c++) {
        float *b = b1 + c * DUET_VL, *w = w2 + c * DUET_VL;
        duet_vf32_store(b, duet_vf32_load(b) - s.grad_b1[c] * TRAIN_RATE);
        duet_vf32_store(w, duet_vf32_load(w) - s.grad_w2[c] * TRAIN_RATE);
    }
    *b2 -= s.grad_b2 * TRAIN_RATE;
    *loss = s.loss / BATCH;
}
