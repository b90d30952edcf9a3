#include "core/cost.h"
#include "core/grad.h"
#include "core/infer.h"
#include "kernels/broadcast.h"
#include "kernels/elementwise.h"
#include "kernels/reduce.h"
#include "ops_reduce.h"
#include "pool.h"

extern const duet_op duet_op_broadcast_like;

duet_tensor *duet_broadcast_like_axes(duet_tensor *x, duet_tensor *like, duet_ints axes,
                                      bool mean) {
    return duet_apply(&duet_op_broadcast_like, (duet_attr[]){{.ints = axes}, {.b = mean}},
                      (duet_tensor *[]){x, like}, 2);
}

duet_tensor *duet_broadcast_like(duet_tensor *x, duet_tensor *like) {
    return duet_broadcast_like_axes(x, like, DUET_NO_AXES, false);
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    if (call->attrs[1].b) TRY(duet_infer_dtype(call, 0, DUET_TYPES_FLOAT));
    TRY(duet_reduce_check_align(call, 0, 1));
    *out = (duet_spec){.shape = call->in[1]->shape, .dtype = call->in[0]->dtype};
    return DUET_OK;
}

typedef struct job {
    duet_broadcast broadcast;
    const duet_kernel *kernel;
    double divisor; /* 0: none */
} job;

static void run_range(void *context, int64_t begin, int64_t end) {
    const job *j = context;
    duet_dtype dtype = (duet_dtype)j->kernel->in[0].spec->dtype;
    size_t size = duet_dtype_size(dtype);
    char *out = (char *)j->kernel->out[0].data + (size_t)begin * size;
    duet_broadcast_read(out, &j->broadcast, j->kernel->in[0].data, size, begin, end - begin);
    if (j->divisor != 0) duet_reduce_divide(out, dtype, end - begin, j->divisor);
}

static duet_status run(const duet_kernel *kernel) {
    const duet_shape *x = &kernel->in[0].spec->shape, *out = &kernel->out[0].spec->shape;
    duet_shape aligned = duet_reduce_align(x, &kernel->attrs[0].ints, out->rank);
    int64_t count = duet_shape_count(out);
    if (count == 0) return DUET_OK;
    job j = {.kernel = kernel};
    if (kernel->attrs[1].b) j.divisor = (double)count / (double)duet_shape_count(x);
    duet_broadcast_init(&j.broadcast, &aligned, out);
    duet_parallel_for(count, DUET_ELEMENTWISE_GRAIN, run_range, &j);
    return DUET_OK;
}

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    if (!duet_grad_needs(call, 0)) return DUET_OK;
    return duet_grad_set(in_grads, 0,
                         duet_sum_to_like_axes(call->out_grads[0], call->in[0], call->attrs[0].ints,
                                               call->attrs[1].b));
}

const duet_op duet_op_broadcast_like = {
    .name = "broadcast_like",
    .doc =
        "x repeated to like's shape; axes: those of like that x lacks; mean: divided by how often",
    .n_in = 2,
    .n_out = 1,
    .in_names = {"x", "like"},
    .traits = DUET_OP_SHAPE_ONLY,
    .attrs = {{.name = "axes", .kind = DUET_ATTR_INTS}, {.name = "mean", .kind = DUET_ATTR_BOOL}},
    .infer = infer,
    .run = run,
    .grad = grad,
    .cost = duet_cost_move,
    .samples = {"f32[3,1], f32[2,3,4]", "f32[], f64[67]", "f64[4], i32[3,4]; mean=true",
                "f32[2,4], f32[2,3,4,5]; axes=[1,-1]", "i32[3,4], f32[3,4]", "bool[1,2], f32[3,2]",
                "f32[3], f32[3,2]; axes=[1], mean=true", "f32[1,0], f32[4,0]"},
};
