#include "random_ops.h"

#include "random_program.h"
#include "sample.h"

#define SHAPE_OF_LIST DUET_SHAPE(-1)
#define SHAPE_OF_ROW DUET_SHAPE(1, -1)
#define SHAPE_OF_COLUMN DUET_SHAPE(-1, 1)

int random_below(random_run *run, int below) { return (int)(sample_uniform(&run->random) * below); }

duet_spec random_spec(uint64_t *random, bool is_float) {
    static const int64_t sizes[] = {1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33};
    int kind = (int)(sample_uniform(random) * 10);
    duet_dtype other = kind < 8 ? DUET_F64 : kind < 9 ? DUET_I32 : DUET_BOOL;
    duet_spec spec = {.dtype = kind < 6 ? DUET_F32 : is_float ? DUET_F64 : other};
    spec.shape.rank = (int64_t)(sample_uniform(random) * 4);
    for (int64_t i = 0; i < spec.shape.rank; i++)
        spec.shape.dims[i] = sizes[(int)(sample_uniform(random) * 12)];
    if (sample_uniform(random) < 0.02 && spec.shape.rank) spec.shape.dims[0] = 0;
    while (duet_shape_count(&spec.shape) > LARGEST_VALUE) spec.shape.dims[--spec.shape.rank] = 0;
    return spec;
}

void random_push(random_run *run, duet_tensor *t) {
    if (!t) {
        duet_error_clear();
        return;
    }
    if (duet_tensor_count(t) > LARGEST_VALUE) return;
    int slot = run->count < POOL_ROOM ? run->count++ : random_below(run, POOL_ROOM);
    run->pool[slot] = t;
}

/* Mostly what came last, so that chains grow. */
static duet_tensor *any(random_run *run) {
    int recent = run->count < 4 ? run->count : 4;
    if (random_below(run, 2)) return run->pool[run->count - 1 - random_below(run, recent)];
    return run->pool[random_below(run, run->count)];
}

static duet_tensor *of_dtype(random_run *run, duet_dtype dtype) {
    for (int i = 0; i < 8; i++) {
        duet_tensor *t = any(run);
        if (duet_tensor_dtype(t) == dtype) return t;
    }
    return duet_cast(any(run), dtype);
}

static duet_tensor *any_float(random_run *run) {
    duet_tensor *t = any(run);
    return duet_dtype_is_float(duet_tensor_dtype(t)) ? t : duet_cast(t, DUET_F32);
}

static duet_tensor *constant(random_run *run, duet_dtype dtype) {
    static const double values[] = {0, -0.0, 1, -1, 0.5, 2, 1, 0.01};
    double value = values[random_below(run, 8)];
    duet_shape shape = {0};
    if (random_below(run, 4) == 0) shape = any(run)->spec.shape;
    return duet_full(shape, dtype, value);
}

/* A second operand for `x`: of its dtype; shapes often broadcast, and often do not fit. */
static duet_tensor *partner(random_run *run, duet_tensor *x) {
    duet_dtype dtype = duet_tensor_dtype(x);
    if (random_below(run, 4) == 0) return constant(run, dtype);
    duet_tensor *y = of_dtype(run, dtype);
    int64_t rank = x->spec.shape.rank;
    if (rank == 0 || !y || random_below(run, 2)) return y;
    int64_t axis = random_below(run, (int)rank); /* x with an axis gone or 1 */
    return duet_max(x, (duet_ints){1, {axis}}, random_below(run, 2));
}

/* ---- families of ops ------------------------------------------------------------------------- */

static duet_tensor *unary(random_run *run) {
    duet_tensor *x = any(run);
    switch (random_below(run, 10)) {
    case 0: return duet_neg(x);
    case 1: return duet_abs(x);
    case 2: return duet_square(x);
    case 3: return duet_relu(x);
    case 4: return duet_sqrt(duet_abs(any_float(run)));
    case 5: return duet_exp(duet_tanh(any_float(run)));
    case 6: return duet_log(any_float(run));
    case 7: return duet_tanh(any_float(run));
    case 8: return duet_sigmoid(any_float(run));
    default: return duet_cast(x, (duet_dtype)random_below(run, DUET_DTYPE_COUNT));
    }
}

