#include "kernels/elementwise.h"

#include "core/cost.h"
#include "core/infer.h"
#include "kernels/broadcast.h"
#include "pool.h"
#include "vector.h"

/* The checks, with their messages: the way for calls that are not obviously right. */
static duet_status infer_slowly(duet_spec *out, const duet_op_call *call) {
    const duet_elementwise *e = call->op->elementwise;
    bool integers = e->code[DUET_I32].loops[0] != NULL;
    int first = e->x_is_bool; /* the first operand of the type computed in */
    if (e->x_is_bool) TRY(duet_infer_dtype(call, 0, DUET_TYPE(DUET_BOOL)));
    TRY(duet_infer_dtype(call, first, integers ? DUET_TYPES_NUMBER : DUET_TYPES_FLOAT));
    TRY(duet_infer_same_dtype(call, first, e->arity - 1));
    out->dtype = e->out_is_bool ? DUET_BOOL : call->in[first]->dtype;
    TRY(duet_infer_broadcast(out, call, 0));
    return duet_infer_fits(call, out); /* it may be larger than every operand */
}

/* Almost every call is of floats of one shape, and scalars: a few comparisons. */
DUET_ALWAYS_INLINE duet_status infer(duet_spec *out, const duet_op_call *call, int arity) {
    const duet_elementwise *e = call->op->elementwise;
    const duet_spec *widest = call->in[0];
    if (e->x_is_bool || !duet_dtype_is_float((duet_dtype)widest->dtype))
        return infer_slowly(out, call);
    DUET_UNROLL
    for (int i = 1; i < arity; i++) {
        const duet_spec *x = call->in[i];
        if (x->dtype != widest->dtype) return infer_slowly(out, call);
        if (x->shape.rank == 0) continue;
        if (widest->shape.rank != 0 && !duet_shape_equal(&x->shape, &widest->shape))
            return infer_slowly(out, call);
        widest = x;
    }
    duet_spec_copy(out, widest);
    if (e->out_is_bool) out->dtype = DUET_BOOL;
    return DUET_OK;
}

#define DEFINE_INFER(arity)                                                                        \
    duet_status duet_elementwise_infer##arity(duet_spec *out, const duet_op_call *call) {          \
        return infer(out, call, arity);                                                            \
    }
DEFINE_INFER(1)
DEFINE_INFER(2)
DEFINE_INFER(3)

duet_cost duet_elementwise_cost(const duet_op_call *call, const duet_spec *out) {
    double bytes = duet_cost_bytes(out);
    for (int i = 0; i < call->n_in; i++) bytes += duet_cost_bytes(call->in[i]);
    return (duet_cost){.flops = duet_cost_elements(out) * call->op->elementwise->cost,
                       .bytes = bytes};
}

