/* Test 3: a real training step. Forward, loss, gradients and the update of four variables. */
#include "hand/hand.h"
#include "lesson.h"

#include <math.h>

enum { W1, B1, W2, B2, VARIABLES };

/* Input(20) -> Dense(64, relu) -> Dense(1), mean squared error, SGD. */
static duet_status train_step(duet_tensor **loss, duet_tensor *x, duet_tensor *t,
                              duet_tensor *const *v) {
    duet_tape *tape = duet_tape_new(false);
    duet_tensor *hidden = duet_dense(x, v[W1], v[B1], "relu");
    duet_tensor *y = duet_dense(hidden, v[W2], v[B2], NULL);
    *loss = duet_mse(y, t);
    duet_tensor *gradients[VARIABLES];
    duet_status status = duet_gradient(gradients, tape, *loss, v, VARIABLES);
    duet_tape_free(tape);
    TRY(status);
    for (int i = 0; i < VARIABLES; i++) TRY(duet_sgd(v[i], gradients[i], duet_f32(TRAIN_RATE)));
    return DUET_OK;
}

static duet_status body(duet_tensor **out, duet_tensor *const *in, void *user) {
    return train_step(out, in[0], in[1], ((exercise *)user)->variables);
}

/* Glorot's uniform weights. */
static duet_tensor *weights(const char *name, int inputs, int outputs, uint64_t stream) {
    double limit = sqrt(6.0 / (inputs + outputs));
    return held_variable(name, held_uniform(DUET_SHAPE(inputs, outputs), limit, stream));
}

static duet_status setup(exercise *e) {
    e->in[0] = held_normal(DUET_SHAPE(TRAIN_BATCH, TRAIN_INPUTS), 1);
    e->in[1] = held_normal(DUET_SHAPE(TRAIN_BATCH, 1), 2);
    e->variables[W1] = weights("w1", TRAIN_INPUTS, TRAIN_HIDDEN, 3);
    e->variables[B1] = held_variable("b1", held_zeros(DUET_SHAPE(TRAIN_HIDDEN)));
    e->variables[W2] = weights("w2", TRAIN_HIDDEN, 1, 4);
    e->variables[B2] = held_variable("b2", held_zeros(DUET_SHAPE(1)));
    e->out[0] = held_zeros(DUET_SCALAR);
    for (int i = 0; i < VARIABLES; i++)
        if (!e->variables[i]) return duet_error_code();
    return e->in[0] && e->in[1] && e->out[0] ? DUET_OK : duet_error_code();
}

static void hand(exercise *e) {
    duet_tensor **v = e->variables;
    hand_train_step(e->out[0]->data, v[W1]->data, v[B1]->data, v[W2]->data, v[B2]->data,
                    e->in[0]->data, e->in[1]->data);
}

const lesson lesson_train_step = {
    .name = "train_step",
    .title =
        "Test 3: a training step, Input(20) -> Dense(64, relu) -> Dense(1), MSE, SGD, batch 64",
    .shows =
        "Small matmuls and small ops mixed: the graph saves the dispatch, the gradient tape and "
        "the intermediates that it fuses into the matmuls.",
    .number = 50,
    .repeats = 3,
    .n_in = 2,
    .n_out = 1,
    .n_variables = VARIABLES,
    /* the products with w1, w1's gradient, and those with w2 and its gradient and back */
    .flops = 4.0 * TRAIN_BATCH * TRAIN_INPUTS * TRAIN_HIDDEN + 6.0 * TRAIN_BATCH * TRAIN_HIDDEN,
    .tolerance = 1e-5,
    .setup = setup,
    .body = body,
    .hand = hand,
};
