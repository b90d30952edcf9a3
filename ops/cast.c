#include "convert.h"
#include "core/grad.h"
#include "core/infer.h"
#include "ops_elementwise.h"
#include "pool.h"

/* Inside a fused program values of type T and bools are lanes of T, so these are all it needs. */
#define NAME cast_to_bool
#define ARITY 1
#define EXPR x != 0
#define OUT_IS_BOOL
#include "kernels/elementwise.inc"

#define NAME cast
#define ARITY 1
#define EXPR x
#define TO_BOOL cast_to_bool_elementwise
#include "kernels/elementwise.inc"

duet_tensor *duet_cast(duet_tensor *x, duet_dtype dtype) {
    return duet_apply(&duet_op_cast, &(duet_attr){.dtype = dtype}, &x, 1);
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    duet_dtype dtype = call->attrs[0].dtype;
    CHECK((unsigned)dtype < DUET_DTYPE_COUNT, DUET_STATUS_ARGUMENT,
          "cast: dtype: expected f32, f64, i32 or bool, got number %d", (int)dtype);
    *out = (duet_spec){.shape = call->in[0]->shape, .dtype = dtype};
    return DUET_OK;
}

/* ---- between any two types ---------------------------------------------------------------------
 */

#define SAME(x) (x)
#define IS_TRUE(x) ((x) != 0)

#define DEFINE_CAST(from, FROM, to, TO, CONVERT)                                                   \
    static void from##_to_##to(void *out, const void *in, int64_t count) {                         \
        const FROM *x = in;                                                                        \
        TO *y = out;                                                                               \
        for (int64_t i = 0; i < count; i++) y[i] = (TO)CONVERT(x[i]);                              \
    }
#define DEFINE_CASTS(from, FROM, CONVERT_TO_I32)                                                   \
    DEFINE_CAST(from, FROM, f32, float, SAME)                                                      \
    DEFINE_CAST(from, FROM, f64, double, SAME)                                                     \
    DEFINE_CAST(from, FROM, i32, int32_t, CONVERT_TO_I32)                                          \
    DEFINE_CAST(from, FROM, b8, uint8_t, IS_TRUE)
DEFINE_CASTS(f32, float, DUET_TO_I32)
DEFINE_CASTS(f64, double, DUET_TO_I32)
DEFINE_CASTS(i32, int32_t, SAME)
DEFINE_CASTS(b8, uint8_t, SAME)

typedef void (*converter)(void *out, const void *in, int64_t count);
#define CASTS_FROM(from)                                                                           \
    { from##_to_f32, from##_to_f64, from##_to_i32, from##_to_b8 }
static const converter converters[DUET_DTYPE_COUNT][DUET_DTYPE_COUNT] = {
    [DUET_F32] = CASTS_FROM(f32),
    [DUET_F64] = CASTS_FROM(f64),
    [DUET_I32] = CASTS_FROM(i32),
    [DUET_BOOL] = CASTS_FROM(b8),
};

static void run_range(void *context, int64_t begin, int64_t end) {
    const duet_kernel *kernel = context;
    duet_dtype from = (duet_dtype)kernel->in[0].spec->dtype;
    duet_dtype to = (duet_dtype)kernel->out[0].spec->dtype;
    converters[from][to]((char *)kernel->out[0].data + (size_t)begin * duet_dtype_size(to),
                         (const char *)kernel->in[0].data + (size_t)begin * duet_dtype_size(from),
                         end - begin);
}

static duet_status run(const duet_kernel *kernel) {
    int64_t count = duet_shape_count(&kernel->out[0].spec->shape);
    duet_parallel_for(count, DUET_ELEMENTWISE_GRAIN, run_range, (void *)kernel);
    return DUET_OK;
}

/* Integers and bools have no slope. */
static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    duet_dtype from = duet_tensor_dtype(call->in[0]);
    if (!duet_dtype_is_float(from) || !duet_dtype_is_float(call->attrs[0].dtype)) return DUET_OK;
    return duet_grad_set(in_grads, 0, duet_cast(call->out_grads[0], from));
}

const duet_op duet_op_cast = {
    .name = "cast",
    .doc = "x as dtype; float to i32 towards zero, what does not fit to the nearest, NaN to 0",
    .n_in = 1,
    .in_names = {"x"},
    .attrs = {{"dtype", DUET_ATTR_DTYPE, .required = true}},
    .n_out = 1,
    .traits = DUET_OP_INPLACE | DUET_OP_IDENTITY,
    .infer = infer,
    .run = run,
    .grad = grad,
    .cost = duet_elementwise_cost,
    .elementwise = &cast_elementwise,
    .samples = {"f32[3,4]; dtype=f64", "f64[67]; dtype=f32", "f32[5]; dtype=i32",
                "i32[17]; dtype=f32", "f32[17]; dtype=bool", "bool[17]; dtype=f32",
                "bool[]; dtype=bool", "i32[0,3]; dtype=f64"},
};
