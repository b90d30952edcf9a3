/* Records calls forward, and walks them backward with each op's gradient rule. Everything is a loop
 * over a flat array: a chain of a million ops needs no stack. */
#include "tape.h"

#include "core/attrs.h"
#include "tensor_map.h"
#include "thread_state.h"

#include <stdlib.h>

extern const duet_op duet_op_add, duet_op_broadcast_like;

/* One recorded call; holds its attributes, its outputs and those inputs that the tape does not hold
 * already, as another call's outputs: a reference costs a locked instruction, and another one when
 * it goes. tensors: inputs, then outputs. */
typedef struct entry {
    const duet_op *op;
    duet_attr *attrs; /* NULL where the op has none */
    int n_in, n_out;
    uint64_t followed; /* bit i: input i was followed */
    uint64_t held;     /* bit i: input i is held by this entry */
    duet_tensor *tensors[];
} entry;

struct duet_tape {
    bool persistent, used;
    int slot; /* its bit in tensors' `tapes` */
    entry **entries;
    int64_t count, room;
    duet_tensor **watched; /* held */
    int n_watched;
};

static uint64_t tape_bit(const duet_tape *tape) { return (uint64_t)1 << tape->slot; }

static void follow(const duet_tape *tape, duet_tensor *t) {
    atomic_fetch_or_explicit(&t->tapes, tape_bit(tape), memory_order_relaxed);
}

/* Is watched or came out of a recorded call: so the tape holds it until it forgets all. */
static bool has_bit(const duet_tape *tape, const duet_tensor *t) {
    return atomic_load_explicit(&t->tapes, memory_order_relaxed) & tape_bit(tape);
}

/* Integers and bools have no gradient, so nothing is followed through them. */
static bool is_followed(const duet_tape *tape, const duet_tensor *t) {
    if (!duet_dtype_is_float(duet_tensor_dtype(t))) return false;
    return (t->flags & DUET_TENSOR_VARIABLE) || has_bit(tape, t);
}

/* ---- a tape's life ---------------------------------------------------------------------- */

/* Slots are the process's, not a thread's: threads may watch one tensor, which has a bit for each.
 */
static _Atomic uint64_t taken_slots;

/* A free slot, or -1. */
static int take_slot(void) {
    uint64_t taken = atomic_load(&taken_slots), bit;
    do {
        if (~taken == 0) return -1;
        bit = ~taken & (taken + 1); /* the lowest that is free */
    } while (!atomic_compare_exchange_weak(&taken_slots, &taken, taken | bit));
    return __builtin_ctzll(bit);
}

static void free_slot(int slot) { atomic_fetch_and(&taken_slots, ~((uint64_t)1 << slot)); }

duet_tape *duet_tape_new(bool persistent) {
    int slot = take_slot();
    if (slot < 0) {
        duet_fail(DUET_STATUS_STATE, "tape: there are 64 tapes already; free some");
        return NULL;
    }
    duet_tape *tape = duet_memory_alloc(sizeof *tape);
    if (!tape) {
        free_slot(slot);
        return NULL;
    }
    *tape = (duet_tape){.persistent = persistent, .slot = slot};
    duet_thread.slots[slot] = tape;
    duet_thread.tapes |= tape_bit(tape);
    return tape;
}

duet_status duet_tape_watch(duet_tape *tape, duet_tensor *x) {
    CHECK(tape, DUET_STATUS_ARGUMENT, "tape_watch: tape is NULL");
    if (!x)
        return duet_error_code() ? duet_error_code()
                                 : duet_fail(DUET_STATUS_ARGUMENT, "tape_watch: x is NULL");
    CHECK(duet_dtype_is_float(duet_tensor_dtype(x)), DUET_STATUS_DTYPE,
          "tape_watch: expected f32 or f64, got %s", DUET_SPEC_TEXT(&x->spec));
    duet_tensor **larger =
        realloc(tape->watched, ((size_t)tape->n_watched + 1) * sizeof *tape->watched);
    CHECK(larger, DUET_STATUS_MEMORY, "tape_watch: no memory");
    tape->watched = larger;
    tape->watched[tape->n_watched++] = duet_keep(x);
    follow(tape, x);
    return DUET_OK;
}

