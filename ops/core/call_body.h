/* What the ops that run a sub-graph (invoke, fused) have in common. */
#ifndef DUET_CALL_BODY_H
#define DUET_CALL_BODY_H

#include "core/body.h"

/* The op's first attribute is its body; its inputs and outputs are the body's. */
duet_status duet_call_body_infer(duet_spec *out, const duet_op_call *call);
duet_status duet_call_body_run(const duet_kernel *kernel);
duet_status duet_call_body_grad(duet_tensor **in_grads, const duet_grad *call);

/* Checks that a body takes `n_in` inputs; `what` names it in the message. */
duet_status duet_body_check(const duet_op_call *call, const duet_body *body, const char *what,
                            int n_in);

/* What a gradient body is given: the call's inputs from `skip` on, then the gradients of its
 * results, zeros where nothing depends on one. */
duet_status duet_body_gradient_inputs(duet_tensor **in, const duet_grad *call, int skip);

#endif
