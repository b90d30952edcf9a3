#include "core/cost.h"
#include "core/grad.h"
#include "core/infer.h"
#include "ops_elementwise.h"
#include "ops_nn.h"
#include "pool.h"

extern const duet_op duet_op_mse;

duet_tensor *duet_mse(duet_tensor *y, duet_tensor *t) { return duet_apply2(&duet_op_mse, y, t); }

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    duet_shape shape;
    TRY(duet_infer_dtype(call, 0, DUET_TYPES_FLOAT));
    TRY(duet_infer_same_dtype(call, 0, 1));
    TRY(duet_infer_same_shape(&shape, call, 0, 1));
    *out = (duet_spec){.dtype = call->in[0]->dtype};
    return DUET_OK;
}

/* The sum is cut into at most PIECES pieces of whole blocks, a cut that depends on `count` only;
 * inside a piece, element i goes into part i % PARTS. All sums are kept in double. */
enum { PIECES = 64, BLOCK = 4096, PARTS = 8 };
typedef struct job {
    const void *y, *t;
    int64_t count, piece;
    double sums[PIECES];
} job;

#define DEFINE_SQUARES(name, type)                                                                 \
    static void name(void *context, int64_t begin, int64_t end) {                                  \
        job *j = context;                                                                          \
        const type *y = j->y, *t = j->t;                                                           \
        for (int64_t piece = begin; piece < end; piece++) {                                        \
            double part[PARTS] = {0}, sum = 0;                                                     \
            int64_t i = piece * j->piece, left = j->count - i;                                     \
            int64_t last = i + (left < j->piece ? left : j->piece);                                \
            for (; i + PARTS <= last; i += PARTS)                                                  \
                for (int p = 0; p < PARTS; p++) {                                                  \
                    type d = y[i + p] - t[i + p];                                                  \
                    part[p] += (double)(d * d);                                                    \
                }                                                                                  \
            for (int p = 0; i < last; i++, p++) {                                                  \
                type d = y[i] - t[i];                                                              \
                part[p] += (double)(d * d);                                                        \
            }                                                                                      \
            for (int p = 0; p < PARTS; p++) sum += part[p];                                        \
            j->sums[piece] = sum;                                                                  \
        }                                                                                          \
    }
DEFINE_SQUARES(squares_f32, float)
DEFINE_SQUARES(squares_f64, double)

static duet_status run(const duet_kernel *kernel) {
    bool single = kernel->in[0].spec->dtype == DUET_F32;
    int64_t count = duet_shape_count(&kernel->in[0].spec->shape);
    job j = {.y = kernel->in[0].data, .t = kernel->in[1].data, .count = count};
    j.piece = (count / PIECES / BLOCK + 1) * BLOCK;
    int64_t pieces = (count + j.piece - 1) / j.piece;
    if (pieces > 0) duet_parallel_for(pieces, 4, single ? squares_f32 : squares_f64, &j);
    double sum = 0;
    for (int64_t piece = 0; piece < pieces; piece++) sum += j.sums[piece];
    double mean = sum / (double)count;
    if (single)
        *(float *)kernel->out[0].data = (float)mean;
    else
        *(double *)kernel->out[0].data = mean;
    return DUET_OK;
}

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    duet_tensor *y = call->in[0], *t = call->in[1], *g = call->out_grads[0];
    duet_tensor *by_y = duet_mse_grad(g, y, t);
    if (duet_grad_needs(call, 0)) TRY(duet_grad_set(in_grads, 0, by_y));
    if (duet_grad_needs(call, 1)) TRY(duet_grad_set(in_grads, 1, duet_neg(by_y)));
    return DUET_OK;
}

static duet_cost cost(const duet_op_call *call, const duet_spec *out) {
    (void)out;
    return (duet_cost){3 * duet_cost_elements(call->in[0]), 2 * duet_cost_bytes(call->in[0])};
}

const duet_op duet_op_mse = {
    .name = "mse",
    .doc = "mean squared error over all elements: sum (y - t)^2 / N",
    .n_in = 2,
    .n_out = 1,
    .in_names = {"y", "t"},
    .traits = DUET_OP_REDUCTION,
    .infer = infer,
    .run = run,
    .grad = grad,
    .cost = cost,
    .samples = {"f32[64,1], f32[64,1]", "f64[3,5,7], f64[3,5,7]", "f32[], f32[]",
                "f64[0,2], f64[0,2]", "f32[67], f32[67]", "f64[5000], f64[5000]"},
};
