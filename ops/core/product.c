#include "core/product.h"

#include "core/cost.h"
#include "core/infer.h"
#include "kernels/gemm.h"
#include "pool.h"

static int64_t from_end(const duet_shape *shape, int64_t i) { return shape->dims[shape->rank - i]; }

static duet_status check_operand(const duet_op_call *call, int input) {
    TRY(duet_infer_dtype(call, input, DUET_TYPES_FLOAT));
    CHECK(call->in[input]->shape.rank >= 2, DUET_STATUS_SHAPE,
          "%s: %s: expected rank 2 or more, got %s", call->op->name,
          duet_op_input_name(call->op, input), DUET_SPEC_TEXT(call->in[input]));
    return DUET_OK;
}

static duet_shape batch_of(const duet_shape *shape) {
    duet_shape batch = *shape;
    batch.rank -= 2;
    for (int64_t i = batch.rank; i < shape->rank; i++) batch.dims[i] = 0;
    return batch;
}

static duet_status mismatch(const duet_op_call *call, const char *what, bool trans_x,
                            bool trans_w) {
    return duet_fail(DUET_STATUS_SHAPE, "%s: %s: %s is %s%s, %s is %s%s", call->op->name, what,
                     duet_op_input_name(call->op, 0), DUET_SPEC_TEXT(call->in[0]),
                     trans_x ? " transposed" : "", duet_op_input_name(call->op, 1),
                     DUET_SPEC_TEXT(call->in[1]), trans_w ? " transposed" : "");
}

duet_status duet_infer_product(duet_spec *out, const duet_op_call *call, bool trans_x,
                               bool trans_w) {
    TRY(check_operand(call, 0));
    TRY(check_operand(call, 1));
    TRY(duet_infer_same_dtype(call, 0, 1));
    const duet_shape *x = &call->in[0]->shape, *w = &call->in[1]->shape;
    int64_t k;
    if (!duet_infer_meet(&k, from_end(x, trans_x ? 2 : 1), from_end(w, trans_w ? 1 : 2)))
        return mismatch(call, "inner dimensions differ", trans_x, trans_w);
    *out = (duet_spec){.dtype = call->in[0]->dtype};
    if (x->rank > 2 || w->rank > 2) {
        duet_shape x_batch = batch_of(x), w_batch = batch_of(w);
        if (!duet_shape_broadcast(&out->shape, &x_batch, &w_batch))
            return mismatch(call, "batch dimensions do not broadcast", false, false);
    }
    out->shape.dims[out->shape.rank++] = from_end(x, trans_x ? 1 : 2);
    out->shape.dims[out->shape.rank++] = from_end(w, trans_w ? 2 : 1);
    return duet_infer_fits(call, out);
}

/* The matrices of a batch, and how far apart each operand's are along each batch axis. */
typedef struct batch {
    duet_gemm_shape gemm;
    const duet_kernel *kernel;
    const duet_product *product;
    int64_t rank, dims[DUET_MAX_RANK], x_steps[DUET_MAX_RANK], w_steps[DUET_MAX_RANK];
    int64_t count;
} batch;

static void find_steps(int64_t *steps, const batch *b, const duet_shape *operand) {
    int64_t added = b->rank + 2 - operand->rank;
    int64_t step = from_end(operand, 1) * from_end(operand, 2);
    for (int64_t i = b->rank - 1; i >= 0; i--) {
        int64_t dim = i < added ? 1 : operand->dims[i - added];
        steps[i] = dim == 1 ? 0 : step; /* a matrix that repeats */
        step *= dim;
    }
}