void duet_tape_stop(duet_tape *tape) {
    if (tape) duet_thread.tapes &= ~tape_bit(tape);
}

static size_t entry_bytes(int n_in, int n_out) {
    return sizeof(entry) + (size_t)(n_in + n_out) * sizeof(duet_tensor *);
}

static size_t attrs_bytes(const duet_op *op) {
    return (size_t)duet_op_attr_count(op) * sizeof(duet_attr);
}

static void unfollow(const duet_tape *tape, duet_tensor *t) {
    atomic_fetch_and_explicit(&t->tapes, ~tape_bit(tape), memory_order_relaxed);
    duet_release(t);
}

/* Forgets all records; the tensors carry this tape's bit no more, so the slot can serve again. */
static void forget(duet_tape *tape) {
    for (int64_t i = 0; i < tape->count; i++) {
        entry *e = tape->entries[i];
        for (uint64_t held = e->held; held; held &= held - 1)
            duet_release(e->tensors[__builtin_ctzll(held)]);
        for (int j = 0; j < e->n_out; j++) unfollow(tape, e->tensors[e->n_in + j]);
        if (e->attrs) {
            duet_attrs_release(e->attrs, e->op);
            duet_memory_free(e->attrs, attrs_bytes(e->op));
        }
        duet_memory_free(e, entry_bytes(e->n_in, e->n_out));
    }
    for (int i = 0; i < tape->n_watched; i++) unfollow(tape, tape->watched[i]);
    tape->count = tape->n_watched = 0;
}

void duet_tape_free(duet_tape *tape) {
    if (!tape) return;
    duet_tape_stop(tape);
    forget(tape);
    duet_thread.slots[tape->slot] = NULL;
    free_slot(tape->slot);
    duet_memory_free(tape->entries, (size_t)tape->room * sizeof *tape->entries);
    free(tape->watched);
    duet_memory_free(tape, sizeof *tape);
}

/* ---- recording ----------------------------------------------------------------------------- */

static duet_status grow(duet_tape *tape) {
    int64_t room = tape->room ? 2 * tape->room : 64;
    entry **larger = duet_memory_alloc((size_t)room * sizeof *larger);
    if (!larger) return DUET_STATUS_MEMORY;
    if (tape->count) memcpy(larger, tape->entries, (size_t)tape->count * sizeof *larger);
    duet_memory_free(tape->entries, (size_t)tape->room * sizeof *larger);
    tape->entries = larger;
    tape->room = room;
    return DUET_OK;
}

/* Keeps and follows a result that no other thread can know of yet, so without locked instructions.
 */
static duet_tensor *hold_result(const duet_tape *tape, duet_tensor *t) {
    uint32_t refs = atomic_load_explicit(&t->refs, memory_order_relaxed);
    uint64_t tapes = atomic_load_explicit(&t->tapes, memory_order_relaxed);
    atomic_store_explicit(&t->refs, refs + 1, memory_order_relaxed);
    atomic_store_explicit(&t->tapes, tapes | tape_bit(tape), memory_order_relaxed);
    return t;
}

static duet_status append(duet_tape *tape, const duet_op *op, const duet_attr *attrs,
                          duet_tensor *const *in, int n_in, duet_tensor *const *out, int n_out,
                          uint64_t followed) {
    if (tape->count == tape->room) TRY(grow(tape));
    entry *e = duet_memory_alloc(entry_bytes(n_in, n_out));
    if (!e) return DUET_STATUS_MEMORY;
    *e = (entry){.op = op, .n_in = n_in, .n_out = n_out, .followed = followed};
    if (op->attrs[0].kind != DUET_ATTR_NONE) {
        e->attrs = duet_memory_alloc(attrs_bytes(op));
        if (!e->attrs) {
            duet_memory_free(e, entry_bytes(n_in, n_out));
            return DUET_STATUS_MEMORY;
        }
        duet_attrs_copy(e->attrs, op, attrs);
    }
    for (int i = 0; i < n_in; i++) {
        e->tensors[i] = in[i];
        if (has_bit(tape, in[i])) continue;
        duet_keep(in[i]);
        e->held |= (uint64_t)1 << i;
    }
    for (int i = 0; i < n_out; i++) e->tensors[n_in + i] = hold_result(tape, out[i]);
    tape->entries[tape->count++] = e;
    return DUET_OK;
}

