#include "core/cost.h"
#include "core/grad.h"
#include "core/infer.h"
#include "kernels/strided.h"
#include "ops_shape.h"

extern const duet_op duet_op_transpose;

duet_tensor *duet_transpose(duet_tensor *x, duet_ints perm) {
    return duet_apply(&duet_op_transpose, (duet_attr[]){{.ints = perm}}, &x, 1);
}

/* The axis of x that becomes the result's axis i. */
static int64_t source(const duet_ints *perm, int64_t rank, int64_t i) {
    if (perm->count == 0) return rank - 1 - i;
    return perm->at[i] < 0 ? perm->at[i] + rank : perm->at[i];
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    const duet_shape *x = &call->in[0]->shape;
    const duet_ints *perm = &call->attrs[0].ints;
    unsigned axes;
    TRY(duet_infer_axes(&axes, call, 0, perm)); /* in range, none twice */
    CHECK(perm->count == 0 || perm->count == x->rank, DUET_STATUS_ARGUMENT,
          "transpose: perm: expected all %d axes of x %s, got %d", (int)x->rank,
          DUET_SPEC_TEXT(call->in[0]), (int)perm->count);
    *out = *call->in[0];
    for (int64_t i = 0; i < x->rank; i++) out->shape.dims[i] = x->dims[source(perm, x->rank, i)];
    return DUET_OK;
}

static duet_status run(const duet_kernel *kernel) {
    const duet_spec *x = kernel->in[0].spec, *out = kernel->out[0].spec;
    int64_t steps[DUET_MAX_RANK];
    duet_strided_dense(steps, &x->shape);
    duet_strided box = {.rank = x->shape.rank};
    duet_strided_dense(box.to, &out->shape);
    for (int64_t i = 0; i < box.rank; i++) {
        box.dims[i] = out->shape.dims[i];
        box.from[i] = steps[source(&kernel->attrs[0].ints, box.rank, i)];
    }
    duet_strided_copy(kernel->out[0].data, kernel->in[0].data,
                      duet_dtype_size((duet_dtype)x->dtype), &box);
    return DUET_OK;
}

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    const duet_ints *perm = &call->attrs[0].ints;
    duet_ints inverse = {.count = perm->count};
    for (int64_t i = 0; i < perm->count; i++) inverse.at[source(perm, perm->count, i)] = i;
    return duet_grad_set(in_grads, 0, duet_transpose(call->out_grads[0], inverse));
}

const duet_op duet_op_transpose = {
    .name = "transpose",
    .doc = "x with its axes in the order perm; no perm reverses them",
    .n_in = 1,
    .n_out = 1,
    .in_names = {"x"},
    .attrs = {{.name = "perm", .kind = DUET_ATTR_INTS}},
    .infer = infer,
    .run = run,
    .grad = grad,
    .cost = duet_cost_move,
    .samples = {"f32[3,4]", "f64[2,3,5]; perm=[1,2,0]", "i32[17,33]", "bool[2,1,3]; perm=[-1,0,1]",
                "f32[0,3]", "f32[16,32]", "f64[]", "f32[2,19,3,5]; perm=[0,3,2,1]"},
};
