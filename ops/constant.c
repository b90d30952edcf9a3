#include "core/cost.h"
#include "ops_state.h"

extern const duet_op duet_op_constant;

duet_tensor *duet_constant(duet_tensor *value) {
    if (!value) return NULL; /* an earlier failure: its message stays as it is */
    return duet_apply(&duet_op_constant, (duet_attr[]){{.tensor = value}}, NULL, 0);
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    const duet_tensor *value = call->attrs[0].tensor;
    CHECK(value && value->data, DUET_STATUS_ARGUMENT,
          "constant: value: expected a tensor with data, got %s",
          value ? "a traced value" : "none");
    *out = value->spec;
    return DUET_OK;
}

static duet_status run(const duet_kernel *kernel) {
    memcpy(kernel->out[0].data, kernel->attrs[0].tensor->data,
           duet_spec_bytes(kernel->out[0].spec));
    return DUET_OK;
}

const duet_op duet_op_constant = {
    .name = "constant",
    .doc = "value, a tensor that the graph holds",
    .n_out = 1,
    .attrs = {{"value", DUET_ATTR_TENSOR, .required = true}},
    .infer = infer,
    .run = run,
    .cost = duet_cost_move,
};
