#include "core/call_body.h"
#include "core/infer.h"

#include <stdio.h>

extern const duet_op duet_op_cond;

enum { THEN, ELSE }; /* attributes */

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    const duet_body *then = call->attrs[THEN].body, *other = call->attrs[ELSE].body;
    CHECK(call->in[0]->dtype == DUET_BOOL && call->in[0]->shape.rank == 0, DUET_STATUS_SHAPE,
          "cond: pred: expected bool[], got %s", DUET_SPEC_TEXT(call->in[0]));
    TRY(duet_body_check(call, then, "then", call->n_in - 1));
    TRY(duet_body_check(call, other, "else", call->n_in - 1));
    CHECK(then->n_out == other->n_out, DUET_STATUS_ARGUMENT, "cond: then gives %d results, else %d",
          then->n_out, other->n_out);
    duet_spec from_else[DUET_MAX_OUTPUTS];
    TRY(then->class->infer(then, out, call->in + 1));
    TRY(other->class->infer(other, from_else, call->in + 1));
    for (int i = 0; i < then->n_out; i++)
        CHECK(duet_spec_equal(&out[i], &from_else[i]), DUET_STATUS_SHAPE,
              "cond: result %d is %s from then, %s from else", i, DUET_SPEC_TEXT(&out[i]),
              DUET_SPEC_TEXT(&from_else[i]));
    return DUET_OK;
}

static duet_status run(const duet_kernel *kernel) {
    bool pred = *(const uint8_t *)kernel->in[0].data;
    const duet_body *body = kernel->attrs[pred ? THEN : ELSE].body;
    return body->class->run(body, kernel->in + 1, kernel->out);
}

/* A cond of the branches' gradients: (pred, inputs.., output gradients..) -> input gradients. */
static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    duet_attr attrs[DUET_MAX_ATTRS] = {{.b = false}};
    duet_tensor *in[DUET_MAX_INPUTS], *out[DUET_MAX_INPUTS];
    TRY(duet_body_gradient_inputs(in + 1, call, 1));
    in[0] = call->in[0];
    for (int i = THEN; i <= ELSE; i++) {
        const duet_body *body = call->attrs[i].body;
        attrs[i].body = body->class->gradient(body);
    }
    duet_status status =
        attrs[THEN].body && attrs[ELSE].body
            ? duet_dispatch(out, &duet_op_cond, attrs, in, call->n_in + call->n_out)
            : duet_error_code();
    duet_body_release(attrs[THEN].body);
    duet_body_release(attrs[ELSE].body);
    for (int i = 1; i < call->n_in && status == DUET_OK; i++) in_grads[i] = out[i - 1];
    return status;
}

const duet_op duet_op_cond = {
    .name = "cond",
    .doc = "pred ? then(x..) : else(x..): runs one of two sub-graphs",
    .n_in = 1,
    .n_in_max = DUET_MAX_INPUTS,
    .n_out = -1,
    .in_names = {"pred", "x"},
    .attrs = {[THEN] = {"then", DUET_ATTR_BODY, .required = true},
              [ELSE] = {"else", DUET_ATTR_BODY, .required = true}},
    .infer = infer,
    .run = run,
    .grad = grad,
};
