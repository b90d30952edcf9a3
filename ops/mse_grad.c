#include "core/cost.h"
#include "core/grad.h"
#include "core/infer.h"
#include "ops_elementwise.h"
#include "ops_nn.h"
#include "pool.h"

extern const duet_op duet_op_mse_grad;

enum { G, Y, T }; /* inputs */

duet_tensor *duet_mse_grad(duet_tensor *g, duet_tensor *y, duet_tensor *t) {
    return duet_apply3(&duet_op_mse_grad, g, y, t);
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    TRY(duet_infer_dtype(call, G, DUET_TYPES_FLOAT));
    TRY(duet_infer_same_dtype(call, 0, call->n_in - 1));
    CHECK(call->in[G]->shape.rank == 0, DUET_STATUS_SHAPE, "mse_grad: g: expected rank 0, got %s",
          DUET_SPEC_TEXT(call->in[G]));
    *out = *call->in[Y];
    return call->n_in > T ? duet_infer_same_shape(&out->shape, call, Y, T) : DUET_OK;
}

typedef struct job {
    void *out;
    const void *y, *t;
    double factor;
} job;

#define DEFINE_SCALE(name, type)                                                                   \
    static void name(void *context, int64_t begin, int64_t end) {                                  \
        const job *j = context;                                                                    \
        type *out = j->out, factor = (type)j->factor;                                              \
        const type *y = j->y, *t = j->t;                                                           \
        if (t)                                                                                     \
            for (int64_t i = begin; i < end; i++) out[i] = (y[i] - t[i]) * factor;                 \
        else                                                                                       \
            for (int64_t i = begin; i < end; i++) out[i] = y[i] * factor;                          \
    }
DEFINE_SCALE(scale_f32, float)
DEFINE_SCALE(scale_f64, double)

static duet_status run(const duet_kernel *kernel) {
    const duet_view *in = kernel->in;
    bool single = in[G].spec->dtype == DUET_F32;
    double g = single ? (double)*(const float *)in[G].data : *(const double *)in[G].data;
    int64_t count = duet_shape_count(&in[Y].spec->shape);
    job j = {.out = kernel->out[0].data, .y = in[Y].data, .factor = 2 * g / (double)count};
    if (kernel->n_in > T) j.t = in[T].data;
    if (count > 0) duet_parallel_for(count, 1 << 16, single ? scale_f32 : scale_f64, &j);
    return DUET_OK;
}

/* The result is g times d = y - t: with h given, dy = 2 h g / N, dt = -dy and dg = 2 mean(h d). */
static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    duet_tensor *g = call->in[G], *d = call->in[Y], *h = call->out_grads[0];
    duet_tensor *by_y = duet_apply2(&duet_op_mse_grad, g, h);
    if (duet_grad_needs(call, Y)) TRY(duet_grad_set(in_grads, Y, by_y));
    if (call->n_in > T) {
        if (duet_grad_needs(call, T)) TRY(duet_grad_set(in_grads, T, duet_neg(by_y)));
        if (duet_grad_needs(call, G)) d = duet_sub(d, call->in[T]);
    }
    if (!duet_grad_needs(call, G)) return DUET_OK;
    duet_tensor *mean = duet_mean(duet_mul(h, d), DUET_NO_AXES, false);
    return duet_grad_set(in_grads, G, duet_add(mean, mean));
}

const duet_op duet_op_mse_grad = {
    .name = "mse_grad",
    .doc = "2 g (y - t) / N: the gradient of mse(y, t) by y; without t, 2 g y / N",
    .n_in = 2,
    .n_in_max = 3,
    .n_out = 1,
    .in_names = {"g", "y", "t"},
    .traits = DUET_OP_INPLACE,
    .infer = infer,
    .run = run,
    .grad = grad,
    .cost = duet_cost_move,
    .samples = {"f32[], f32[64,1], f32[64,1]", "f64[], f64[3,5,7], f64[3,5,7]",
                "f32[], f32[], f32[]", "f64[], f64[0,2]", "f32[], f32[67]"},
};