duet_status duet_tape_record(const duet_op *op, const duet_attr *attrs, duet_tensor *const *in,
                             int n_in, duet_tensor *const *out, int n_out) {
    if (n_out == 0) return DUET_OK; /* nothing can depend on it */
    for (uint64_t left = duet_thread.tapes; left; left &= left - 1) {
        duet_tape *tape = duet_thread.slots[__builtin_ctzll(left)];
        uint64_t followed = 0;
        for (int i = 0; i < n_in; i++) followed |= (uint64_t)is_followed(tape, in[i]) << i;
        if (followed) TRY(append(tape, op, attrs, in, n_in, out, n_out, followed));
    }
    return DUET_OK;
}

bool duet_tape_follows(duet_tensor *const *tensors, int count) {
    for (uint64_t left = duet_thread.tapes; left; left &= left - 1)
        for (int i = 0; i < count; i++)
            if (is_followed(duet_thread.slots[__builtin_ctzll(left)], tensors[i])) return true;
    return false;
}

/* ---- the way back --------------------------------------------------------------------------- */

/* Every tensor that depends on a source has a place here, which holds d target / d tensor, or NULL
 * as long as nothing has come back to it. */
typedef duet_tensor_map gradients;

static duet_status add_place(gradients *grads, const duet_tensor *t) {
    CHECK(duet_tensor_map_at(grads, t), DUET_STATUS_MEMORY, "gradient: no memory");
    return DUET_OK;
}

/* Which of the entry's followed inputs depend on a source; its outputs then depend on one too. */
static duet_status mark_dependent(uint64_t *needs, gradients *grads, const entry *e) {
    *needs = 0;
    for (uint64_t left = e->followed; left; left &= left - 1) {
        int i = __builtin_ctzll(left);
        if (duet_tensor_map_find(grads, e->tensors[i])) *needs |= (uint64_t)1 << i;
    }
    for (int i = 0; *needs && i < e->n_out; i++) TRY(add_place(grads, e->tensors[e->n_in + i]));
    return DUET_OK;
}

static duet_status accumulate(const gradients *grads, const duet_tensor *x, duet_tensor *grad) {
    void **place = duet_tensor_map_find(grads, x);
    duet_tensor *sum = *place ? duet_apply2(&duet_op_add, *place, grad) : grad;
    if (!sum) return duet_error_code();
    *place = sum;
    return DUET_OK;
}

static duet_status back_through(const gradients *grads, const entry *e, uint64_t needs) {
    duet_tensor *out_grads[DUET_MAX_OUTPUTS], *in_grads[DUET_MAX_INPUTS];
    bool reached = false;
    if (!needs) return DUET_OK;
    for (int i = 0; i < e->n_out; i++) {
        out_grads[i] = *duet_tensor_map_find(grads, e->tensors[e->n_in + i]);
        reached |= out_grads[i] != NULL;
    }
    if (!reached) return DUET_OK;
    for (int i = 0; i < e->n_in; i++) in_grads[i] = NULL;
    CHECK(e->op->grad, DUET_STATUS_UNSUPPORTED, "gradient: %s has no gradient", e->op->name);
    TRY(e->op->grad(in_grads, &(duet_grad){.op = e->op,
                                           .attrs = e->attrs,
                                           .in = e->tensors,
                                           .out = e->tensors + e->n_in,
                                           .out_grads = out_grads,
                                           .n_in = e->n_in,
                                           .n_out = e->n_out,
                                           .needs = needs}));
    for (uint64_t left = needs; left; left &= left - 1) {
        int i = __builtin_ctzll(left);
        if (in_grads[i]) TRY(accumulate(grads, e->tensors[i], in_grads[i]));
    }
    return DUET_OK;
}

