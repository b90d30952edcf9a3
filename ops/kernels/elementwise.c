#include "kernels/elementwise.h"

#include "core/cost.h"
#include "core/infer.h"
#include "kernels/broadcast.h"
#include "pool.h"

/* The checks, with their messages: the way for calls that are not obviously right. */
static duet_status infer_slowly(duet_spec *out, const duet_op_call *call) {
    const duet_elementwise *e = call->op->elementwise;
    bool integers = e->code[DUET_I32].loops[0] != NULL;
    int first = e->x_is_bool; /* the first operand of the type computed in */
    if (e->x_is_bool) TRY(duet_infer_dtype(call, 0, DUET_TYPE(DUET_BOOL)));
    TRY(duet_infer_dtype(call, first, integers ? DUET_TYPES_NUMBER : DUET_TYPES_FLOAT));
    TRY(duet_infer_same_dtype(call, first, e->arity - 1));
    out->dtype = e->out_is_bool ? DUET_BOOL : call->in[first]->dtype;
    return duet_infer_broadcast(out, call, 0);
}

/* Almost every call is of floats of one shape, and scalars: a few comparisons. */
duet_status duet_elementwise_infer(duet_spec *out, const duet_op_call *call) {
    const duet_elementwise *e = call->op->elementwise;
    const duet_spec *widest = call->in[0];
    if (e->x_is_bool || !duet_dtype_is_float((duet_dtype)widest->dtype))
        return infer_slowly(out, call);
    for (int i = 1; i < e->arity; i++) {
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
    size_t size; /* bytes an element */
    duet_broadcast_kind kind;
    duet_broadcast repeat; /* set where kind says so */
} operand;

typedef struct job {
    duet_elementwise_loop loop;
    char *out;
    size_t out_size;
    int arity;
    bool repeats; /* some operand does */
    operand in[DUET_ELEMENTWISE_ARITY];
} job;

/* Elements begin .. begin + count - 1, at most CHUNK of them where an operand repeats. */
static void run_chunk(const job *j, int64_t begin, int64_t count) {
    _Alignas(64) char written_out[DUET_ELEMENTWISE_ARITY][CHUNK * sizeof(double)];
    const void *at[DUET_ELEMENTWISE_ARITY] = {NULL};
    for (int i = 0; i < j->arity; i++) {
        const operand *x = &j->in[i];
        if (x->kind == DUET_BROADCAST_REPEAT) {
            at[i] = duet_broadcast_find(&x->repeat, x->data, x->size, begin, count);
            if (at[i]) continue;
            duet_broadcast_read(written_out[i], &x->repeat, x->data, x->size, begin, count);
            at[i] = written_out[i];
        } else {
            at[i] = x->data + (x->kind == DUET_BROADCAST_SAME ? (size_t)begin * x->size : 0);
        }
    }
    j->loop(j->out + (size_t)begin * j->out_size, at[0], at[1], at[2], count);
}

static void run_range(void *context, int64_t begin, int64_t end) {
    const job *j = context;
    int64_t most = j->repeats ? CHUNK : end - begin;
    for (; begin < end; begin += most) run_chunk(j, begin, end - begin < most ? end - begin : most);
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
        x->kind = x->repeat.kind;
        j.repeats |= x->kind == DUET_BROADCAST_REPEAT;
    }
    duet_parallel_for(count, (int64_t)(DUET_ELEMENTWISE_GRAIN / e->cost) + CHUNK, run_range, &j);
    return DUET_OK;
}

enum { SMALL = 2048 }; /* elements that no expression makes worth splitting */

duet_status duet_elementwise_run(const duet_kernel *kernel) {
    const duet_elementwise *e = kernel->op->elementwise;
    const duet_view *out = kernel->out, *in = kernel->in;
    const int arity = e->arity;
    const duet_elementwise_code *code = &e->code[in[arity - 1].spec->dtype];
    int64_t count = duet_shape_count(&out->spec->shape);
    if (__builtin_expect(count == 0, 0)) return DUET_OK;
    int scalars = 0;
    bool plain = count < SMALL || (double)count * e->cost < 2 * DUET_ELEMENTWISE_GRAIN;
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
