/* What both executors check of a call before they infer it. */
#ifndef DUET_CALL_CHECKS_H
#define DUET_CALL_CHECKS_H

#include "duet.h"

duet_status duet_call_check_arity(const duet_op *op, int n_in);

/* Operand `index` is NULL: keeps the message of the failure that made it so, where there is one. */
duet_status duet_call_null_error(const duet_op *op, int index);

/* For calls with variables or symbolic operands, and for ops that write: what is written is a
 * variable, and another one in each place; nothing is symbolic unless a trace records it. */
duet_status duet_call_check_variables(const duet_op *op, duet_tensor *const *in, int n_in);

/* Whether the op wants the variable's value at operand `index`, and not the variable itself. */
static inline bool duet_call_reads(const duet_op *op, duet_tensor *const *in, int index) {
    return (in[index]->flags & DUET_TENSOR_VARIABLE) && !(op->writes >> index & 1) &&
           !(op->traits & DUET_OP_BY_REFERENCE);
}

#endif