static duet_tensor *binary(random_run *run) {
    duet_tensor *x = any(run), *y = partner(run, x);
    if (random_below(run, 2)) {
        duet_tensor *swap = x;
        x = y, y = swap;
    }
    switch (random_below(run, 10)) {
    case 0:
    case 1: return duet_add(x, y);
    case 2: return duet_sub(x, y);
    case 3:
    case 4: return duet_mul(x, y);
    case 5: return duet_div(x, y);
    case 6: return duet_maximum(x, y);
    case 7: return duet_minimum(x, y);
    case 8: return duet_relu_grad(x, y);
    default: return random_below(run, 2) ? duet_greater(x, y) : duet_equal(x, y);
    }
}

static duet_tensor *choice(random_run *run) {
    duet_tensor *x = any(run), *y = partner(run, x);
    duet_tensor *mask = random_below(run, 2) ? of_dtype(run, DUET_BOOL) : duet_greater(x, y);
    return duet_where(mask, x, y);
}

static duet_tensor *reduction(random_run *run) {
    duet_tensor *x = any(run);
    int rank = (int)x->spec.shape.rank;
    duet_ints axes = {0};
    bool keepdims = random_below(run, 2);
    for (int i = 0; i < rank; i++)
        if (random_below(run, 2)) axes.at[axes.count++] = random_below(run, 2) ? i : i - rank;
    switch (random_below(run, 5)) {
    case 0: return duet_sum(x, axes, keepdims);
    case 1: return duet_mean(x, axes, keepdims);
    case 2: return duet_max(x, axes, keepdims);
    case 3: return duet_softmax(any_float(run), -1);
    default: return duet_mse(x, duet_square(x));
    }
}

static duet_tensor *product(random_run *run) {
    duet_tensor *x = any_float(run), *y = of_dtype(run, duet_tensor_dtype(x));
    int64_t rank = x->spec.shape.rank;
    bool a = random_below(run, 2), b = random_below(run, 2);
    if (random_below(run, 3) == 0) return duet_matmul_flags(x, y, a, b);
    if (rank < 2)
        return duet_matmul(duet_reshape(x, SHAPE_OF_ROW), duet_reshape(x, SHAPE_OF_COLUMN));
    if (random_below(run, 2)) return duet_matmul_flags(x, x, a, !a); /* always fits */
    duet_ints begin = {0}, size = {.count = rank};
    begin.count = rank; /* a layer whose bias is one row of its weights */
    for (int64_t i = 0; i < rank; i++) size.at[i] = -1;
    size.at[rank - 2] = 1;
    duet_tensor *w = duet_matmul_flags(x, x, true, false);
    duet_tensor *bias = duet_reshape(duet_slice(w, begin, size), SHAPE_OF_LIST);
    bool relu = random_below(run, 2);
    if (rank == 2 && random_below(run, 2)) return duet_dense(x, w, bias, relu ? "relu" : NULL);
    duet_tensor *sum = duet_add(duet_matmul(x, w), bias);
    return relu ? duet_relu(sum) : sum;
}

static duet_tensor *part_of(random_run *run, duet_tensor *x) {
    duet_ints begin = {.count = x->spec.shape.rank}, size = {.count = x->spec.shape.rank};
    for (int64_t i = 0; i < begin.count; i++) {
        int dim = (int)x->spec.shape.dims[i];
        begin.at[i] = dim ? random_below(run, dim) : 0;
        size.at[i] = random_below(run, 2) ? -1 : random_below(run, dim - (int)begin.at[i] + 1);
    }
    return duet_slice(x, begin, size);
}

