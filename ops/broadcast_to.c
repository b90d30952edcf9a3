#include "core/attrs.h"
#include "core/cost.h"
#include "core/grad.h"
#include "core/infer.h"
#include "kernels/strided.h"
#include "ops_shape.h"

#include <inttypes.h>

extern const duet_op duet_op_broadcast_to;

duet_tensor *duet_broadcast_to(duet_tensor *x, duet_shape shape) {
    return duet_apply(&duet_op_broadcast_to, (duet_attr[]){duet_attr_shape(&shape)}, &x, 1);
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    const duet_spec *x = call->in[0];
    duet_spec target = {.shape = duet_ints_shape(&call->attrs[0].ints), .dtype = x->dtype};
    duet_shape *shape = &target.shape, both;
    int64_t added = shape->rank - x->shape.rank; /* axes in front that x does not have */
    for (int64_t i = 0; i < shape->rank && i < DUET_MAX_RANK; i++) {
        CHECK(shape->dims[i] >= (i < added ? 0 : -1), DUET_STATUS_SHAPE,
              "broadcast_to: shape: expected dimensions of 0 or more, or -1 for one of x %s, got "
              "%" PRId64 " as dimension %" PRId64,
              DUET_SPEC_TEXT(x), shape->dims[i], i);
        if (shape->dims[i] == -1) shape->dims[i] = x->shape.dims[i - added];
    }
    TRY(duet_infer_fits(call, &target));
    CHECK(added >= 0 && duet_shape_broadcast(&both, &x->shape, shape) &&
              duet_shape_equal(&both, shape),
          DUET_STATUS_SHAPE, "broadcast_to: x %s does not broadcast to shape %s", DUET_SPEC_TEXT(x),
          DUET_SHAPE_TEXT(shape));
    *out = target;
    return DUET_OK;
}

static duet_status run(const duet_kernel *kernel) {
    const duet_shape *x = &kernel->in[0].spec->shape, *out = &kernel->out[0].spec->shape;
    int64_t steps[DUET_MAX_RANK], added = out->rank - x->rank;
    duet_strided_dense(steps, x);
    duet_strided box = {.rank = out->rank};
    duet_strided_dense(box.to, out);
    for (int64_t i = 0; i < out->rank; i++) {
        bool repeats = i < added || x->dims[i - added] == 1;
        box.dims[i] = out->dims[i];
        box.from[i] = repeats ? 0 : steps[i - added];
    }
    duet_strided_copy(kernel->out[0].data, kernel->in[0].data,
                      duet_dtype_size((duet_dtype)kernel->in[0].spec->dtype), &box);
    return DUET_OK;
}

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    return duet_grad_set_broadcast(in_grads, call, 0, call->out_grads[0]);
}

const duet_op duet_op_broadcast_to = {
    .name = "broadcast_to",
    .doc = "x repeated to shape by NumPy's rule; -1 keeps x's own dimension",
    .n_in = 1,
    .n_out = 1,
    .in_names = {"x"},
    .traits = DUET_OP_IDENTITY,
    .attrs = {{"shape", DUET_ATTR_INTS, .required = true}},
    .infer = infer,
    .run = run,
    .grad = grad,
    .cost = duet_cost_move,
    .samples = {"f32[3,1]; shape=[2,3,4]", "f64[]; shape=[5]", "i32[4]; shape=[3,-1]",
                "bool[1,2]; shape=[3,2]", "f32[1,0]; shape=[4,0]", "f32[67]; shape=[67]"},
};
