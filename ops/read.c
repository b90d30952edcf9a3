#include "core/cost.h"
#include "core/view.h"
#include "ops_state.h"

extern const duet_op duet_op_read;

duet_tensor *duet_read(duet_tensor *variable) { return duet_apply1(&duet_op_read, variable); }

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    *out = *call->in[0];
    return DUET_OK;
}

const duet_op duet_op_read = {
    .name = "read",
    .doc = "the variable's value as of now",
    .n_in = 1,
    .n_out = 1,
    .in_names = {"variable"},
    .traits = DUET_OP_BY_REFERENCE | DUET_OP_VIEW,
    .infer = infer,
    .run = duet_run_view,
    .grad = duet_grad_identity,
    .cost = duet_cost_move,
    .samples = {"var f32[3,4]", "var f64[]", "var i32[0,2]", "var bool[67]"},
};
