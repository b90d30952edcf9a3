#include "core/call_body.h"
#include "core/loop.h"

/* Inputs: the n values of the first state, then the n gradients of the last one. */
static duet_status infer(duet_spec *out, const duet_op_call *call) {
    int n = call->n_in / 2;
    const duet_body *gradient = call->attrs[DUET_LOOP_GRADIENT].body;
    duet_spec grads[DUET_MAX_OUTPUTS];
    CHECK(call->n_in == 2 * n, DUET_STATUS_ARGUMENT,
          "while_grad: expected a gradient for each state, got %d inputs", call->n_in);
    TRY(duet_loop_infer(call, call->in, n));
    TRY(duet_body_check(call, gradient, "gradient", 2 * n));
    CHECK(gradient->n_out == n, DUET_STATUS_ARGUMENT,
          "while_grad: expected %d result%s of gradient, got %d", n, n == 1 ? "" : "s",
          gradient->n_out);
    TRY(gradient->class->infer(gradient, grads, call->in));
    for (int i = 0; i < n; i++) {
        /* What comes in is copied to what goes out, and the body writes there round after round. */
        const duet_spec *state = call->in[i], *last = call->in[n + i];
        const duet_spec *other = duet_spec_equal(last, state) ? &grads[i] : last;
        CHECK(duet_spec_equal(other, state), DUET_STATUS_SHAPE,
              "while_grad: state %d is %s, its gradient %s", i, DUET_SPEC_TEXT(state),
              DUET_SPEC_TEXT(other));
        out[i] = *state;
    }
    return DUET_OK;
}

/* Runs the loop again and keeps every state that entered the body: *last is the latest. */
static duet_status record(duet_loop_state **last, const duet_kernel *kernel, int n) {
    const duet_body *body = kernel->attrs[DUET_LOOP_BODY].body;
    const duet_body *cond = kernel->attrs[DUET_LOOP_COND].body;
    const duet_view *now = kernel->in;
    for (;;) {
        bool goes_on;
        TRY(duet_loop_goes_on(&goes_on, cond, now));
        if (!goes_on) return DUET_OK;
        duet_loop_state *entered = duet_loop_state_new(kernel->out, n);
        duet_loop_state *next = duet_loop_state_new(kernel->out, n);
        if (!entered || !next) {
            duet_loop_state_free(entered);
            duet_loop_state_free(next);
            return DUET_STATUS_MEMORY;
        }
        duet_loop_copy(entered->views, now, n);
        entered->before = *last;
        *last = entered;
        duet_status status = body->class->run(body, entered->views, next->views);
        if (status == DUET_OK) duet_loop_copy(kernel->out, next->views, n);
        duet_loop_state_free(next);
        TRY(status);
        now = kernel->out; /* serves as the current state while the loop runs forward */
    }
}

static duet_status pull_back(const duet_kernel *kernel, const duet_loop_state *last, int n) {
    const duet_body *gradient = kernel->attrs[DUET_LOOP_GRADIENT].body;
    duet_view in[DUET_MAX_INPUTS];
    duet_loop_state *grads = duet_loop_state_new(kernel->out, n);
    if (!grads) return DUET_STATUS_MEMORY;
    duet_status status = DUET_OK;
    duet_loop_copy(kernel->out, kernel->in + n, n);
    for (const duet_loop_state *s = last; s && status == DUET_OK; s = s->before) {
        duet_loop_copy(grads->views, kernel->out, n);
        for (int i = 0; i < n; i++) in[i] = s->views[i], in[n + i] = grads->views[i];
        status = gradient->class->run(gradient, in, kernel->out);
    }
    duet_loop_state_free(grads);
    return status;
}

static duet_status run(const duet_kernel *kernel) {
    int n = kernel->n_in / 2;
    duet_loop_state *last = NULL;
    duet_status status = record(&last, kernel, n);
    if (status == DUET_OK) status = pull_back(kernel, last, n);
    while (last) {
        duet_loop_state *before = last->before;
        duet_loop_state_free(last);
        last = before;
    }
    return status;
}

const duet_op duet_op_while_grad = {
    .name = "while_grad",
    .doc = "the gradient of while: runs it again, keeping every state, then back through them",
    .n_in = 2,
    .n_in_max = 2 * DUET_MAX_OUTPUTS,
    .n_out = -1,
    .in_names = {"state"},
    .attrs = {[DUET_LOOP_BODY] = {"body", DUET_ATTR_BODY, .required = true},
              [DUET_LOOP_COND] = {"cond", DUET_ATTR_BODY, .required = true},
              [DUET_LOOP_GRADIENT] = {"gradient", DUET_ATTR_BODY, .required = true}},
    .infer = infer,
    .run = run,
};
