#include "core/call_body.h"

#include "ops_shape.h"
#include "value.h"

extern const duet_op duet_op_invoke, duet_op_broadcast_like;

duet_status duet_body_check(const duet_op_call *call, const duet_body *body, const char *what,
                            int n_in) {
    CHECK(body, DUET_STATUS_ARGUMENT, "%s: %s: expected a sub-graph", call->op->name, what);
    CHECK(body->n_in == n_in, DUET_STATUS_ARGUMENT, "%s: %s takes %d inputs, got %d",
          call->op->name, what, body->n_in, n_in);
    return DUET_OK;
}

duet_status duet_call_body_infer(duet_spec *out, const duet_op_call *call) {
    const duet_body *body = call->attrs[0].body;
    TRY(duet_body_check(call, body, "body", call->n_in));
    return body->class->infer(body, out, call->in);
}

duet_status duet_call_body_run(const duet_kernel *kernel) {
    const duet_body *body = kernel->attrs[0].body;
    return body->class->run(body, kernel->in, kernel->out);
}

/* Gradient of output i: given, or zeros where nothing depends on it. */
static duet_tensor *grad_or_zeros(const duet_grad *call, int i) {
    if (call->out_grads[i]) return call->out_grads[i];
    duet_tensor *out = call->out[i];
    return duet_apply2(&duet_op_broadcast_like, duet_full(DUET_SCALAR, duet_tensor_dtype(out), 0),
                       out);
}

duet_status duet_body_gradient_inputs(duet_tensor **in, const duet_grad *call, int skip) {
    int n_in = call->n_in - skip;
    CHECK(n_in + call->n_out < DUET_MAX_INPUTS && n_in <= DUET_MAX_OUTPUTS, DUET_STATUS_UNSUPPORTED,
          "%s: gradient: expected at most %d inputs, got %d", call->op->name, DUET_MAX_OUTPUTS,
          n_in);
    for (int i = 0; i < n_in; i++) in[i] = call->in[skip + i];
    for (int i = 0; i < call->n_out; i++)
        if (!(in[n_in + i] = grad_or_zeros(call, i))) return duet_error_code();
    return DUET_OK;
}

duet_status duet_call_body_grad(duet_tensor **in_grads, const duet_grad *call) {
    duet_tensor *in[DUET_MAX_INPUTS], *out[DUET_MAX_INPUTS];
    const duet_body *body = call->attrs[0].body;
    TRY(duet_body_gradient_inputs(in, call, 0));
    duet_body *gradient = body->class->gradient(body);
    if (!gradient) return duet_error_code();
    duet_status status = duet_dispatch(out, &duet_op_invoke, &(duet_attr){.body = gradient}, in,
                                       call->n_in + call->n_out);
    duet_body_release(gradient);
    for (int i = 0; i < call->n_in && status == DUET_OK; i++) in_grads[i] = out[i];
    return status;
}
