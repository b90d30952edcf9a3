/* An elementwise op is one C expression of a lane's operands, written once in the op's file. The
 * template kernels/elementwise.inc makes all of this from it. */
#ifndef DUET_KERNELS_ELEMENTWISE_H
#define DUET_KERNELS_ELEMENTWISE_H

#include "op.h"

enum { DUET_ELEMENTWISE_ARITY = 3 };

/* out[i] = f(x[i], y[i], z[i]) for i < n. Which operands are one element for all i is fixed in the
 * loop that is called: see duet_elementwise_code. `out` may be an operand's own memory. */
typedef void (*duet_elementwise_loop)(void *out, const void *x, const void *y, const void *z,
                                      int64_t n);

/* An instruction of the tile machine: its real type depends on the vector type (tile_machine.h). */
typedef void (*duet_tile_handler)(void);

/* How the accumulator meets the other operands, which are tiles in memory, or one scalar. */
typedef enum duet_tile_form {
    DUET_TILE_ACC,        /* f(acc) */
    DUET_TILE_ACC_MEM,    /* f(acc, mem) */
    DUET_TILE_MEM_ACC,    /* f(mem, acc) */
    DUET_TILE_ACC_SCALAR, /* f(acc, scalar) */
    DUET_TILE_SCALAR_ACC, /* f(scalar, acc) */
    DUET_TILE_AMM,        /* f(acc, mem, mem) */
    DUET_TILE_MAM,        /* f(mem, acc, mem) */
    DUET_TILE_MMA,        /* f(mem, mem, acc) */
    DUET_TILE_FORMS
} duet_tile_form;

/* The compiled forms of an expression for one type. */
typedef struct duet_elementwise_code {
    duet_elementwise_loop loops[7]; /* by set of scalar operands: bit 0 x, bit 1 y, bit 2 z */
    duet_tile_handler tile[DUET_TILE_FORMS];
} duet_elementwise_code;

struct duet_elementwise {
    const char *name;
    const char *text;                /* the expression, in x, y, z and ABS, SQRT, EXP, LOG, TANH */
    const char *text_i32;            /* the same for i32 where that differs, else NULL */
    int arity;                       /* 1 to DUET_ELEMENTWISE_ARITY */
    bool x_is_bool, out_is_bool;     /* every other operand, and else the result, has type T */
    bool whole_vectors;              /* the text is of whole vectors, not of one lane */
    const duet_elementwise *to_bool; /* stands in where the result is a bool (cast), else NULL */
    double cost;                     /* in additions */
    duet_elementwise_code code[3];   /* by T: DUET_F32, DUET_F64, DUET_I32 (loops[0] NULL: none) */
};

/* An elementwise op's `infer` and `run`, by arity: operands of one dtype broadcast against each
 * other. */
duet_status duet_elementwise_infer1(duet_spec *out, const duet_op_call *call);
duet_status duet_elementwise_infer2(duet_spec *out, const duet_op_call *call);
duet_status duet_elementwise_infer3(duet_spec *out, const duet_op_call *call);
duet_status duet_elementwise_run1(const duet_kernel *kernel);
duet_status duet_elementwise_run2(const duet_kernel *kernel);
duet_status duet_elementwise_run3(const duet_kernel *kernel);
duet_cost duet_elementwise_cost(const duet_op_call *call, const duet_spec *out);

/* The expression by which a call can be part of a fused program, whose values are all of one type
 * T or bool; NULL where it cannot. *dtype is T, or DUET_BOOL for a call on bools alone, which fits
 * programs of any type. */
const duet_elementwise *duet_elementwise_of(duet_dtype *dtype, const duet_op *op,
                                            const duet_spec *const *in, const duet_spec *out);

/* Additions that take about 10 us: less work than this is not given to another thread. */
enum { DUET_ELEMENTWISE_GRAIN = 1 << 16 };

/* For a descriptor: everything that elementwise ops have in common; and the same with `more`
 * traits. */
#define DUET_ELEMENTWISE(op_name) DUET_ELEMENTWISE_WITH(op_name, 0)
#define DUET_ELEMENTWISE_WITH(op_name, more)                                                       \
    .n_out = 1, .traits = DUET_OP_INPLACE | (more),                                                \
    .infer = DUET_ELEMENTWISE_BY(op_name##_arity, duet_elementwise_infer),                         \
    .run = DUET_ELEMENTWISE_BY(op_name##_arity, duet_elementwise_run),                             \
    .cost = duet_elementwise_cost, .elementwise = &op_name##_elementwise
#define DUET_ELEMENTWISE_BY(arity, function)                                                       \
    ((arity) == 1 ? function##1 : (arity) == 2 ? function##2 : function##3)

#endif
