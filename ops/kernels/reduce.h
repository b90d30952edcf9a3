/* Reductions: many elements to one by an operation such as x + y, in an order that is fixed by the
 * shape alone. It never depends on threads, nor on whether the elements lie in memory or are just
 * being computed by a fused producer.
 *
 * A run of elements that lie side by side is cut into blocks. Within a block, tiles of eight
 * vectors fold to one vector as a tree, the vectors of a block's tiles join pairwise, and then the
 * lanes do. The blocks' results are such a run again. So an element takes part in O(log n)
 * additions, and the rounding error grows like that (N. Higham: "The accuracy of floating point
 * summation", SIAM J. Sci. Comput. 14(4), 1993). */
#ifndef DUET_KERNELS_REDUCE_H
#define DUET_KERNELS_REDUCE_H

#include "op.h"
#include "vector.h"

enum {
    DUET_REDUCE_TILE = 8 * DUET_VECTOR_BYTES,  /* bytes: as the tile machine's */
    DUET_REDUCE_BLOCK = 16 * DUET_REDUCE_TILE, /* bytes: 8 KiB with AVX-512 */
    DUET_REDUCE_ROWS = 1024,                   /* rows of a block, when whole rows are added */
};

/* An operation's code for one type; made by kernels/reduce.inc. */
typedef struct duet_reduction_code {
    /* *out from `count` side by side, of at most DUET_REDUCE_BLOCK bytes; sums of none are 0 */
    void (*block)(void *out, const void *x, int64_t count);
    /* out[j] from x[i * stride + j] for i < rows, at most DUET_REDUCE_ROWS, and j < columns */
    void (*columns)(void *out, const void *x, int64_t rows, int64_t stride, int64_t columns);
} duet_reduction_code;

/* What an op reduces by: its descriptor's `reduction`. */
struct duet_reduction {
    const char *text;                /* the expression, in x and y */
    const duet_reduction_code *code; /* by type: DUET_F32, DUET_F64, DUET_I32 */
    bool mean;                       /* divided by the number of elements in the end */
    bool refuses_none;               /* of no elements there is no result (max) */
};

extern const duet_reduction_code duet_reduce_sum[3]; /* x + y; of none: 0 */

/* Reduces in[0] over the axes in the set `axes` (bit per axis); `out` has as many elements as the
 * others' product, with or without the reduced axes as 1. */
duet_status duet_reduce(const duet_reduction *reduction, const duet_view *out, const duet_view *in,
                        unsigned axes);

/* out[i] /= by, for floats: how every mean ends. */
void duet_reduce_divide(void *out, duet_dtype dtype, int64_t count, double by);

/* Gives elements begin .. begin + count - 1 of a value, which it may compute into `scratch` (of
 * DUET_REDUCE_BLOCK bytes, aligned as vectors; count fits). Called from several threads at once. */
typedef const void *(*duet_reduce_source)(void *context, void *scratch, int64_t begin,
                                          int64_t count);

/* out[i] from elements i * run .. (i + 1) * run - 1 of a source, for i < rows. `cost` is that of an
 * element, in additions. The same bits as duet_reduce gives over trailing axes. */
void duet_reduce_runs(const duet_reduction *reduction, duet_dtype dtype, void *out, int64_t rows,
                      int64_t run, double cost, duet_reduce_source source, void *context);

/* ---- for the ops: kernels/reduce_op.c -------------------------------------------------------- */

/* `infer`, `run` and `cost` of an op with the attributes "axes" and "keepdims", in this order. */
duet_status duet_reduce_infer(duet_spec *out, const duet_op_call *call);
duet_status duet_reduce_run(const duet_kernel *kernel);
duet_cost duet_reduce_cost(const duet_op_call *call, const duet_spec *out);

/* For a descriptor: everything that such ops have in common. */
#define DUET_REDUCTION(op_reduction)                                                               \
    .n_in = 1, .n_out = 1, .in_names = {"x"}, .traits = DUET_OP_REDUCTION,                         \
    .attrs = {{.name = "axes", .kind = DUET_ATTR_INTS},                                            \
              {.name = "keepdims", .kind = DUET_ATTR_BOOL}},                                       \
    .infer = duet_reduce_infer, .run = duet_reduce_run, .cost = duet_reduce_cost,                  \
    .reduction = op_reduction

/* The attributes of a call of such an op. */
#define DUET_REDUCE_ATTRS(axes_given, keep) ((duet_attr[]){{.ints = (axes_given)}, {.b = (keep)}})

/* ---- broadcast_like and sum_to_like: attributes "axes" and "mean", in this order ------------- */

/* `smaller` with its missing `axes`, of a shape of `rank`, put back as 1. */
duet_shape duet_reduce_align(const duet_shape *smaller, const duet_ints *axes, int64_t rank);

/* Checks that input `smaller`, so aligned, broadcasts to input `larger`. */
duet_status duet_reduce_check_align(const duet_op_call *call, int smaller, int larger);

#endif