static duet_tensor *transposed(random_run *run, duet_tensor *x) {
    duet_ints perm = {.count = x->spec.shape.rank};
    for (int i = 0; i < perm.count; i++) { /* Fisher and Yates's shuffle, inside out */
        int j = random_below(run, i + 1);
        perm.at[i] = perm.at[j];
        perm.at[j] = i;
    }
    return duet_transpose(x, perm);
}

static duet_tensor *movement(random_run *run) {
    duet_tensor *x = any(run), *y = partner(run, x);
    duet_shape wider = x->spec.shape;
    int64_t rank = wider.rank;
    switch (random_below(run, 7)) {
    case 0: return duet_reshape(x, random_below(run, 2) ? SHAPE_OF_LIST : SHAPE_OF_ROW);
    case 1: return transposed(run, x);
    case 2: return part_of(run, x);
    case 3:
        if (rank == 0) return duet_reshape(x, SHAPE_OF_LIST);
        return duet_concat((duet_tensor *[]){x, y, x}, 1 + random_below(run, 3),
                           random_below(run, (int)rank));
    case 4: return duet_broadcast_like(y, x);
    case 5: return duet_sum_to_like(x, y);
    default:
        if (rank == DUET_MAX_RANK) return duet_neg(x);
        memmove(wider.dims + 1, wider.dims, (size_t)rank * sizeof *wider.dims);
        wider.dims[0] = 1 + random_below(run, 3);
        wider.rank++;
        return duet_broadcast_to(x, wider);
    }
}

/* ---- variables and nesting
 * ----------------------------------------------------------------------- */

/* A value of the variable's type, with the pool's data in it. */
static duet_tensor *update_for(random_run *run, duet_tensor *variable) {
    duet_tensor *x = of_dtype(run, duet_tensor_dtype(variable));
    duet_tensor *mean = duet_mean(duet_tanh(x), DUET_NO_AXES, false);
    return duet_broadcast_like(mean, variable);
}

static void write_variable(random_run *run) {
    duet_tensor *v = run->variables[random_below(run, PROGRAM_VARIABLES)];
    duet_tensor *x = update_for(run, v),
                *rate = duet_full(DUET_SCALAR, duet_tensor_dtype(v), 0.125);
    if (random_below(run, 4) == 0) random_push(run, duet_read(v)); /* what it was */
    switch (random_below(run, 4)) {
    case 0: duet_assign(v, x); break;
    case 1: duet_assign_add(v, x); break;
    case 2: duet_sgd(v, x, rate); break;
    default: duet_assign(v, duet_mul(duet_tanh(v), x)); break;
    }
    duet_error_clear();
}

static duet_tensor *use_variable(random_run *run) {
    duet_tensor *v = run->variables[random_below(run, PROGRAM_VARIABLES)];
    switch (random_below(run, 4)) {
    case 0: return duet_read(v);
    case 1: return duet_mul(v, duet_full(DUET_SCALAR, duet_tensor_dtype(v), 2));
    case 2:
        return duet_random_uniform(any(run)->spec.shape, DUET_F32,
                                   run->variables[PROGRAM_VARIABLES], -1, 1);
    default: return duet_reshape(v, SHAPE_OF_LIST);
    }
}

static void call_inner(random_run *run) {
    duet_tensor *in[PROGRAM_INPUTS], *out[DUET_MAX_OUTPUTS];
    if (!run->inner) return;
    for (int i = 0; i < PROGRAM_INPUTS; i++) in[i] = any(run);
    if (duet_call(run->inner, out, in) != DUET_OK)
        random_push(run, NULL);
    else
        for (int i = 0; i < PROGRAM_RESULTS; i++) random_push(run, out[i]);
}

