/* Matrix products over batches: what matmul and dense share. Inputs 0 and 1 are the operands. */
#ifndef DUET_PRODUCT_H
#define DUET_PRODUCT_H

#include "op.h"

typedef struct duet_product {
    bool trans_x, trans_w; /* the operand's last two axes are swapped */
    const void *bias;      /* n elements of the operands' dtype, or NULL */
    bool relu;
    const void
        *gate; /* of out's spec: 0 in place of what stands where it is not above 0; or NULL */
    const void *rate; /* one element: out becomes out - rate * product; NULL: out = product */
} duet_product;

/* *out becomes the spec of the product: batch dimensions broadcast, inner dimensions agree. */
duet_status duet_infer_product(duet_spec *out, const duet_op_call *call, bool trans_x,
                               bool trans_w);

/* out[0] = in[0] . in[1], then bias, relu and gate, or the update by rate. */
void duet_run_product(const duet_kernel *kernel, const duet_product *product);

/* 2 m n k for each matrix of the batch; every operand is read once. */
duet_cost duet_cost_product(const duet_op_call *call, const duet_spec *out, bool trans_x);

#endif
