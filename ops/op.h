/* The op contract: everything that makes an op an op.
 *
 * One op is one file, ops/NAME.c, that ends in one constant descriptor `duet_op_NAME`. Dropping the
 * file in is the whole registration. Executors, passes and tests read the descriptor and know no op
 * by name. See docs/adding-an-op.md. */
#ifndef DUET_OP_H
#define DUET_OP_H

#include "tensor.h"

typedef struct duet_op duet_op;
typedef struct duet_body
    duet_body; /* a sub-graph (cond, while, fused): executors give it meaning */

/* ---- attributes: typed, named, in the descriptor's order ---------------------------------- */

enum { DUET_MAX_ATTRS = 5, DUET_MAX_INPUTS = 64, DUET_MAX_OUTPUTS = 16 };

typedef enum duet_attr_kind {
    DUET_ATTR_NONE = 0, /* ends a descriptor's list */
    DUET_ATTR_BOOL,
    DUET_ATTR_INT,
    DUET_ATTR_FLOAT,
    DUET_ATTR_DTYPE,
    DUET_ATTR_INTS,   /* up to DUET_MAX_RANK integers: axes, shapes */
    DUET_ATTR_TEXT,   /* not owned: lives as long as whoever passes it says; a trace copies it */
    DUET_ATTR_TENSOR, /* a constant; counted */
    DUET_ATTR_BODY,   /* a sub-graph; counted */
} duet_attr_kind;

typedef struct duet_ints {
    int64_t count;
    int64_t at[DUET_MAX_RANK];
} duet_ints;
#define DUET_INTS(...)                                                                             \
    ((duet_ints){sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), {__VA_ARGS__}})

typedef union duet_attr {
    bool b;
    int64_t i;
    double f;
    duet_dtype dtype;
    duet_ints ints;
    const char *text;
    duet_tensor *tensor;
    duet_body *body;
} duet_attr;

typedef struct duet_attr_spec {
    const char *name;
    duet_attr_kind kind;
    bool required; /* else `initial` holds where the caller says nothing */
    duet_attr initial;
} duet_attr_spec;

/* ---- what the functions of a descriptor receive ------------------------------------------- */

/* A call before there is data. `in[i]` is never NULL; attrs has one entry per described attribute.
 */
typedef struct duet_op_call {
    const duet_op *op;
    const duet_attr *attrs;
    const duet_spec *const *in;
    int n_in;
} duet_op_call;

/* A value while a kernel runs: dense row-major data of `spec`. */
typedef struct duet_view {
    void *data;
    const duet_spec *spec;
} duet_view;

/* A call with data. Outputs are allocated and uninitialised and never overlap inputs, except that
 * an op with DUET_OP_INPLACE may get out[0].data == in[i].data for an input of the same spec. */
typedef struct duet_kernel {
    const duet_op *op;
    const duet_attr *attrs;
    const duet_view *in;
    const duet_view *out;
    int n_in, n_out;
} duet_kernel;

/* A recorded call whose gradient is wanted. A rule sets in_grads[i] (NULL: no gradient) for the
 * inputs i whose bit is set in `needs`, by ordinary op calls: so it runs eagerly, is traced, fused
 * and differentiated again. out_grads[i] is NULL where nothing depends on output i.
 * Rules never read dimensions as numbers (they may be free): they use sum_to_like & co. */
typedef struct duet_grad {
    const duet_op *op;
    const duet_attr *attrs;
    duet_tensor *const *in;
    duet_tensor *const *out;
    duet_tensor *const *out_grads;
    int n_in, n_out;
    uint64_t needs;
} duet_grad;

typedef struct duet_cost {
    double flops, bytes;
} duet_cost;

/* ---- the descriptor ----------------------------------------------------------------------- */

enum {
    DUET_OP_INPLACE = 1 << 0, /* may write out[0] over an input of equal spec, lane by lane */
    DUET_OP_VIEW = 1 << 1,    /* out[0] is in[0]'s bytes under another shape: never copied. `run`
                                 then sees out[0].data == in[0].data and need not be called,
                                 unless the op is stateful too */
    DUET_OP_REDUCTION = 1 << 2,
    DUET_OP_CONTRACTION = 1 << 3,
    DUET_OP_STATEFUL = 1 << 4,     /* has an effect beyond its outputs: kept, in program order */
    DUET_OP_SHAPE_ONLY = 1 << 5,   /* of inputs 1 .. it reads only the shapes (..._like ops) */
    DUET_OP_IDENTITY = 1 << 7,     /* is its first input, bit for bit, where the specs are equal */
    DUET_OP_INVOLUTION = 1 << 8,   /* op(op(x)) is x, bit for bit */
    DUET_OP_IDEMPOTENT = 1 << 9,   /* op(op(x)) is op(x), bit for bit */
    DUET_OP_BY_REFERENCE = 1 << 6, /* takes a variable itself, not its value as of now (read) */
};

/* See kernels/elementwise.h: an elementwise op's scalar expression in all its compiled forms. */
typedef struct duet_elementwise duet_elementwise;