static duet_gemm_shape matrix_of(const duet_kernel *kernel, const duet_product *product) {
    const duet_shape *x = &kernel->in[0].spec->shape, *out = &kernel->out[0].spec->shape;
    duet_gemm_shape gemm = {.m = from_end(out, 2),
                            .n = from_end(out, 1),
                            .k = from_end(x, product->trans_x ? 2 : 1),
                            .trans_a = product->trans_x,
                            .trans_b = product->trans_w};
    /* One w for every row of every x: a single product with the rows of the whole batch. */
    if (kernel->in[1].spec->shape.rank == 2 && !product->trans_x)
        for (int64_t i = 0; i < out->rank - 2; i++) gemm.m *= out->dims[i];
    return gemm;
}

static batch make_batch(const duet_gemm_shape *gemm, const duet_kernel *kernel,
                        const duet_product *product) {
    const duet_shape *out = &kernel->out[0].spec->shape;
    batch b = {.gemm = *gemm, .kernel = kernel, .product = product, .rank = out->rank - 2};
    b.count = 1;
    for (int64_t i = 0; i < b.rank; i++) b.count *= b.dims[i] = out->dims[i];
    find_steps(b.x_steps, &b, &kernel->in[0].spec->shape);
    find_steps(b.w_steps, &b, &kernel->in[1].spec->shape);
    return b;
}

/* One matrix product; x, w and out count elements from where the operands begin. */
static void run_matrix(const duet_gemm_shape *gemm, const duet_kernel *kernel,
                       const duet_product *p, int64_t x, int64_t w, int64_t out) {
    const void *left = kernel->in[0].data, *right = kernel->in[1].data, *gate = p->gate;
    void *to = kernel->out[0].data;
    if (kernel->out[0].spec->dtype == DUET_F32)
        duet_gemm_f32((float *)to + out, (const float *)left + x, (const float *)right + w, gemm,
                      &(duet_gemm_epilogue_f32){p->bias, gate ? (const float *)gate + out : NULL,
                                                p->rate, p->relu});
    else
        duet_gemm_f64((double *)to + out, (const double *)left + x, (const double *)right + w, gemm,
                      &(duet_gemm_epilogue_f64){p->bias, gate ? (const double *)gate + out : NULL,
                                                p->rate, p->relu});
}

static void run_matrices(void *context, int64_t begin, int64_t end) {
    const batch *b = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t x = 0, w = 0, out = i * b->gemm.m * b->gemm.n, rest = i;
        for (int64_t axis = b->rank - 1; axis >= 0; axis--) {
            int64_t index = rest % b->dims[axis];
            rest /= b->dims[axis];
            x += index * b->x_steps[axis];
            w += index * b->w_steps[axis];
        }
        run_matrix(&b->gemm, b->kernel, b->product, x, w, out);
    }
}

void duet_run_product(const duet_kernel *kernel, const duet_product *product) {
    enum { LARGE = 1 << 23 }; /* flops: from here one product alone fills the pool */
    duet_gemm_shape gemm = matrix_of(kernel, product);
    int64_t count = duet_shape_count(&kernel->out[0].spec->shape);
    if (gemm.m * gemm.n == count) { /* one matrix, or none */
        if (count) run_matrix(&gemm, kernel, product, 0, 0, 0);
        return;
    }
    batch b = make_batch(&gemm, kernel, product);
    double flops = 2.0 * (double)b.gemm.m * (double)b.gemm.n * (double)b.gemm.k;
    if (flops >= LARGE)
        run_matrices(&b, 0, b.count);
    else
        duet_parallel_for(b.count, 1 + (int64_t)(1e6 / (flops + 1)), run_matrices, &b);
}

duet_cost duet_cost_product(const duet_op_call *call, const duet_spec *out, bool trans_x) {
    const duet_shape *x = &call->in[0]->shape;
    int64_t k = from_end(x, trans_x ? 2 : 1);
    double bytes = duet_cost_bytes(out);
    for (int i = 0; i < call->n_in; i++) bytes += duet_cost_bytes(call->in[i]);
    return (duet_cost){2 * duet_cost_elements(out) * (double)(k == DUET_FREE_DIM ? 1 : k), bytes};
}
