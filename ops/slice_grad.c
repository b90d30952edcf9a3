#include "core/cost.h"
#include "core/grad.h"
#include "core/infer.h"
#include "core/part.h"
#include "ops_shape.h"

extern const duet_op duet_op_slice_grad;

duet_tensor *duet_slice_grad(duet_tensor *x, duet_tensor *like, duet_ints begin, duet_ints size) {
    return duet_apply(&duet_op_slice_grad, (duet_attr[]){{.ints = begin}, {.ints = size}},
                      (duet_tensor *[]){x, like}, 2);
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    const duet_shape *x = &call->in[0]->shape;
    duet_shape part;
    TRY(duet_infer_box(&part, call, 1));
    bool fits = part.rank == x->rank;
    for (int64_t i = 0, dim; fits && i < part.rank; i++)
        fits = duet_infer_meet(&dim, part.dims[i], x->dims[i]);
    CHECK(fits, DUET_STATUS_SHAPE,
          "slice_grad: x: expected the shape %s that begin and size name in like %s, got %s",
          DUET_SHAPE_TEXT(&part), DUET_SPEC_TEXT(call->in[1]), DUET_SPEC_TEXT(call->in[0]));
    *out = (duet_spec){.shape = call->in[1]->shape, .dtype = call->in[0]->dtype};
    return duet_infer_fits(call, out);
}

static duet_status run(const duet_kernel *kernel) {
    duet_part_place(&kernel->out[0], &kernel->in[0], kernel->attrs[0].ints.at);
    return DUET_OK;
}

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    if (!duet_grad_needs(call, 0)) return DUET_OK;
    return duet_grad_set(in_grads, 0,
                         duet_slice(call->out_grads[0], call->attrs[0].ints, call->attrs[1].ints));
}

const duet_op duet_op_slice_grad = {
    .name = "slice_grad",
    .doc = "zeros in the shape of like, with x where slice(like, begin, size) is",
    .n_in = 2,
    .n_out = 1,
    .in_names = {"x", "like"},
    .traits = DUET_OP_SHAPE_ONLY | DUET_OP_IDENTITY,
    .attrs = {{"begin", DUET_ATTR_INTS, .required = true},
              {"size", DUET_ATTR_INTS, .required = true}},
    .infer = infer,
    .run = run,
    .grad = grad,
    .cost = duet_cost_move,
    .samples = {"f32[2,3], f32[4,5]; begin=[1,2], size=[2,-1]",
                "f64[3,2,5], f64[3,2,7]; begin=[0,0,1], size=[3,2,5]",
                "i32[65], i32[67]; begin=[1], size=[65]", "bool[0], f32[3]; begin=[3], size=[0]"},
};
