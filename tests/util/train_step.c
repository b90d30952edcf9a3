#include "train_step.h"

enum { BATCH = 64, INPUTS = 20, HIDDEN = 64 };

/* Multiples of 2^-15 in [-1, 1), times `scale`. */
static duet_tensor *numbers(duet_shape shape, uint32_t state, float scale) {
    duet_tensor *t = duet_zeros(shape, DUET_F32);
    for (int64_t i = 0; t && i < duet_tensor_count(t); i++) {
        state = state * 1664525u + 1013904223u;
        ((float *)t->data)[i] = ((float)(state >> 16) / 32768.0f - 1.0f) * scale;
    }
    return t;
}

void train_network_make(train_network *network) {
    duet_scope_open();
    network->variables[TRAIN_W1] =
        duet_variable_new("w1", numbers(DUET_SHAPE(INPUTS, HIDDEN), 3, 0.25f));
    network->variables[TRAIN_B1] =
        duet_variable_new("b1", duet_zeros(DUET_SHAPE(HIDDEN), DUET_F32));
    network->variables[TRAIN_W2] =
        duet_variable_new("w2", numbers(DUET_SHAPE(HIDDEN, 1), 4, 0.25f));
    network->variables[TRAIN_B2] = duet_variable_new("b2", duet_zeros(DUET_SHAPE(1), DUET_F32));
    network->rate = 0.01f;
    duet_scope_close(NULL);
}

void train_network_release(train_network *network) {
    for (int i = 0; i < TRAIN_VARIABLES; i++) duet_release(network->variables[i]);
}

void train_batch(duet_tensor **in) {
    in[0] = numbers(DUET_SHAPE(BATCH, INPUTS), 1, 1);
    in[1] = numbers(DUET_SHAPE(BATCH, 1), 2, 1);
}

duet_status train_gradients(duet_tensor **out, duet_tensor *const *in, void *user) {
    duet_tensor **v = ((train_network *)user)->variables;
    duet_tape *tape = duet_tape_new(false);
    duet_tensor *hidden = duet_dense(in[0], v[TRAIN_W1], v[TRAIN_B1], "relu");
    duet_tensor *y = duet_dense(hidden, v[TRAIN_W2], v[TRAIN_B2], NULL);
    out[0] = duet_mse(y, in[1]);
    duet_status status = duet_gradient(out + 1, tape, out[0], v, TRAIN_VARIABLES);
    duet_tape_free(tape);
    return status;
}

duet_status train_step(duet_tensor **loss, duet_tensor *const *in, void *user) {
    train_network *network = user;
    duet_tensor *out[1 + TRAIN_VARIABLES];
    TRY(train_gradients(out, in, network));
    for (int i = 0; i < TRAIN_VARIABLES; i++)
        TRY(duet_sgd(network->variables[i], out[1 + i], duet_f32(network->rate)));
    *loss = out[0];
    return DUET_OK;
}
