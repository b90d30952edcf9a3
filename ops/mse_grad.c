#include "core/cost.h"
#include "core/infer.h"
#include "ops_elementwise.h"
#include "ops_nn.h"
#include "pool.h"

extern const duet_op duet_op_mse_grad;

duet_tensor *duet_mse_grad(duet_tensor *d, duet_tensor *g) {
    return duet_apply2(&duet_op_mse_grad, d, g);
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    TRY(duet_infer_dtype(call, 0, DUET_TYPES_FLOAT));
    TRY(duet_infer_same_dtype(call, 0, 1));
    CHECK(call->in[1]->shape.rank == 0, DUET_STATUS_SHAPE, "mse_grad: g: expected rank 0, got %s",
          DUET_SPEC_TEXT(call->in[1]));
    *out = *call->in[0];
    return DUET_OK;
}

typedef struct job {
    void *out;
    const void *d;
    double factor;
} job;

#define DEFINE_SCALE(name, type)                                                                   \
    static void name(void *context, int64_t begin, int64_t end) {                                  \
        const job *j = context;                                                                    \
        type *out = j->out, factor = (type)j->factor;                                              \
        const type *d = j->d;                                                                      \
        for (int64_t i = begin; i < end; i++) out[i] = d[i] * factor;                              \
    }
DEFINE_SCALE(scale_f32, float)
DEFINE_SCALE(scale_f64, double)

static duet_status run(const duet_kernel *kernel) {
    bool single = kernel->in[0].spec->dtype == DUET_F32;
    int64_t count = duet_shape_count(&kernel->in[0].spec->shape);
    const void *g = kernel->in[1].data;
    job j = {.out = kernel->out[0].data, .d = kernel->in[0].data};
    j.factor = 2 * (single ? (double)*(const float *)g : *(const double *)g) / (double)count;
    if (count > 0) duet_parallel_for(count, 1 << 16, single ? scale_f32 : scale_f64, &j);
    return DUET_OK;
}

/* The result is d and g multiplied: with h given, dd = 2 h g / N and dg = 2 mean(h d). */
static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    duet_tensor *d = call->in[0], *g = call->in[1], *h = call->out_grads[0];
    if (call->needs & 1) in_grads[0] = duet_mse_grad(h, g);
    if (call->needs & 2) {
        duet_tensor *mean = duet_mean(duet_mul(h, d), (duet_ints){0}, false);
        in_grads[1] = duet_add(mean, mean);
    }
    return DUET_OK;
}

const duet_op duet_op_mse_grad = {
    .name = "mse_grad",
    .doc = "2 d g / N for the N elements of d = y - t: the gradient of mse(y, t) by y",
    .n_in = 2,
    .n_out = 1,
    .in_names = {"d", "g"},
    .traits = DUET_OP_INPLACE,
    .infer = infer,
    .run = run,
    .grad = grad,
    .cost = duet_cost_move,
    .samples = {"f32[64,1], f32[]", "f64[3,5,7], f64[]", "f32[], f32[]", "f64[0,2], f64[]",
                "f32[67], f32[]"},
};
