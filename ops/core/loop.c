#include "core/loop.h"

#include "core/call_body.h"

duet_status duet_loop_infer(const duet_op_call *call, const duet_spec *const *state, int n_state) {
    const duet_body *body = call->attrs[DUET_LOOP_BODY].body;
    const duet_body *cond = call->attrs[DUET_LOOP_COND].body;
    duet_spec next[DUET_MAX_OUTPUTS], goes_on[DUET_MAX_OUTPUTS];
    TRY(duet_body_check(call, body, "body", n_state));
    TRY(duet_body_check(call, cond, "cond", n_state));
    CHECK(body->n_out == n_state && cond->n_out == 1, DUET_STATUS_ARGUMENT,
          "%s: expected %d results of body and 1 of cond, got %d and %d", call->op->name, n_state,
          body->n_out, cond->n_out);
    TRY(body->class->infer(body, next, state));
    TRY(cond->class->infer(cond, goes_on, state));
    CHECK(goes_on[0].dtype == DUET_BOOL && goes_on[0].shape.rank == 0, DUET_STATUS_SHAPE,
          "%s: cond: expected bool[], got %s", call->op->name, DUET_SPEC_TEXT(&goes_on[0]));
    for (int i = 0; i < n_state; i++)
        CHECK(duet_spec_equal(&next[i], state[i]), DUET_STATUS_SHAPE,
              "%s: state %d enters the body as %s and leaves it as %s", call->op->name, i,
              DUET_SPEC_TEXT(state[i]), DUET_SPEC_TEXT(&next[i]));
    return DUET_OK;
}

duet_status duet_loop_goes_on(bool *goes_on, const duet_body *cond, const duet_view *state) {
    uint8_t value = 0;
    duet_spec spec = {.dtype = DUET_BOOL};
    TRY(cond->class->run(cond, state, &(duet_view){&value, &spec}));
    *goes_on = value != 0;
    return DUET_OK;
}

static size_t rounded(size_t bytes) {
    return (bytes + DUET_ALIGNMENT - 1) / DUET_ALIGNMENT * DUET_ALIGNMENT;
}

duet_loop_state *duet_loop_state_new(const duet_view *like, int n) {
    size_t head = rounded(sizeof(duet_loop_state)), bytes = head;
    for (int i = 0; i < n; i++) bytes += rounded(duet_spec_bytes(like[i].spec));
    bytes += rounded((size_t)n * sizeof(duet_view));
    char *block = duet_memory_alloc(bytes);
    if (!block) return NULL;
    duet_loop_state *state = (duet_loop_state *)block;
    *state = (duet_loop_state){.bytes = bytes};
    state->views = (duet_view *)(block + bytes - rounded((size_t)n * sizeof(duet_view)));
    char *at = block + head;
    for (int i = 0; i < n; i++) {
        state->views[i] = (duet_view){at, like[i].spec};
        at += rounded(duet_spec_bytes(like[i].spec));
    }
    return state;
}

void duet_loop_state_free(duet_loop_state *state) {
    if (state) duet_memory_free(state, state->bytes);
}

void duet_loop_copy(const duet_view *to, const duet_view *from, int n) {
    for (int i = 0; i < n; i++) memcpy(to[i].data, from[i].data, duet_spec_bytes(to[i].spec));
}
