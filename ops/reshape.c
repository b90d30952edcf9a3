#include "core/attrs.h"
#include "core/cost.h"
#include "core/grad.h"
#include "core/infer.h"
#include "core/view.h"
#include "ops_shape.h"

#include <inttypes.h>

extern const duet_op duet_op_reshape;

duet_tensor *duet_reshape(duet_tensor *x, duet_shape shape) {
    return duet_apply(&duet_op_reshape, (duet_attr[]){duet_attr_shape(&shape)}, &x, 1);
}

/* The place of the one -1 in `shape`, or -1. */
static duet_status find_open(int64_t *open, const duet_shape *shape) {
    *open = -1;
    for (int64_t i = 0; i < shape->rank && i < DUET_MAX_RANK; i++) {
        CHECK(shape->dims[i] >= -1, DUET_STATUS_SHAPE,
              "reshape: shape: expected dimensions of 0 or more, or one -1, got %" PRId64
              " as dimension %" PRId64,
              shape->dims[i], i);
        if (shape->dims[i] != -1) continue;
        CHECK(*open < 0, DUET_STATUS_SHAPE,
              "reshape: shape: expected at most one -1, got dimensions %" PRId64 " and %" PRId64,
              *open, i);
        *open = i;
    }
    return DUET_OK;
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    const duet_shape *x = &call->in[0]->shape;
    duet_shape given = duet_ints_shape(&call->attrs[0].ints);
    int64_t open;
    TRY(find_open(&open, &given));
    *out = (duet_spec){.shape = given, .dtype = call->in[0]->dtype};
    TRY(duet_infer_fits(call, out));
    if (duet_shape_is_free(x)) return DUET_OK; /* checked when the dimensions are known */
    int64_t count = duet_shape_count(x);
    if (open >= 0) {
        out->shape.dims[open] = 1;
        int64_t others = duet_shape_count(&out->shape);
        CHECK(others > 0 && count % others == 0, DUET_STATUS_SHAPE,
              "reshape: the %" PRId64 " elements of x %s leave no number for the ? of shape %s",
              count, DUET_SPEC_TEXT(call->in[0]), DUET_SHAPE_TEXT(&given));
        out->shape.dims[open] = count / others;
    }
    CHECK(count == duet_shape_count(&out->shape), DUET_STATUS_SHAPE,
          "reshape: x %s has %" PRId64 " elements, shape %s has %" PRId64,
          DUET_SPEC_TEXT(call->in[0]), count, DUET_SHAPE_TEXT(&given),
          duet_shape_count(&out->shape));
    return DUET_OK;
}

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    return duet_grad_set(in_grads, 0, duet_reshape_like(call->out_grads[0], call->in[0]));
}

const duet_op duet_op_reshape = {
    .name = "reshape",
    .doc = "x's elements, in their order, under another shape; one dimension may be -1",
    .n_in = 1,
    .n_out = 1,
    .in_names = {"x"},
    .traits = DUET_OP_VIEW | DUET_OP_IDENTITY,
    .attrs = {{"shape", DUET_ATTR_INTS, .required = true}},
    .infer = infer,
    .run = duet_run_view,
    .grad = grad,
    .cost = duet_cost_nothing,
    .samples = {"f32[3,4]; shape=[2,6]", "f64[2,3,5]; shape=[-1,5]", "i32[0,3]; shape=[3,0]",
                "bool[1]; shape=[]", "f32[67]; shape=[1,67]"},
};
