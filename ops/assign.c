#include "core/update.h"
#include "core/cost.h"
#include "ops_state.h"

extern const duet_op duet_op_assign;

duet_status duet_assign(duet_tensor *variable, duet_tensor *x) {
    return duet_apply_update(&duet_op_assign, NULL, (duet_tensor *[]){variable, x}, 2);
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    (void)out;
    return duet_infer_update(call, 1);
}

static duet_status run(const duet_kernel *kernel) {
    memmove(kernel->in[0].data, kernel->in[1].data, duet_spec_bytes(kernel->in[1].spec));
    return DUET_OK;
}

static duet_cost cost(const duet_op_call *call, const duet_spec *out) {
    (void)out;
    return (duet_cost){0, 2 * duet_cost_bytes(call->in[0])};
}

const duet_op duet_op_assign = {
    .name = "assign",
    .doc = "variable = x",
    .n_in = 2,
    .in_names = {"variable", "x"},
    .traits = DUET_OP_STATEFUL,
    .writes = 1 << 0,
    .infer = infer,
    .run = run,
    .cost = cost,
    .samples = {"var f32[3,4], f32[3,4]", "var f64[], f64[]", "var i32[0], i32[0]",
                "var bool[67], bool[67]"},
};
