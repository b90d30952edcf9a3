#include "core/product.h"
#include "core/grad.h"
#include "core/infer.h"
#include "ops_elementwise.h"
#include "ops_nn.h"

extern const duet_op duet_op_dense;

static bool is_none(const char *activation) {
    return !activation || strcmp(activation, "none") == 0;
}

static bool is_relu(const char *activation) {
    return activation && strcmp(activation, "relu") == 0;
}

static const duet_op *find_activation(const char *name) {
    const duet_op *op = duet_op_find(name);
    if (!op)
        duet_fail(DUET_STATUS_NOT_FOUND, "dense: activation: %s", duet_error_message());
    else if (op->n_in != 1 || op->n_out != 1)
        duet_fail(DUET_STATUS_ARGUMENT,
                  "dense: activation: expected an op of one input and one output, got \"%s\"",
                  name);
    else
        return op;
    return NULL;
}

/* The kernel knows relu; what else `activation` names is an op of its own behind it. */
duet_tensor *duet_dense(duet_tensor *x, duet_tensor *w, duet_tensor *b, const char *activation) {
    bool none = is_none(activation), relu = is_relu(activation);
    const duet_op *behind = NULL; /* found before anything is computed or traced */
    if (!none && !relu && !(behind = find_activation(activation))) return NULL;
    duet_tensor *y = duet_apply(&duet_op_dense, (duet_attr[]){{.text = relu ? "relu" : "none"}},
                                (duet_tensor *[]){x, w, b}, 3);
    return behind && y ? duet_apply1(behind, y) : y;
}

static duet_status infer(duet_spec *out, const duet_op_call *call) {
    const char *activation = call->attrs[0].text;
    CHECK(is_none(activation) || is_relu(activation), DUET_STATUS_ARGUMENT,
          "dense: activation: expected \"none\" or \"relu\", got \"%s\"", activation);
    TRY(duet_infer_product(out, call, false, false));
    TRY(duet_infer_same_dtype(call, 1, 2));
    const duet_shape *w = &call->in[1]->shape, *b = &call->in[2]->shape;
    CHECK(w->rank == 2, DUET_STATUS_SHAPE, "dense: w: expected rank 2, got %s",
          DUET_SPEC_TEXT(call->in[1]));
    int64_t n;
    CHECK(b->rank == 1 && duet_infer_meet(&n, w->dims[1], b->dims[0]), DUET_STATUS_SHAPE,
          "dense: b: expected one element for each column of w %s, got %s",
          DUET_SPEC_TEXT(call->in[1]), DUET_SPEC_TEXT(call->in[2]));
    return DUET_OK;
}

static duet_status run(const duet_kernel *kernel) {
    const char *activation = kernel->attrs[0].text; /* NULL, "none" or "relu", as inferred */
    duet_run_product(kernel, &(duet_product){.bias = kernel->in[2].data,
                                             .relu = activation && *activation == 'r'});
    return DUET_OK;
}

static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {
    duet_tensor *x = call->in[0], *w = call->in[1], *g = call->out_grads[0];
    if (!is_none(call->attrs[0].text)) g = duet_relu_grad(g, call->out[0]);
    if (duet_grad_needs(call, 0))
        TRY(duet_grad_set(in_grads, 0, duet_matmul_flags(g, w, false, true)));
    if (duet_grad_needs(call, 1))
        TRY(duet_grad_set_broadcast(in_grads, call, 1, duet_matmul_flags(x, g, true, false)));
    if (duet_grad_needs(call, 2)) TRY(duet_grad_set_broadcast(in_grads, call, 2, g));
    return DUET_OK;
}

static duet_cost cost(const duet_op_call *call, const duet_spec *out) {
    return duet_cost_product(call, out, false);
}

const duet_op duet_op_dense = {
    .name = "dense",
    .doc = "activation(x w + b) in one kernel, with the bits of matmul, add, relu; b is added last",
    .n_in = 3,
    .n_out = 1,
    .in_names = {"x", "w", "b"},
    .traits = DUET_OP_CONTRACTION,
    .attrs = {{"activation", DUET_ATTR_TEXT, .initial.text = "none"}},
    .infer = infer,
    .run = run,
    .grad = grad,
    .cost = cost,
    .same_as = {{"add(matmul(x, w), b)", NULL}, {"relu(dense(x, w, b))", "activation=relu"}},
    .samples = {"f32[4,5], f32[5,3], f32[3]; activation=relu", "f64[2,3,5], f64[5,17], f64[17]",
                "f32[1,1], f32[1,1], f32[1]", "f32[0,5], f32[5,3], f32[3]",
                "f32[33,20], f32[20,65], f32[65]; activation=relu"},
};