/* See kernels/reduce.h: what a reduction joins elements by. */
typedef struct duet_reduction duet_reduction;

enum { DUET_MAX_SAMPLES = 8, DUET_MAX_PATTERNS = 3 };

/* Other calls that an op computes with the same bits, so that it may take their place in a graph:
 * expr "add(matmul(x, w), b)" in the names of the op's inputs. The op's attributes are those of the
 * calls that have the same names; `attrs` ("activation=relu", or NULL) sets one more; all other
 * attributes must have their defaults. */
typedef struct duet_pattern {
    const char *expr, *attrs;
} duet_pattern;

struct duet_op {
    const char *name;
    const char *doc;         /* one line: formula, then what is special */
    int n_in, n_in_max;      /* fewest and most inputs; n_in_max 0 means n_in */
    int n_out;               /* number of outputs; -1: as many as its first BODY attribute has */
    const char *in_names[4]; /* for messages: "x", "y"; the last one repeats */
    uint32_t traits;         /* DUET_OP_... */
    uint64_t writes;         /* bit i: input i is a variable that is read and written */
    duet_attr_spec attrs[DUET_MAX_ATTRS];
    duet_status (*infer)(duet_spec *out, const duet_op_call *call); /* out: one spec per output */
    duet_status (*run)(const duet_kernel *kernel); /* the kernel; inputs are as inferred */
    duet_status (*grad)(duet_tensor **in_grads,
                        const duet_grad *call); /* NULL: not differentiable */
    duet_cost (*cost)(const duet_op_call *call,
                      const duet_spec *out); /* NULL: one flop an output */
    const duet_elementwise *elementwise;     /* NULL: not elementwise */
    const duet_reduction *reduction;         /* NULL: no reduction over attrs axes, keepdims */
    struct {
        bool left, right; /* of which side */
        double value;
    } neutral; /* x op value (right), value op x (left) is x, bit for bit: 1 of mul, -0 of add */
    duet_pattern same_as[DUET_MAX_PATTERNS];
    double domain[2]; /* where samples' values are drawn; {0,0} means [-2, 2] */
    /* What the generic tests call the op with: "f32[3,4], f32[4]; axis=1". Inputs, then attributes;
     * "var f32[3]" makes a variable. */
    const char *samples[DUET_MAX_SAMPLES];
};

/* ---- calling ------------------------------------------------------------------------------ */

/* Runs `op` through the thread's current executor: eagerly, or into the trace that is being
 * recorded. Declared here, implemented by executors/: the one way from ops to what is above them.
 *   out    op->n_out results, owned by the innermost scope; all NULL on failure
 *   attrs  one entry per described attribute, or NULL for all defaults
 *   in     a NULL operand makes the call fail and keeps the message of the failure that made it
 * Variables among the inputs are read as of now, unless the op writes them. */
duet_status duet_dispatch(duet_tensor **out, const duet_op *op, const duet_attr *attrs,
                          duet_tensor *const *in, int n_in);

/* duet_dispatch for ops of one output: the result, or NULL. */
duet_tensor *duet_apply(const duet_op *op, const duet_attr *attrs, duet_tensor *const *in,
                        int n_in);

/* The same for one, two or three operands and default attributes, as most calls are. */
duet_tensor *duet_apply1(const duet_op *op, duet_tensor *x);
duet_tensor *duet_apply2(const duet_op *op, duet_tensor *x, duet_tensor *y);
duet_tensor *duet_apply3(const duet_op *op, duet_tensor *x, duet_tensor *y, duet_tensor *z);

/* Notes where in the caller's source an op was called: in the graph node while tracing, in the
 * message when it failed. The macros of the public headers wrap every typed function in it. */
duet_tensor *duet_here_slowly(duet_tensor *result, const char *file, int line);
static inline duet_tensor *duet_here(duet_tensor *result, const char *file, int line) {
    if (__builtin_expect(result && !(result->flags & DUET_TENSOR_SYMBOLIC), 1)) return result;
    return duet_here_slowly(result, file, line);
}
duet_status duet_here_status(duet_status status, const char *file, int line);
#define DUET_HERE(call) duet_here(call, __FILE__, __LINE__)
#define DUET_HERE_STATUS(call) duet_here_status(call, __FILE__, __LINE__)

/* ---- the registry ------------------------------------------------------------------------- */

/* The op of that name, built in or registered; NULL (with a message that suggests a near name). */
const duet_op *duet_op_find(const char *name);

/* Adds an op of the caller's own; the descriptor must live as long as the process. Refuses a name
 * that is taken and a descriptor that breaks the contract. */
duet_status duet_op_register(const duet_op *op);

/* All ops in order of name, then the registered ones: index 0 .. duet_op_count() - 1. */
int duet_op_count(void);
const duet_op *duet_op_at(int index);

int duet_op_attr_count(const duet_op *op);

/* Outputs of a call: op->n_out, or where that is -1 those of its first BODY attribute. */
int duet_op_n_out(const duet_op *op, const duet_attr *attrs);
const char *duet_op_input_name(const duet_op *op, int index);

#endif
