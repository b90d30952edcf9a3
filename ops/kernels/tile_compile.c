/* From a list of expressions to instructions. The machine has one accumulator, so the choice is in
 * which order to compute values and where each one waits: what needs more room goes first (R.
 * Sethi, J. Ullman: "The generation of optimal code for arithmetic expressions", J. ACM 17(4),
 * 1970), and a value is stored only when the accumulator is wanted while it still has users. */
#include "kernels/tile_machine.h"

#include <stdlib.h>

/* Unoptimised gcc makes calls of tail calls, and so it does under a sanitizer, where frames are
 * large besides: then programs pause to give the stack back. */
#if defined __clang__ ||                                                                           \
    (defined __OPTIMIZE__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__)
enum { SEGMENT = 1 << 16 };
#else
enum { SEGMENT = 24 };
#endif

enum {
    MAX_VALUES = DUET_MAX_INPUTS + 2 * DUET_TILE_MAX_NODES,
    MAX_INSNS = 4 * DUET_TILE_MAX_NODES + 4 * DUET_MAX_OUTPUTS,
};

/* Where a value is, and who still wants it. -1: nowhere, not at all. */
typedef struct value {
    int16_t slot, scalar;
    int16_t users; /* arguments not yet read */
    int16_t room;  /* slots that computing it takes */
    bool spilled;  /* the slot is given back with the last user */
    bool done;     /* computed */
} value;

typedef struct compiler {
    const duet_tile_source *source;
    const duet_tile_moves *moves;
    duet_tile_program *program;
    value values[MAX_VALUES];
    int acc; /* the value in the accumulator, or -1 */
    int16_t free_slots[DUET_TILE_SLOTS];
    int n_free;
    bool out_of_slots;
    int since_pause;
    int last_input_read;             /* the instruction */
    int stored_at[DUET_MAX_OUTPUTS]; /* the instruction */
} compiler;

static int first_node(const duet_tile_source *s) { return s->n_in + s->n_constants; }

/* ---- slots and scalars ----------------------------------------------------------------------- */

/* A slot that nothing else will use. */
static int16_t own_slot(compiler *c) {
    c->out_of_slots |= c->program->n_slots == DUET_TILE_SLOTS;
    return (int16_t)(c->out_of_slots ? 0 : c->program->n_slots++);
}

static int16_t spill_slot(compiler *c) {
    return c->n_free ? c->free_slots[--c->n_free] : own_slot(c);
}

static bool is_scalar(const compiler *c, int v) { return c->values[v].scalar >= 0; }

