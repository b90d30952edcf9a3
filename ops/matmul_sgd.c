#include "core/cost.h"
#include "core/infer.h"
#include "core/product.h"

enum { X, W, VARIABLE, LR }; /* inputs */

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    (void)out;
    duet_spec product;
    TRY(duet_infer_product(&product, call, call->attrs[0].b, call->attrs[1].b));
    CHECK(duet_spec_equal(&product, call->in[VARIABLE]), DUET_STATUS_SHAPE,
          "matmul_sgd: variable: expected the product's %s, got %s", DUET_SPEC_TEXT(&product),
          DUET_SPEC_TEXT(call->in[VARIABLE]));
    CHECK(call->in[LR]->dtype == product.dtype && call->in[LR]->shape.rank == 0, DUET_STATUS_SHAPE,
          "matmul_sgd: lr: expected %s[], got %s", duet_dtype_name((duet_dtype)product.dtype),
          DUET_SPEC_TEXT(call->in[LR]));
    return DUET_OK;
}

static duet_status run(const duet_kernel *kernel) {
    duet_kernel product = *kernel;
    product.out = &kernel->in[VARIABLE];
    duet_run_product(&product, &(duet_product){.trans_x = kernel->attrs[0].b,
                                               .trans_w = kernel->attrs[1].b,
                                               .rate = kernel->in[LR].data});
    return DUET_OK;
}

static duet_cost cost(const duet_op_call *call, const duet_spec *out) {
    (void)out;
    return duet_cost_product(call, call->in[VARIABLE], call->attrs[0].b);
}

const duet_op duet_op_matmul_sgd = {
    .name = "matmul_sgd",
    .doc = "variable -= lr (x w): a weight's update in the tiles of its gradient's product",
    .n_in = 4,
    .n_out = 0,
    .in_names = {"x", "w", "variable", "lr"},
    .traits = DUET_OP_STATEFUL | DUET_OP_CONTRACTION,
    .writes = 1 << VARIABLE,
    .attrs = {{.name = "transpose_a", .kind = DUET_ATTR_BOOL},
              {.name = "transpose_b", .kind = DUET_ATTR_BOOL}},
    .infer = infer,
    .run = run,
    .cost = cost,
    .same_as = {{"sgd(variable, matmul(x, w), lr)", NULL}},
    .samples = {"f32[64,20], f32[64,64], var f32[20,64], f32[]; transpose_a=true",
                "f64[4,5], f64[5,3], var f64[4,3], f64[]",
                "f32[7,1], f32[9,1], var f32[7,9], f32[]; transpose_b=true",
                "f32[5,0], f32[0,3], var f32[5,3], f32[]",
                "f32[33,5], f32[5,1], var f32[33,1], f32[]"},
};
