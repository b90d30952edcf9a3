/* What the ops that write a variable share. */
#ifndef DUET_UPDATE_H
#define DUET_UPDATE_H

#include "op.h"

/* Calls an op without outputs whose input 0 is the variable it writes; a failure's message also
 * names the variable. */
duet_status duet_apply_update(const duet_op *op, const duet_attr *attrs, duet_tensor *const *in,
                              int n_in);

/* Input `input` has the dtype and shape of input 0, the variable. */
duet_status duet_infer_update(const duet_op_call *call, int input);

#endif
