#include "core/call_body.h"
#include "core/loop.h"

extern const duet_op duet_op_while, duet_op_while_grad;

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    TRY(duet_loop_infer(call, call->in, call->n_in));
    for (int i = 0; i < call->n_in; i++) out[i] = *call->in[i];
    return DUET_OK;
}

/* The state goes to and fro between the results' memory and one buffer. */
static duet_status loop(const duet_kernel *kernel, const duet_view *spare) {
    const duet_body *body = kernel->attrs[DUET_LOOP_BODY].body;
    const duet_body *cond = kernel->attrs[DUET_LOOP_COND].body;
    const duet_view *now = kernel->out, *next = spare;
    duet_loop_copy(now, kernel->in, kernel->n_in);
    for (;;) {
        bool goes_on;
        TRY(duet_loop_goes_on(&goes_on, cond, now));
        if (!goes_on) break;
        TRY(body->class->run(body, now, next));
        const duet_view *swap = now;
        now = next;
        next = swap;
    }
    if (now == spare) duet_loop_copy(kernel->out, spare, kernel->n_in);
    return DUET_OK;
}

static duet_status run(const duet_kernel *kernel) {
    duet_loop_state *spare = duet_loop_state_new(kernel->out, kernel->n_out);
    if (!spare) return DUET_STATUS_MEMORY;
    duet_status status = loop(kernel, spare->views);
    duet_loop_state_free(spare);
    return status;
}

/* while_grad: (state.., gradients of the final state..) -> gradients of the first state. */
static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    duet_tensor *in[DUET_MAX_INPUTS], *out[DUET_MAX_OUTPUTS];
    const duet_body *body = call->attrs[DUET_LOOP_BODY].body;
    TRY(duet_body_gradient_inputs(in, call, 0));
    duet_body *gradient = body->class->gradient(body);
    if (!gradient) return duet_error_code();
    duet_attr attrs[DUET_MAX_ATTRS] = {
        call->attrs[DUET_LOOP_BODY], call->attrs[DUET_LOOP_COND], {.body = gradient}};
    duet_status status =
        duet_dispatch(out, &duet_op_while_grad, attrs, in, call->n_in + call->n_out);
    duet_body_release(gradient);
    for (int i = 0; i < call->n_in && status == DUET_OK; i++) in_grads[i] = out[i];
    return status;
}

const duet_op duet_op_while = {
    .name = "while",
    .doc = "while cond(state..) state.. = body(state..)",
    .n_in = 1,
    .n_in_max = DUET_MAX_OUTPUTS,
    .n_out = -1,
    .in_names = {"state"},
    .attrs = {[DUET_LOOP_BODY] = {"body", DUET_ATTR_BODY, .required = true},
              [DUET_LOOP_COND] = {"cond", DUET_ATTR_BODY, .required = true}},
    .infer = infer,
    .run = run,
    .grad = grad,
};
