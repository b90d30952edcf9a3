#include "core/cost.h"
#include "core/grad.h"
#include "core/infer.h"
#include "core/part.h"
#include "ops_shape.h"

extern const duet_op duet_op_pad_like;

duet_tensor *duet_pad_like(duet_tensor *x, duet_tensor *like, duet_tensor *const *before, int count,
                           int64_t axis, bool from_end) {
    duet_tensor *in[DUET_MAX_INPUTS] = {x, like};
    if (count < 0 || count > DUET_MAX_INPUTS - 2) {
        duet_fail(DUET_STATUS_ARGUMENT, "pad_like: expected at most %d tensors before, got %d",
                  DUET_MAX_INPUTS - 2, count);
        return NULL;
    }
    for (int i = 0; i < count; i++) in[2 + i] = before[i];
    return duet_apply(&duet_op_pad_like, (duet_attr[]){{.i = axis}, {.b = from_end}}, in,
                      2 + count);
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    TRY(duet_infer_part(call, 1, 0));
    *out = (duet_spec){.shape = call->in[1]->shape, .dtype = call->in[0]->dtype};
    return duet_infer_fits(call, out);
}

static duet_status run(const duet_kernel *kernel) {
    int64_t begin[DUET_MAX_RANK];
    duet_part_begin(begin, kernel, &kernel->out[0].spec->shape, &kernel->in[0].spec->shape);
    duet_part_place(&kernel->out[0], &kernel->in[0], begin);
    return DUET_OK;
}

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    if (!duet_grad_needs(call, 0)) return DUET_OK;
    return duet_grad_set(in_grads, 0,
                         duet_slice_like(call->out_grads[0], call->in[0], call->in + 2,
                                         call->n_in - 2, call->attrs[0].i, call->attrs[1].b));
}

const duet_op duet_op_pad_like = {
    .name = "pad_like",
    .doc = "zeros in the shape of like, with x along axis behind the others' lengths",
    .n_in = 2,
    .n_in_max = DUET_MAX_INPUTS,
    .n_out = 1,
    .in_names = {"x", "like", "before"},
    .traits = DUET_OP_SHAPE_ONLY | DUET_OP_IDENTITY,
    .attrs = {{.name = "axis", .kind = DUET_ATTR_INT},
              {.name = "from_end", .kind = DUET_ATTR_BOOL}},
    .infer = infer,
    .run = run,
    .grad = grad,
    .cost = duet_cost_move,
    .samples = {"f32[3,2], f32[9,2], f32[4,2]; axis=0", "f64[2,1], f64[2,67]; axis=1",
                "i32[3,2], i32[9,2], i32[4,2]; axis=-2, from_end=true",
                "bool[0], bool[4], bool[4]; axis=0"},
};
