#include "core/update.h"
#include "core/cost.h"
#include "core/infer.h"
#include "ops_state.h"
#include "pool.h"

extern const duet_op duet_op_sgd;

enum { VARIABLE, G, LR, VELOCITY }; /* inputs */
enum { MOMENTUM, NESTEROV };        /* attributes */

duet_status duet_sgd(duet_tensor *variable, duet_tensor *g, duet_tensor *lr) {
    return duet_apply_update(&duet_op_sgd, NULL, (duet_tensor *[]){variable, g, lr}, 3);
}

duet_status duet_sgd_momentum(duet_tensor *variable, duet_tensor *g, duet_tensor *lr,
                              duet_tensor *velocity, double momentum, bool nesterov) {
    return duet_apply_update(&duet_op_sgd, (duet_attr[]){{.f = momentum}, {.b = nesterov}},
                             (duet_tensor *[]){variable, g, lr, velocity}, 4);
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    (void)out;
    TRY(duet_infer_dtype(call, VARIABLE, DUET_TYPES_FLOAT));
    TRY(duet_infer_update(call, G));
    const duet_spec *lr = call->in[LR];
    CHECK(lr->dtype == call->in[VARIABLE]->dtype && lr->shape.rank == 0, DUET_STATUS_SHAPE,
          "sgd: lr: expected %s[], got %s", duet_dtype_name((duet_dtype)call->in[VARIABLE]->dtype),
          DUET_SPEC_TEXT(lr));
    if (call->n_in > VELOCITY) return duet_infer_update(call, VELOCITY);
    CHECK(call->attrs[MOMENTUM].f == 0 && !call->attrs[NESTEROV].b, DUET_STATUS_ARGUMENT,
          "sgd: momentum %g and nesterov %s need the input velocity", call->attrs[MOMENTUM].f,
          call->attrs[NESTEROV].b ? "true" : "false");
    return DUET_OK;
}

/* Every product is rounded before it is added or taken away. g may be the variable itself. */
#define DEFINE_SGD(name, type)                                                                     \
    static void name(void *context, int64_t begin, int64_t end) {                                  \
        const duet_kernel *kernel = context;                                                       \
        type *v = kernel->in[VARIABLE].data;                                                       \
        const type *g = kernel->in[G].data;                                                        \
        type lr = *(const type *)kernel->in[LR].data;                                              \
        for (int64_t i = begin; i < end; i++) v[i] = v[i] - lr * g[i];                             \
    }                                                                                              \
    static void name##_momentum(void *context, int64_t begin, int64_t end) {                       \
        const duet_kernel *kernel = context;                                                       \
        type *v = kernel->in[VARIABLE].data;                                                       \
        type *velocity = kernel->in[VELOCITY].data;                                                \
        const type *g = kernel->in[G].data;                                                        \
        type lr = *(const type *)kernel->in[LR].data, m = (type)kernel->attrs[MOMENTUM].f;         \
        bool nesterov = kernel->attrs[NESTEROV].b;                                                 \
        for (int64_t i = begin; i < end; i++) {                                                    \
            type step = lr * g[i], moved = m * velocity[i] - step;                                 \
            velocity[i] = moved;                                                                   \
            v[i] = v[i] + (nesterov ? m * moved - step : moved);                                   \
        }                                                                                          \
    }
DEFINE_SGD(sgd_f32, float)
DEFINE_SGD(sgd_f64, double)

static duet_status run(const duet_kernel *kernel) {
    static const duet_task tasks[][2] = {
        [DUET_F32] = {sgd_f32, sgd_f32_momentum}, [DUET_F64] = {sgd_f64, sgd_f64_momentum}};
    const duet_spec *spec = kernel->in[VARIABLE].spec;
    duet_kernel copy = *kernel;
    duet_parallel_for(duet_shape_count(&spec->shape), 1 << 15,
                      tasks[spec->dtype][kernel->n_in > VELOCITY], &copy);
    return DUET_OK;
}

static duet_cost cost(const duet_op_call *call, const duet_spec *out) {
    (void)out;
    bool momentum = call->n_in > VELOCITY;
    return (duet_cost){(momentum ? 4 : 2) * duet_cost_elements(call->in[VARIABLE]),
                       (momentum ? 5 : 3) * duet_cost_bytes(call->in[VARIABLE])};
}

const duet_op duet_op_sgd = {
    .name = "sgd",
    .doc = "variable -= lr g; with velocity: velocity = momentum velocity - lr g, variable += it",
    .n_in = 3,
    .n_in_max = 4,
    .in_names = {"variable", "g", "lr", "velocity"},
    .traits = DUET_OP_STATEFUL,
    .writes = 1 << VARIABLE | 1 << VELOCITY,
    .attrs = {[MOMENTUM] = {.name = "momentum", .kind = DUET_ATTR_FLOAT},
              [NESTEROV] = {.name = "nesterov", .kind = DUET_ATTR_BOOL}},
    .infer = infer,
    .run = run,
    .cost = cost,
    .samples = {"var f32[3,4], f32[3,4], f32[]", "var f64[67], f64[67], f64[]",
                "var f32[67], f32[67], f32[], var f32[67]; momentum=0.9",
                "var f64[5], f64[5], f64[], var f64[5]; momentum=0.5, nesterov=true",
                "var f32[0], f32[0], f32[]"},
};
