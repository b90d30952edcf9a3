#include "core/grad.h"
#include "core/product.h"
#include "ops_nn.h"

extern const duet_op duet_op_matmul;

duet_tensor *duet_matmul_flags(duet_tensor *x, duet_tensor *w, bool transpose_a, bool transpose_b) {
    return duet_apply(&duet_op_matmul, (duet_attr[]){{.b = transpose_a}, {.b = transpose_b}},
                      (duet_tensor *[]){x, w}, 2);
}

duet_tensor *duet_matmul(duet_tensor *x, duet_tensor *w) {
    return duet_matmul_flags(x, w, false, false);
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    return duet_infer_product(out, call, call->attrs[0].b, call->attrs[1].b);
}

static duet_status run(const duet_kernel *kernel) {
    duet_run_product(kernel,
                     &(duet_product){.trans_x = kernel->attrs[0].b, .trans_w = kernel->attrs[1].b});
    return DUET_OK;
}

/* With X and W the operands as multiplied, Y = X W: dX = G W^T and dW = X^T G. Where an operand is
 * stored transposed, so is its gradient: dx = dX^T = W G^T, dw = dW^T = G^T X. Each is then summed
 * over the batch axes along which its operand was repeated. */
static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    duet_tensor *x = call->in[0], *w = call->in[1], *g = call->out_grads[0];
    bool trans_x = call->attrs[0].b, trans_w = call->attrs[1].b;
    if (duet_grad_needs(call, 0))
        TRY(duet_grad_set_broadcast(in_grads, call, 0,
                                    trans_x ? duet_matmul_flags(w, g, trans_w, true)
                                            : duet_matmul_flags(g, w, false, !trans_w)));
    if (duet_grad_needs(call, 1))
        TRY(duet_grad_set_broadcast(in_grads, call, 1,
                                    trans_w ? duet_matmul_flags(g, x, true, trans_x)
                                            : duet_matmul_flags(x, g, !trans_x, false)));
    return DUET_OK;
}

static duet_cost cost(const duet_op_call *call, const duet_spec *out) {
    return duet_cost_product(call, out, call->attrs[0].b);
}

const duet_op duet_op_matmul = {
    .name = "matmul",
    .doc = "y[..,i,j] = sum over p of x[..,i,p] w[..,p,j]; flags swap an operand's last two axes",
    .n_in = 2,
    .n_out = 1,
    .in_names = {"x", "w"},
    .traits = DUET_OP_CONTRACTION,
    .attrs = {{.name = "transpose_a", .kind = DUET_ATTR_BOOL},
              {.name = "transpose_b", .kind = DUET_ATTR_BOOL}},
    .infer = infer,
    .run = run,
    .grad = grad,
    .cost = cost,
    .samples = {"f32[4,5], f32[5,3]", "f64[5,17], f64[5,9]; transpose_a=true",
                "f32[7,16], f32[33,16]; transpose_b=true",
                "f64[3,4], f64[2,3]; transpose_a=true, transpose_b=true",
                "f32[2,1,4,5], f32[3,5,2]", "f32[3,2,5], f32[5,4]", "f32[4,0], f32[0,4]",
                "f64[4,3], f64[2,3,5]"},
};
