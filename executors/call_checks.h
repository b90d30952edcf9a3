/* What both executors check of a call before they infer it. */
#ifndef DUET_CALL_CHECKS_H
#define DUET_CALL_CHECKS_H

#include "duet.h"

duet_status duet_call_check_arity(const duet_op *op, int n_in);

/* Operand `index` is NULL: keeps the message of the failure that made it so, where there is one. */
duet_status duet_call_null_error(const duet_op *op, int index);

/* For calls with variables or symbolic operands, and for ops that write. Checks that what is
 * written is a variable and (eagerly) that nothing is symbolic; replaces, in place, variables whose
 * value is wanted by that value; before an eager write gives the variable data of its own. */
duet_status duet_call_resolve(duet_tensor **in, const duet_op *op, int n_in);

#endif