/* d target / d target. */
static duet_tensor *ones_like(duet_tensor *target) {
    duet_tensor *one = duet_full(DUET_SCALAR, duet_tensor_dtype(target), 1);
    return target->spec.shape.rank == 0 ? one : duet_apply2(&duet_op_broadcast_like, one, target);
}

static duet_status walk_back(duet_tensor **results, duet_tape *tape, duet_tensor *target,
                             duet_tensor *const *sources, int n_sources, gradients *grads,
                             uint64_t *needs) {
    CHECK(duet_tensor_map_reserve(grads, (size_t)(tape->count + n_sources)), DUET_STATUS_MEMORY,
          "gradient: no memory");
    for (int i = 0; i < n_sources; i++)
        if (is_followed(tape, sources[i])) TRY(add_place(grads, sources[i]));
    for (int64_t i = 0; i < tape->count; i++)
        TRY(mark_dependent(&needs[i], grads, tape->entries[i]));
    if (!duet_tensor_map_find(grads, target)) return DUET_OK; /* depends on none of the sources */
    duet_tensor *one = ones_like(target);
    if (!one) return duet_error_code();
    TRY(accumulate(grads, target, one));
    for (int64_t i = tape->count - 1; i >= 0; i--)
        TRY(back_through(grads, tape->entries[i], needs[i]));
    for (int i = 0; i < n_sources; i++) {
        void **place = duet_tensor_map_find(grads, sources[i]);
        results[i] = place ? *place : NULL;
    }
    return DUET_OK;
}

static duet_status check_request(const duet_tape *tape, const duet_tensor *target,
                                 duet_tensor *const *sources, int n_sources) {
    CHECK(tape, DUET_STATUS_ARGUMENT, "gradient: tape is NULL");
    CHECK(!tape->used || tape->persistent, DUET_STATUS_STATE,
          "gradient: this tape was used up by an earlier call; make it persistent to call again");
    if (!target)
        return duet_error_code() ? duet_error_code()
                                 : duet_fail(DUET_STATUS_ARGUMENT, "gradient: target is NULL");
    CHECK(duet_dtype_is_float(duet_tensor_dtype(target)), DUET_STATUS_DTYPE,
          "gradient: target: expected f32 or f64, got %s", DUET_SPEC_TEXT(&target->spec));
    CHECK(sources || n_sources == 0, DUET_STATUS_ARGUMENT, "gradient: sources is NULL");
    for (int i = 0; i < n_sources; i++)
        CHECK(sources[i], DUET_STATUS_ARGUMENT, "gradient: source %d is NULL", i);
    return DUET_OK;
}

duet_status duet_gradient(duet_tensor **grads, duet_tape *tape, duet_tensor *target,
                          duet_tensor *const *sources, int n_sources) {
    CHECK(n_sources >= 0, DUET_STATUS_ARGUMENT, "gradient: expected 0 sources or more, got %d",
          n_sources);
    CHECK(grads || n_sources == 0, DUET_STATUS_ARGUMENT, "gradient: grads is NULL");
    for (int i = 0; i < n_sources; i++) grads[i] = NULL;
    TRY(check_request(tape, target, sources, n_sources));
    /* The tape does not record its own way back; outer tapes do, which gives second order. */
    uint64_t recording = duet_thread.tapes & tape_bit(tape);
    duet_thread.tapes &= ~tape_bit(tape);

    gradients places = {0};
    size_t needs_bytes = ((size_t)tape->count + 1) * sizeof(uint64_t);
    uint64_t *needs = duet_memory_alloc(needs_bytes);
    duet_scope_open();
    duet_status status = needs ? walk_back(grads, tape, target, sources, n_sources, &places, needs)
                               : DUET_STATUS_MEMORY;
    if (status != DUET_OK)
        for (int i = 0; i < n_sources; i++) grads[i] = NULL;
    duet_scope_close_many(grads, n_sources);
    duet_memory_free(needs, needs_bytes);
    duet_tensor_map_free(&places);

    tape->used = true;
    if (tape->persistent)
        duet_thread.tapes |= recording;
    else
        forget(tape);
    return status;
}
