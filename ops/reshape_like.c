#include "core/cost.h"
#include "core/grad.h"
#include "core/infer.h"
#include "core/view.h"
#include "ops_shape.h"

#include <inttypes.h>

extern const duet_op duet_op_reshape_like;

duet_tensor *duet_reshape_like(duet_tensor *x, duet_tensor *like) {
    return duet_apply2(&duet_op_reshape_like, x, like);
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    const duet_shape *x = &call->in[0]->shape, *like = &call->in[1]->shape;
    bool known = !duet_shape_is_free(x) && !duet_shape_is_free(like);
    CHECK(!known || duet_shape_count(x) == duet_shape_count(like), DUET_STATUS_SHAPE,
          "reshape_like: x %s has %" PRId64 " elements, like %s has %" PRId64,
          DUET_SPEC_TEXT(call->in[0]), duet_shape_count(x), DUET_SPEC_TEXT(call->in[1]),
          duet_shape_count(like));
    *out = (duet_spec){.shape = *like, .dtype = call->in[0]->dtype};
    return DUET_OK;
}

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    if (!duet_grad_needs(call, 0)) return DUET_OK;
    return duet_grad_set(in_grads, 0, duet_reshape_like(call->out_grads[0], call->in[0]));
}

const duet_op duet_op_reshape_like = {
    .name = "reshape_like",
    .doc = "x's elements, in their order, under the shape of like",
    .n_in = 2,
    .n_out = 1,
    .in_names = {"x", "like"},
    .traits = DUET_OP_VIEW | DUET_OP_SHAPE_ONLY | DUET_OP_IDENTITY,
    .infer = infer,
    .run = duet_run_view,
    .grad = grad,
    .cost = duet_cost_nothing,
    .samples = {"f32[3,4], f32[2,6]", "f64[4,1,2], i32[8]", "i32[0,3], f32[0]", "bool[], f32[1,1]"},
};