/* The slot where value v can be read as a tile: scalars get one when they are first wanted so. */
static uint16_t slot_of(compiler *c, int v) {
    value *x = &c->values[v];
    if (x->slot < 0) {
        x->slot = own_slot(c);
        c->program->scalar_slots[x->scalar] = x->slot;
    }
    if (v < c->source->n_in) c->last_input_read = c->program->n_insns;
    return (uint16_t)x->slot;
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* `operands` is printf's text of a and b. */
static void put(compiler *c, const char *name, const char *operands, duet_tile_handler run,
                unsigned a, unsigned b) {
    duet_tile_program *p = c->program;
    p->texts[p->n_insns] = (duet_tile_text){name, operands};
    p->insns[p->n_insns++] = (duet_tile_insn){.run = run, .a = (uint16_t)a, .b = (uint16_t)b};
}

static void emit(compiler *c, const char *name, const char *operands, duet_tile_handler run,
                 unsigned a, unsigned b) {
    put(c, name, operands, run, a, b);
    if (++c->since_pause < SEGMENT) return;
    put(c, "pause", "", c->moves->pause, 0, 0);
    c->since_pause = 0;
}

/* Before the accumulator is overwritten: keeps what others still want from it. */
static void keep_acc(compiler *c) {
    if (c->acc < 0) return;
    value *x = &c->values[c->acc];
    if (x->users == 0 || x->slot >= 0 || x->scalar >= 0) return;
    x->slot = spill_slot(c);
    x->spilled = true;
    emit(c, "store", "t%d", c->moves->store, (unsigned)x->slot, 0);
}

static void load(compiler *c, int v) {
    keep_acc(c);
    if (is_scalar(c, v) && c->values[v].slot < 0)
        emit(c, "splat", "s%d", c->moves->splat, (unsigned)c->values[v].scalar, 0);
    else
        emit(c, "load", "t%d", c->moves->load, slot_of(c, v), 0);
    c->acc = v;
}

/* One argument has been read. */
static void used(compiler *c, int v) {
    value *x = &c->values[v];
    if (--x->users > 0 || !x->spilled) return;
    c->free_slots[c->n_free++] = x->slot;
    x->spilled = false;
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* In the order of duet_tile_form. */
static const char *const operand_texts[DUET_TILE_FORMS] = {
    "acc",      "acc, t%d",      "t%d, acc",      "acc, s%d",
    "s%d, acc", "acc, t%d, t%d", "t%d, acc, t%d", "t%d, t%d, acc"};

static void emit_form(compiler *c, const duet_tile_node *node, duet_tile_form form, unsigned a,
                      unsigned b) {
    const duet_elementwise *e = node->expression;
    emit(c, e->name, operand_texts[form], e->code[c->source->dtype].tile[form], a, b);
}

static void emit_binary(compiler *c, const duet_tile_node *node) {
    int x = node->args[0], y = node->args[1];
    bool y_in_acc = c->acc == y && c->acc != x;
    int other = y_in_acc ? x : y;
    if (is_scalar(c, other))
        emit_form(c, node, y_in_acc ? DUET_TILE_SCALAR_ACC : DUET_TILE_ACC_SCALAR,
                  (unsigned)c->values[other].scalar, 0);
    else
        emit_form(c, node, y_in_acc ? DUET_TILE_MEM_ACC : DUET_TILE_ACC_MEM, slot_of(c, other), 0);
}

static void emit_ternary(compiler *c, const duet_tile_node *node) {
    const int32_t *args = node->args;
    int at = c->acc == args[0] ? 0 : c->acc == args[1] ? 1 : 2;
    unsigned first = slot_of(c, args[at == 0 ? 1 : 0]), second = slot_of(c, args[at == 2 ? 1 : 2]);
    emit_form(c, node, (duet_tile_form)(DUET_TILE_AMM + at), first, second);
}

/* Brings an argument to the accumulator, unless one is there; scalars are better left to the
 * instruction itself. */
static void load_an_argument(compiler *c, const duet_tile_node *node) {
    int arity = node->expression->arity, chosen = 0;
    for (int i = 0; i < arity; i++)
        if (node->args[i] == c->acc) return;
    while (chosen + 1 < arity && is_scalar(c, node->args[chosen])) chosen++;
    if (is_scalar(c, node->args[chosen])) chosen = 0;
    load(c, node->args[chosen]);
}

static void store_outputs(compiler *c, int v) {
    for (int i = 0; i < c->source->n_out; i++) {
        if (c->source->out[i] != v) continue;
        int16_t slot = c->program->out[i].slot;
        c->stored_at[i] = c->program->n_insns;
        emit(c, "store", "t%d", c->moves->store, (unsigned)slot, 0);
        if (c->values[v].slot < 0 && !is_scalar(c, v)) c->values[v].slot = slot;
    }
}

static void compute(compiler *c, int v) {
    value *result = &c->values[v];
    if (result->done) return;
    const duet_tile_node *node = &c->source->nodes[v - first_node(c->source)];
    int arity = node->expression->arity;
    for (;;) { /* the argument that takes most room first */
        int next = -1;
        for (int i = 0; i < arity; i++) {
            const value *x = &c->values[node->args[i]];
            if (!x->done && (next < 0 || x->room > c->values[next].room)) next = node->args[i];
        }
        if (next < 0) break;
        compute(c, next);
    }
    load_an_argument(c, node);
    int in_acc = c->acc;
    c->values[in_acc].users--; /* read by being there: only further readers need it in memory */
    keep_acc(c);
    c->values[in_acc].users++;
    if (arity == 1)
        emit_form(c, node, DUET_TILE_ACC, 0, 0);
    else if (arity == 2)
        emit_binary(c, node);
    else
        emit_ternary(c, node);
    for (int i = 0; i < arity; i++) used(c, node->args[i]);
    c->acc = v;
    result->done = true;
    store_outputs(c, v);
}

/* ---- the program ----------------------------------------------------------------------------- */

static duet_tile_scalar read_scalar(const duet_view *view) {
    duet_tile_scalar scalar = {.f64 = 0};
    memcpy(&scalar, view->data, duet_dtype_size((duet_dtype)view->spec->dtype));
    return scalar;
}

static void place_inputs(compiler *c) {
    const duet_tile_source *s = c->source;
    duet_tile_program *p = c->program;
    for (int i = 0; i < s->n_in; i++) {
        duet_tile_input *in = &p->in[i];
        duet_broadcast_init(&in->broadcast, &s->in[i]->shape, &s->shape);
        in->is_bool = s->in[i]->dtype == DUET_BOOL;
        in->empty = duet_shape_count(&s->in[i]->shape) == 0;
        in->slot = in->scalar = -1;
        const duet_broadcast *b = &in->broadcast;
        if (b->kind == DUET_BROADCAST_ONE)
            in->scalar = (int16_t)p->n_scalars++;
        else
            in->slot = own_slot(c);
        if (b->rank == 2 && b->step[0] == 1 && b->step[1] == 0 && b->extent[0] < 4 * p->tile)
            in->period = b->extent[0];
        c->values[i] = (value){.slot = in->slot, .scalar = in->scalar, .done = true};
    }
    p->first_constant = p->n_scalars;
    for (int i = 0; i < s->n_constants; i++) {
        duet_tile_scalar scalar = read_scalar(&s->constants[i]);
        if (s->constants[i].spec->dtype == DUET_BOOL)
            c->moves->widen(&scalar, &(uint8_t){*(const uint8_t *)s->constants[i].data}, 1);
        p->scalars[p->n_scalars] = scalar;
        c->values[s->n_in + i] =
            (value){.slot = -1, .scalar = (int16_t)p->n_scalars++, .done = true};
    }
}

/* Counts the users of every value that some output needs, and the slots that computing it takes. */
static void count_users(compiler *c) {
    const duet_tile_source *s = c->source;
    bool wanted[MAX_VALUES] = {false};
    int first = first_node(s);
    for (int i = 0; i < s->n_out; i++) wanted[s->out[i]] = true;
    for (int k = s->n_nodes - 1; k >= 0; k--) {
        const duet_tile_node *node = &s->nodes[k];
        if (!wanted[first + k]) continue;
        c->program->cost += node->expression->cost;
        for (int i = 0; i < node->expression->arity; i++) {
            wanted[node->args[i]] = true;
            c->values[node->args[i]].users++;
        }
    }
    for (int k = 0; k < s->n_nodes; k++) {
        const duet_tile_node *node = &s->nodes[k];
        int16_t room = 0;
        for (int i = 0; i < node->expression->arity; i++) {
            const value *x = &c->values[node->args[i]];
            if (x->room == room && node->args[i] >= first)
                room++;
            else if (x->room > room)
                room = x->room;
        }
        c->values[first + k].room = room;
    }
}

static void compile_outputs(compiler *c) {
    const duet_tile_source *s = c->source;
    for (int i = 0; i < s->n_out; i++) {
        c->program->out[i].slot = own_slot(c);
        c->program->out[i].is_bool = s->out_dtypes[i] == DUET_BOOL;
    }
    for (int i = 0; i < s->n_out; i++) {
        int v = s->out[i];
        bool again = false;
        for (int k = 0; k < i; k++) again |= s->out[k] == v;
        if (again) continue; /* stored with the first */
        if (v >= first_node(s)) {
            compute(c, v);
        } else {
            load(c, v);
            store_outputs(c, v);
        }
    }
    put(c, "end", "", c->moves->end, 0, 0);
    for (int i = 0; i < s->n_out; i++)
        c->program->out[i].staged = i == 0 && c->stored_at[i] < c->last_input_read;
}

/* Where in the scratch area each slot's tile is, when it is not in an input or output itself. */
static void lay_out_scratch(duet_tile_program *p) {
    size_t at = 0, size = duet_dtype_size(p->dtype);
    for (int i = 0; i < p->n_slots; i++) {
        p->scratch[i] = at;
        at += DUET_TILE_BYTES;
        for (int k = 0; k < p->n_in; k++)
            if (p->in[k].slot == i && p->in[k].period)
                at += ((size_t)p->in[k].period * size + DUET_ALIGNMENT - 1) / DUET_ALIGNMENT *
                      DUET_ALIGNMENT;
    }
    p->scratch_bytes = at;
}

static duet_tile_program *new_program(const duet_tile_source *s) {
    duet_tile_program *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->dtype = s->dtype;
    p->count = duet_shape_count(&s->shape);
    p->tile = DUET_TILE_BYTES / (int64_t)duet_dtype_size(s->dtype);
    p->cost = 1; /* of moving it */
    p->reduction = s->reduction;
    p->rows = s->rows;
    p->run = s->run;
    p->n_in = s->n_in;
    p->n_out = s->n_out;
    size_t scalars = (size_t)(s->n_in + s->n_constants);
    p->in = calloc((size_t)s->n_in + 1, sizeof *p->in);
    p->out = calloc((size_t)s->n_out + 1, sizeof *p->out);
    p->insns = calloc(MAX_INSNS, sizeof *p->insns);
    p->texts = calloc(MAX_INSNS, sizeof *p->texts);
    p->scratch = calloc(DUET_TILE_SLOTS, sizeof *p->scratch);
    p->scalars = calloc(scalars + 1, sizeof *p->scalars);
    p->scalar_slots = malloc((scalars + 1) * sizeof *p->scalar_slots);
    bool ok =
        p->in && p->out && p->insns && p->texts && p->scratch && p->scalars && p->scalar_slots;
    for (size_t i = 0; ok && i < scalars; i++) p->scalar_slots[i] = -1;
    if (ok) return p;
    duet_tile_free(p);
    return NULL;
}

void duet_tile_free(duet_tile_program *program) {
    if (!program) return;
    free(program->in);
    free(program->out);
    free(program->insns);
    free(program->texts);
    free(program->scratch);
    free(program->scalars);
    free(program->scalar_slots);
    free(program);
}

static bool fits(const duet_tile_source *s) {
    return s->n_in <= DUET_MAX_INPUTS && s->n_out <= DUET_MAX_OUTPUTS &&
           s->n_nodes <= DUET_TILE_MAX_NODES && s->n_in + s->n_constants <= DUET_TILE_SCALARS;
}

duet_tile_program *duet_tile_compile(const duet_tile_source *source) {
    compiler *c = fits(source) ? calloc(1, sizeof *c) : NULL;
    duet_tile_program *p = c ? new_program(source) : NULL;
    if (p) {
        c->source = source;
        c->moves = &duet_tile_moves_of[source->dtype];
        c->program = p;
        c->acc = -1;
        place_inputs(c);
        for (int i = first_node(source), n = i + source->n_nodes; i < n; i++)
            c->values[i].slot = c->values[i].scalar = -1;
        count_users(c);
        compile_outputs(c);
        lay_out_scratch(p);
        if (!c->out_of_slots) return free(c), p;
    }
    if (p || !fits(source))
        duet_fail(DUET_STATUS_UNSUPPORTED, "fused program: too many values at a time");
    else
        duet_fail(DUET_STATUS_MEMORY, "fused program: no memory");
    duet_tile_free(p);
    free(c);
    return NULL;
}

/* ---- printing -------------------------------------------------------------------------------- */

void duet_tile_print(FILE *to, const duet_tile_program *p) {
    fprintf(to, "tile program: %d instructions on tiles of %d %s, %d in memory\n", p->n_insns,
            (int)p->tile, duet_dtype_name(p->dtype), p->n_slots);
    for (int i = 0; i < p->n_in; i++)
        fprintf(to, p->in[i].slot < 0 ? "  s%-3d input %d\n" : "  t%-3d input %d\n",
                p->in[i].slot < 0 ? p->in[i].scalar : p->in[i].slot, i);
    for (int i = p->first_constant; i < p->n_scalars; i++)
        fprintf(to, "  s%-3d %.9g\n", i,
                p->dtype == DUET_F32   ? (double)p->scalars[i].f32
                : p->dtype == DUET_F64 ? p->scalars[i].f64
                                       : (double)p->scalars[i].i32);
    for (int i = 0; i < p->n_insns; i++) {
        fprintf(to, "    %-10s ", p->texts[i].name);
        fprintf(to, p->texts[i].operands, p->insns[i].a, p->insns[i].b);
        fputc('\n', to);
    }
    for (int i = 0; i < p->n_out; i++) fprintf(to, "  t%-3d output %d\n", p->out[i].slot, i);
    if (p->reduction) fprintf(to, "  reduced by %s\n", p->reduction->text);
}
