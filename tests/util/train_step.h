/* A training step, Input(20) -> Dense(64, relu) -> Dense(1), mean squared error, SGD, on the
 * numbers of tests/reference/train_step.py. */
#ifndef TEST_TRAIN_STEP_H
#define TEST_TRAIN_STEP_H

#include "duet.h"

enum { TRAIN_W1, TRAIN_B1, TRAIN_W2, TRAIN_B2, TRAIN_VARIABLES };

typedef struct train_network {
    duet_tensor *variables[TRAIN_VARIABLES]; /* held */
    float rate;
} train_network;

void train_network_make(train_network *network);
void train_network_release(train_network *network);

/* The inputs and the targets of a batch of 64, in the innermost scope. */
void train_batch(duet_tensor **in);

/* A duet_callback of two inputs and one result, the loss. `user`: the network. */
duet_status train_step(duet_tensor **loss, duet_tensor *const *in, void *network);

/* The same without the update; results: the loss, then its gradient by each variable. */
duet_status train_gradients(duet_tensor **out, duet_tensor *const *in, void *network);

#endif
