#include "core/cost.h"
#include "core/grad.h"
#include "core/infer.h"
#include "kernels/vmath.h"
#include "ops_elementwise.h"
#include "ops_nn.h"
#include "pool.h"

extern const duet_op duet_op_softmax;

duet_tensor *duet_softmax(duet_tensor *x, int64_t axis) {
    return duet_apply(&duet_op_softmax, (duet_attr[]){{.i = axis}}, &x, 1);
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    int64_t axis;
    TRY(duet_infer_dtype(call, 0, DUET_TYPES_FLOAT));
    TRY(duet_infer_axis(&axis, call, 0, call->attrs[0].i));
    *out = *call->in[0];
    return DUET_OK;
}

/* Rows of `count` elements, `inner` apart; rows that are neighbours go together by COLUMNS. */
enum { COLUMNS = 64 };
typedef struct job {
    void *out;
    const void *x;
    int64_t count, inner, blocks;
} job;

#define REAL float
#define VECTOR duet_vf32
#define LANES DUET_LANES_F32
#define EXP duet_exp_f32
#define NAME(x) x##_f32
#include "kernels/softmax.inc"

#define REAL double
#define VECTOR duet_vf64
#define LANES DUET_LANES_F64
#define EXP duet_exp_f64
#define NAME(x) x##_f64
#include "kernels/softmax.inc"

static duet_status run(const duet_kernel *kernel) {
    const duet_shape *shape = &kernel->in[0].spec->shape;
    int64_t axis = kernel->attrs[0].i, outer = 1;
    if (axis < 0) axis += shape->rank;
    job j = {.out = kernel->out[0].data, .x = kernel->in[0].data, .count = shape->dims[axis]};
    j.inner = 1;
    for (int64_t i = 0; i < axis; i++) outer *= shape->dims[i];
    for (int64_t i = axis + 1; i < shape->rank; i++) j.inner *= shape->dims[i];
    j.blocks = (j.inner + COLUMNS - 1) / COLUMNS;
    if (outer * j.count * j.inner == 0) return DUET_OK;
    int64_t each = j.count * (j.inner < COLUMNS ? j.inner : COLUMNS);
    duet_parallel_for(outer * j.blocks, 1 + 16384 / each,
                      kernel->in[0].spec->dtype == DUET_F32 ? run_items_f32 : run_items_f64, &j);
    return DUET_OK;
}

/* ds/dx applied to g: s (g - sum(g s)), the sum along the axis. */
static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    duet_tensor *s = call->out[0], *g = call->out_grads[0];
    duet_tensor *along = duet_sum(duet_mul(g, s), DUET_INTS(call->attrs[0].i), true);
    return duet_grad_set(in_grads, 0, duet_mul(s, duet_sub(g, along)));
}

static duet_cost cost(const duet_op_call *call, const duet_spec *out) {
    (void)call;
    return (duet_cost){16 * duet_cost_elements(out), 2 * duet_cost_bytes(out)};
}

const duet_op duet_op_softmax = {
    .name = "softmax",
    .doc = "exp(x - m) / sum exp(x - m) along axis, m = max x along it",
    .n_in = 1,
    .n_out = 1,
    .in_names = {"x"},
    .traits = DUET_OP_REDUCTION,
    .attrs = {{"axis", DUET_ATTR_INT, .initial.i = -1}},
    .infer = infer,
    .run = run,
    .grad = grad,
    .cost = cost,
    .samples = {"f32[4,10]", "f64[3,5,7]; axis=1", "f32[67]; axis=0", "f64[2,0]", "f32[3,1]",
                "f32[5,70]; axis=0", "f64[1000]"},
};