const duet_elementwise *duet_elementwise_of(duet_dtype *dtype, const duet_op *op,
                                            const duet_spec *const *in, const duet_spec *out) {
    const duet_elementwise *e = op->elementwise;
    if (!e) return NULL;
    if (e->to_bool && out->dtype == DUET_BOOL) e = e->to_bool;
    int64_t type = out->dtype;
    for (int i = 0; i < e->arity; i++) {
        if (in[i]->dtype == DUET_BOOL || in[i]->dtype == type) continue;
        if (type != DUET_BOOL) return NULL; /* two number types: only cast has that */
        type = in[i]->dtype;
    }
    *dtype = (duet_dtype)type;
    return e;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Elements of an operand that repeats are written out this many at a time: a stack buffer. */
enum { CHUNK = 512 };

typedef struct operand {
    const char *data;
    size_t size;           /* bytes an element */
    duet_broadcast repeat; /* how it meets the result */
    bool alike;            /* it is the same in every chunk */
} operand;

typedef struct job {
    duet_elementwise_loop loop;
    char *out;
    size_t out_size;
    int arity;
    int64_t chunk; /* elements at a time; 0: all at once, since no operand repeats */
    operand in[DUET_ELEMENTWISE_ARITY];
} job;

typedef char written_out[CHUNK * sizeof(double)] __attribute__((aligned(64)));

/* Where elements begin .. begin + count - 1 of the operand are, if need be in `buffer`, which holds
 * those of the chunk before this one. */
static const void *find_chunk(const operand *x, written_out buffer, int64_t begin, int64_t count,
                              bool first) {
    switch (x->repeat.kind) {
    case DUET_BROADCAST_ONE: return x->data;
    case DUET_BROADCAST_SAME: return x->data + (size_t)begin * x->size;
    case DUET_BROADCAST_REPEAT: break;
    }
    if (x->alike && !first) return buffer;
    const void *found = duet_broadcast_find(&x->repeat, x->data, x->size, begin, count);
    if (found && !x->alike) return found;
    duet_broadcast_read(buffer, &x->repeat, x->data, x->size, begin, count);
    return buffer;
}

static void run_range(void *context, int64_t begin, int64_t end) {
    const job *j = context;
    written_out buffers[DUET_ELEMENTWISE_ARITY];
    const int64_t step = j->chunk ? j->chunk : end - begin;
    for (int64_t i = begin; i < end; i += step) {
        const void *at[DUET_ELEMENTWISE_ARITY] = {NULL};
        int64_t count = end - i < step ? end - i : step;
        for (int k = 0; k < j->arity; k++)
            at[k] = find_chunk(&j->in[k], buffers[k], i, count, i == begin);
        j->loop(j->out + (size_t)i * j->out_size, at[0], at[1], at[2], count);
    }
}

static duet_status apply_general(const duet_elementwise *e, const duet_elementwise_code *code,
                                 int scalars, const duet_view *out, const duet_view *in,
                                 int64_t count) {
    job j = {.loop = code->loops[scalars],
             .out = out->data,
             .out_size = duet_dtype_size((duet_dtype)out->spec->dtype),
             .arity = e->arity};
    for (int i = 0; i < e->arity; i++) {
        operand *x = &j.in[i];
        x->data = in[i].data;
        x->size = duet_dtype_size((duet_dtype)in[i].spec->dtype);
        duet_broadcast_init(&x->repeat, &in[i].spec->shape, &out->spec->shape);
        if (x->repeat.kind != DUET_BROADCAST_REPEAT) continue;
        int64_t period = duet_broadcast_period(&x->repeat);
        if (period > CHUNK) period = 0;
        if (!j.chunk) j.chunk = period ? CHUNK / period * period : CHUNK;
        x->alike = period && j.chunk % period == 0;
    }
    duet_parallel_for(count, (int64_t)(DUET_ELEMENTWISE_GRAIN / e->cost) + CHUNK, run_range, &j);
    return DUET_OK;
}

enum { SMALL = 2048 }; /* elements that no expression makes worth splitting */

DUET_ALWAYS_INLINE duet_status run(const duet_kernel *kernel, int arity) {
    const duet_elementwise *e = kernel->op->elementwise;
    const duet_view *out = kernel->out, *in = kernel->in;
    const duet_elementwise_code *code = &e->code[in[arity - 1].spec->dtype];
    int64_t count = duet_shape_count(&out->spec->shape);
    if (__builtin_expect(count == 0, 0)) return DUET_OK;
    int scalars = 0;
    bool plain = count < SMALL || (double)count * e->cost < 2 * DUET_ELEMENTWISE_GRAIN;
    DUET_UNROLL
    for (int i = 0; i < arity && arity > 1; i++) {
        /* As many elements as the result has, after broadcasting, are the same ones in order. */
        int64_t own = duet_shape_count(&in[i].spec->shape);
        if (own == count) continue;
        if (__builtin_expect(own != 1, 0))
            plain = false;
        else
            scalars |= 1 << i;
    }
    if (__builtin_expect(!plain, 0)) return apply_general(e, code, scalars, out, in, count);
    code->loops[scalars](out->data, in[0].data, arity > 1 ? in[1].data : NULL,
                         arity > 2 ? in[2].data : NULL, count);
    return DUET_OK;
}

#define DEFINE_RUN(arity)                                                                          \
    duet_status duet_elementwise_run##arity(const duet_kernel *kernel) {                           \
        return run(kernel, arity);                                                                 \
    }
DEFINE_RUN(1)
DEFINE_RUN(2)
DEFINE_RUN(3)
