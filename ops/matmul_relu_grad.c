#include "core/infer.h"
#include "core/product.h"

enum { X, W, Y }; /* inputs */

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    TRY(duet_infer_product(out, call, call->attrs[0].b, call->attrs[1].b));
    CHECK(duet_spec_equal(out, call->in[Y]), DUET_STATUS_SHAPE,
          "matmul_relu_grad: y: expected the product's %s, got %s", DUET_SPEC_TEXT(out),
          DUET_SPEC_TEXT(call->in[Y]));
    return DUET_OK;
}

static duet_status run(const duet_kernel *kernel) {
    duet_run_product(kernel, &(duet_product){.trans_x = kernel->attrs[0].b,
                                             .trans_w = kernel->attrs[1].b,
                                             .gate = kernel->in[Y].data});
    return DUET_OK;
}

static duet_cost cost(const duet_op_call *call, const duet_spec *out) {
    return duet_cost_product(call, out, call->attrs[0].b);
}

const duet_op duet_op_matmul_relu_grad = {
    .name = "matmul_relu_grad",
    .doc =
        "x w where y > 0, else 0: the gradient of a layer's input, on through the ReLU before it",
    .n_in = 3,
    .n_out = 1,
    .in_names = {"x", "w", "y"},
    .traits = DUET_OP_CONTRACTION,
    .attrs = {{.name = "transpose_a", .kind = DUET_ATTR_BOOL},
              {.name = "transpose_b", .kind = DUET_ATTR_BOOL}},
    .infer = infer,
    .run = run,
    .cost = cost,
    .same_as = {{"relu_grad(matmul(x, w), y)", NULL}},
    .samples = {"f32[64,1], f32[64,1], f32[64,64]; transpose_b=true",
                "f32[33,5], f32[17,5], f32[33,17]; transpose_b=true",
                "f64[3,2,5], f64[5,4], f64[3,2,4]", "f64[5,1], f64[1,1], f64[5,1]",
                "f32[9,300], f32[300,35], f32[9,35]", "f32[4,0], f32[0,4], f32[4,4]"},
};
