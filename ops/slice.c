#include "core/cost.h"
#include "core/grad.h"
#include "core/part.h"
#include "ops_shape.h"

extern const duet_op duet_op_slice;

duet_tensor *duet_slice(duet_tensor *x, duet_ints begin, duet_ints size) {
    return duet_apply(&duet_op_slice, (duet_attr[]){{.ints = begin}, {.ints = size}}, &x, 1);
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    out->dtype = call->in[0]->dtype;
    return duet_infer_box(&out->shape, call, 0);
}

static duet_status run(const duet_kernel *kernel) {
    duet_part_take(&kernel->out[0], &kernel->in[0], kernel->attrs[0].ints.at);
    return DUET_OK;
}

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    return duet_grad_set(
        in_grads, 0,
        duet_slice_grad(call->out_grads[0], call->in[0], call->attrs[0].ints, call->attrs[1].ints));
}

const duet_op duet_op_slice = {
    .name = "slice",
    .doc = "the box of x that begins at begin and is size long; size -1 is all that is left",
    .n_in = 1,
    .n_out = 1,
    .in_names = {"x"},
    .traits = DUET_OP_IDENTITY,
    .attrs = {{"begin", DUET_ATTR_INTS, .required = true},
              {"size", DUET_ATTR_INTS, .required = true}},
    .infer = infer,
    .run = run,
    .grad = grad,
    .cost = duet_cost_move,
    .samples = {"f32[4,5]; begin=[1,2], size=[2,-1]", "f64[3,2,7]; begin=[0,0,1], size=[3,2,5]",
                "i32[67]; begin=[1], size=[65]", "bool[3]; begin=[3], size=[0]",
                "f32[]; begin=[], size=[]"},
};
