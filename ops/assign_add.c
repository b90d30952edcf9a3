#include "core/update.h"
#include "core/cost.h"
#include "core/infer.h"
#include "ops_state.h"
#include "pool.h"

extern const duet_op duet_op_assign_add;

duet_status duet_assign_add(duet_tensor *variable, duet_tensor *x) {
    return duet_apply_update(&duet_op_assign_add, NULL, (duet_tensor *[]){variable, x}, 2);
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    (void)out;
    TRY(duet_infer_dtype(call, 0, DUET_TYPES_NUMBER));
    return duet_infer_update(call, 1);
}

/* v and x may be the same: v += v. */
#define DEFINE_ADD(name, type)                                                                     \
    static void name(void *context, int64_t begin, int64_t end) {                                  \
        const duet_view *in = context;                                                             \
        type *v = in[0].data;                                                                      \
        const type *x = in[1].data;                                                                \
        for (int64_t i = begin; i < end; i++) v[i] += x[i];                                        \
    }
DEFINE_ADD(add_f32, float)
DEFINE_ADD(add_f64, double)
DEFINE_ADD(add_i32, uint32_t) /* unsigned: wraps, as i32's add does */

static duet_status run(const duet_kernel *kernel) {
    static const duet_task tasks[] = {
        [DUET_F32] = add_f32, [DUET_F64] = add_f64, [DUET_I32] = add_i32};
    const duet_spec *spec = kernel->in[0].spec;
    duet_view in[2] = {kernel->in[0], kernel->in[1]};
    duet_parallel_for(duet_shape_count(&spec->shape), 1 << 16, tasks[spec->dtype], in);
    return DUET_OK;
}

static duet_cost cost(const duet_op_call *call, const duet_spec *out) {
    (void)out;
    return (duet_cost){duet_cost_elements(call->in[0]), 3 * duet_cost_bytes(call->in[0])};
}

const duet_op duet_op_assign_add = {
    .name = "assign_add",
    .doc = "variable = variable + x",
    .n_in = 2,
    .in_names = {"variable", "x"},
    .traits = DUET_OP_STATEFUL,
    .writes = 1 << 0,
    .infer = infer,
    .run = run,
    .cost = cost,
    .samples = {"var f32[3,4], f32[3,4]", "var f64[], f64[]", "var i32[0], i32[0]",
                "var i32[67], i32[67]"},
};
