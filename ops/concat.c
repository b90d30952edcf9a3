#include "core/cost.h"
#include "core/grad.h"
#include "core/infer.h"
#include "kernels/strided.h"
#include "ops_shape.h"

#include <inttypes.h>

extern const duet_op duet_op_concat;

duet_tensor *duet_concat(duet_tensor *const *inputs, int count, int64_t axis) {
    return duet_apply(&duet_op_concat, (duet_attr[]){{.i = axis}}, inputs, count);
}

/* Lengthens out along `axis` by input i, and lets the other dimensions meet. */
static duet_status join(duet_spec *out, const duet_op_call *call, int i, int64_t axis) {
    const duet_shape *next = &call->in[i]->shape;
    bool fits = next->rank == out->shape.rank;
    for (int64_t d = 0; fits && d < next->rank; d++)
        if (d != axis)
            fits = duet_infer_meet(&out->shape.dims[d], out->shape.dims[d], next->dims[d]);
    CHECK(fits, DUET_STATUS_SHAPE,
          "concat: expected equal dimensions but for axis %" PRId64 ": x0 is %s, x%d is %s", axis,
          DUET_SPEC_TEXT(call->in[0]), i, DUET_SPEC_TEXT(call->in[i]));
    int64_t *length = &out->shape.dims[axis];
    if (*length == DUET_FREE_DIM || next->dims[axis] == DUET_FREE_DIM)
        *length = DUET_FREE_DIM;
    else
        CHECK(!__builtin_add_overflow(*length, next->dims[axis], length), DUET_STATUS_OVERFLOW,
              "concat: axis %" PRId64 " grows past 63 bits with x%d %s", axis, i,
              DUET_SPEC_TEXT(call->in[i]));
    return DUET_OK;
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    int64_t axis;
    TRY(duet_infer_axis(&axis, call, 0, call->attrs[0].i));
    *out = *call->in[0];
    for (int i = 1; i < call->n_in; i++) {
        CHECK(call->in[i]->dtype == out->dtype, DUET_STATUS_DTYPE,
              "concat: dtypes differ: x0 is %s, x%d is %s (use cast)", DUET_SPEC_TEXT(call->in[0]),
              i, DUET_SPEC_TEXT(call->in[i]));
        TRY(join(out, call, i, axis));
    }
    return duet_infer_fits(call, out);
}

static duet_status run(const duet_kernel *kernel) {
    const duet_view *out = &kernel->out[0];
    const duet_shape *shape = &out->spec->shape;
    int64_t axis = kernel->attrs[0].i, begin[DUET_MAX_RANK] = {0};
    if (axis < 0) axis += shape->rank;
    for (int i = 0; i < kernel->n_in; i++) {
        const duet_shape *part = &kernel->in[i].spec->shape;
        duet_strided_copy_box(out->data, shape, begin, kernel->in[i].data, part, NULL, part,
                              duet_dtype_size((duet_dtype)out->spec->dtype));
        begin[axis] += part->dims[axis];
    }
    return DUET_OK;
}

/* Input i's gradient lies behind inputs 0 .. i-1, or before i+1 .. n-1: the shorter list is used,
 * which also keeps the call within DUET_MAX_INPUTS. */
static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    duet_tensor *g = call->out_grads[0];
    for (int i = 0; i < call->n_in; i++) {
        if (!duet_grad_needs(call, i)) continue;
        int after = call->n_in - 1 - i;
        bool from_end = after < i;
        TRY(duet_grad_set(in_grads, i,
                          duet_slice_like(g, call->in[i], call->in + (from_end ? i + 1 : 0),
                                          from_end ? after : i, call->attrs[0].i, from_end)));
    }
    return DUET_OK;
}

const duet_op duet_op_concat = {
    .name = "concat",
    .doc = "the inputs one behind the other along axis",
    .n_in = 1,
    .n_in_max = DUET_MAX_INPUTS,
    .n_out = 1,
    .in_names = {"x"},
    .traits = DUET_OP_IDENTITY, /* the others are empty then */
    .attrs = {{.name = "axis", .kind = DUET_ATTR_INT}},
    .infer = infer,
    .run = run,
    .grad = grad,
    .cost = duet_cost_move,
    .samples = {"f32[2,3], f32[4,3]; axis=0", "f64[2,3], f64[2,1], f64[2,17]; axis=-1",
                "i32[3]; axis=0", "bool[2,0], bool[2,2]; axis=1", "f32[1,4,3], f32[1,5,3]; axis=1",
                "f32[2], f32[1], f32[3], f32[2], f32[5]; axis=0"},
};