/* Some steps under a tape, then the gradient of what came out by what went in. */
static void differentiate(random_run *run) {
    if (run->depth == 2) return;
    run->depth++;
    duet_tape *tape = duet_tape_new(false);
    duet_tensor *source = any_float(run), *grad = NULL;
    if (source && duet_tape_watch(tape, source) == DUET_OK) {
        random_push(run, source);
        for (int i = 2 + random_below(run, 6); i > 0; i--) random_step(run);
        duet_gradient(&grad, tape, any_float(run), &source, 1);
    }
    duet_tape_free(tape);
    if (grad) random_push(run, grad);
    duet_error_clear();
    run->depth--;
}

/* ---- control flow: bodies draw nothing, since both branches are traced and one is run
 * ------------ */

typedef struct control {
    duet_tensor *around, *variable; /* what the bodies use beside their arguments */
    int kind;
} control;

static duet_status then_body(duet_tensor **out, duet_tensor *const *in, void *user) {
    const control *c = user;
    out[0] = duet_relu(duet_mul(in[0], in[0]));
    if (c->kind & 1) TRY(duet_assign(c->variable, duet_neg(duet_tanh(c->variable))));
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status else_body(duet_tensor **out, duet_tensor *const *in, void *user) {
    const control *c = user;
    out[0] = duet_add(in[0], duet_sum_to_like(duet_broadcast_like(c->around, in[0]), in[0]));
    if (c->kind & 2) out[0] = in[0];
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status goes_on(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = duet_greater(duet_i32(3), in[1]);
    return DUET_OK;
}

static duet_status loop_body(duet_tensor **out, duet_tensor *const *in, void *user) {
    const control *c = user;
    duet_tensor *mean = duet_mean(c->kind & 1 ? c->variable : c->around, DUET_NO_AXES, false);
    out[0] = duet_tanh(duet_add(in[0], duet_cast(mean, duet_tensor_dtype(in[0]))));
    out[1] = duet_add(in[1], duet_i32(1));
    return out[0] && out[1] ? DUET_OK : duet_error_code();
}

/* Under a tape both branches use the same, and under two (for second order) there is none: what
 * only the branch not taken uses has gradient NULL eagerly, zeros in a graph. And no variables: a
 * sub-graph with state has no gradient. */
static void control_flow(random_run *run) {
    if (!run->inner || run->depth == 2) return;
    duet_tensor *x = any_float(run), *out[2];
    if (!x) return duet_error_clear();
    control c = {.around = duet_full(DUET_SCALAR, duet_tensor_dtype(x), 0.25),
                 .variable = run->variables[random_below(run, PROGRAM_VARIABLES)],
                 .kind = run->depth ? 0 : random_below(run, 4)};
    duet_tensor *around = run->depth ? NULL : of_dtype(run, duet_tensor_dtype(x));
    if (around && around->spec.shape.rank == 0) c.around = around;
    duet_status status;
    if (random_below(run, 2)) {
        duet_tensor *mean = duet_mean(x, DUET_NO_AXES, false);
        duet_tensor *pred = duet_greater(mean, duet_full(DUET_SCALAR, duet_tensor_dtype(x), 0));
        status = duet_cond(out, 1, pred, then_body, else_body, &x, 1, &c);
    } else {
        status = duet_while(out, goes_on, loop_body, (duet_tensor *[]){x, duet_i32(0)}, 2, &c);
    }
    /* Eagerly a branch may give its input itself, which a later tape could watch: in a graph not.
     */
    random_push(run, status == DUET_OK ? duet_neg(out[0]) : NULL);
}

void random_step(random_run *run) {
    int kind = random_below(run, 100);
    if (kind < 22)
        random_push(run, unary(run));
    else if (kind < 54)
        random_push(run, binary(run));
    else if (kind < 59)
        random_push(run, choice(run));
    else if (kind < 67)
        random_push(run, reduction(run));
    else if (kind < 73)
        random_push(run, product(run));
    else if (kind < 84)
        random_push(run, movement(run));
    else if (kind < 90)
        random_push(run, use_variable(run));
    else if (kind < 94)
        write_variable(run);
    else if (kind < 96)
        call_inner(run);
    else if (kind < 98)
        control_flow(run);
    else
        differentiate(run);
}
