/* The gradient tape as the dispatchers see it; the public side is in duet.h. */
#ifndef DUET_TAPE_H
#define DUET_TAPE_H

#include "duet.h"

/* Records one call on every tape of this thread that follows one of its inputs, and has them follow
 * its outputs. Variables are always followed. */
duet_status duet_tape_record(const duet_op *op, const duet_attr *attrs, duet_tensor *const *in,
                             int n_in, duet_tensor *const *out, int n_out);

/* Whether a tape that is recording in this thread follows one of the tensors. */
bool duet_tape_follows(duet_tensor *const *tensors, int count);

#endif
