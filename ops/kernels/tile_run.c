/* Runs a tile program over the elements of its shape, in row-major order, a tile at a time.
 *
 * An input of the full shape and type is read where it lies. Everything else is brought to scratch
 * tiles, so that instructions need not know: bools are widened to lanes, repeating inputs written
 * out (once, where the period is short: then every tile finds its part in there), and the last tile
 * is padded, so that nothing is read or written beyond the tensors. */
#include "kernels/tile_machine.h"

#include "memory.h"
#include "pool.h"

#include <stdatomic.h>

enum { STACK_SCRATCH = 48 << 10 }; /* bytes; programs that need more take them from the allocator */

typedef struct job {
    const duet_tile_program *program;
    const void *const *in;
    void *const *out;
    atomic_bool failed; /* no memory, in some thread */
} job;

/* One thread's work on a stretch of elements. */
typedef struct worker {
    const duet_tile_program *program;
    const duet_tile_moves *moves;
    const void *const *in;
    duet_tile_frame frame;
} worker;

static size_t input_size(const duet_tile_program *p, const duet_tile_input *in) {
    return in->is_bool ? 1 : duet_dtype_size(p->dtype);
}

/* Writes elements begin .. begin + count - 1 of input i as lanes; at most a tile of bools. */
static void write_out(const worker *w, int i, void *to, int64_t begin, int64_t count) {
    const duet_tile_input *in = &w->program->in[i];
    uint8_t bools[DUET_TILE_BYTES];
    void *as_they_are = in->is_bool ? bools : to;
    duet_broadcast_read(as_they_are, &in->broadcast, w->in[i], input_size(w->program, in), begin,
                        count);
    if (in->is_bool) w->moves->widen(to, bools, count);
}

/* ---- before the first tile ------------------------------------------------------------------- */

static void set_scalars(worker *w) {
    const duet_tile_program *p = w->program;
    duet_tile_scalar *scalars = w->frame.scalars;
    for (int i = 0; i < p->n_in; i++) {
        const duet_tile_input *in = &p->in[i];
        if (in->scalar < 0 || in->empty) continue;
        if (in->is_bool)
            w->moves->widen(&scalars[in->scalar], w->in[i], 1);
        else if (p->dtype == DUET_F64)
            memcpy(&scalars[in->scalar], w->in[i], 8);
        else
            memcpy(&scalars[in->scalar], w->in[i], 4);
    }
    for (int i = p->first_constant; i < p->n_scalars; i++) scalars[i] = p->scalars[i];
    for (int i = 0; i < p->n_scalars; i++)
        if (p->scalar_slots[i] >= 0)
            w->moves->fill(w->frame.slots[p->scalar_slots[i]], &scalars[i]);
}

/* A short period is written out once, and a tile more of it, so that every tile lies in there. */
static void write_out_periods(worker *w, char *scratch) {
    const duet_tile_program *p = w->program;
    size_t size = duet_dtype_size(p->dtype);
    for (int i = 0; i < p->n_in; i++) {
        const duet_tile_input *in = &p->in[i];
        if (!in->period) continue;
        char *to = scratch + p->scratch[in->slot];
        int64_t left = in->period + p->tile;
        for (int64_t at = 0; left > 0; at += p->tile, left -= p->tile) {
            int64_t part = left < p->tile ? left : p->tile;
            write_out(w, i, to + (size_t)at * size, at % in->period, part);
        }
    }
}

/* ---- a tile ---------------------------------------------------------------------------------- */

/* Where the tile of an input lies without being written out, or NULL. */
static const char *find_input(const worker *w, const char *scratch, int i, int64_t begin,
                              int64_t count) {
    const duet_tile_program *p = w->program;
    const duet_tile_input *in = &p->in[i];
    size_t size = duet_dtype_size(p->dtype);
    if (in->period) return scratch + p->scratch[in->slot] + (size_t)(begin % in->period) * size;
    if (in->is_bool || count < p->tile) return NULL;
    if (in->broadcast.kind == DUET_BROADCAST_SAME)
        return (const char *)w->in[i] + (size_t)begin * size;
    return duet_broadcast_find(&in->broadcast, w->in[i], size, begin, count);
}

static void bring_input(worker *w, char *scratch, int i, int64_t begin, int64_t count) {
    const duet_tile_program *p = w->program;
    const duet_tile_input *in = &p->in[i];
    const char *found = find_input(w, scratch, i, begin, count);
    char *tile = scratch + p->scratch[in->slot];
    w->frame.slots[in->slot] = found ? (char *)found : tile;
    if (found) return;
    size_t size = duet_dtype_size(p->dtype);
    if (in->broadcast.kind == DUET_BROADCAST_SAME && !in->is_bool) {
        w->moves->pad(tile, (const char *)w->in[i] + (size_t)begin * size, count);
    } else {
        write_out(w, i, tile, begin, count);
        memset(tile + (size_t)count * size, 0, (size_t)(p->tile - count) * size);
    }
}

static bool is_direct(const duet_tile_program *p, const duet_tile_output *out, int64_t count) {
    return !out->is_bool && !out->staged && count == p->tile;
}

static void take_output(worker *w, const duet_tile_output *out, char *data, int64_t at,
                        int64_t count) {
    const duet_tile_program *p = w->program;
    const void *tile = w->frame.slots[out->slot];
    size_t size = duet_dtype_size(p->dtype);
    if (out->is_bool)
        w->moves->narrow((uint8_t *)data + at, tile, count);
    else
        w->moves->cut(data + (size_t)at * size, tile, count);
}

static void run_tile(worker *w, char *scratch, void *const *out, int64_t begin, int64_t count,
                     int64_t origin) {
    const duet_tile_program *p = w->program;
    size_t size = duet_dtype_size(p->dtype);
    for (int i = 0; i < p->n_in; i++)
        if (p->in[i].slot >= 0) bring_input(w, scratch, i, begin, count);
    for (int i = 0; i < p->n_out; i++)
        w->frame.slots[p->out[i].slot] = is_direct(p, &p->out[i], count)
                                             ? (char *)out[i] + (size_t)(begin - origin) * size
                                             : scratch + p->scratch[p->out[i].slot];
    w->frame.resume = p->insns;
    while (w->frame.resume) w->moves->start(&w->frame);
    for (int i = 0; i < p->n_out; i++)
        if (!is_direct(p, &p->out[i], count))
            take_output(w, &p->out[i], out[i], begin - origin, count);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Elements begin .. end - 1; out[i] is where element `origin` goes. */
static void run_elements(const job *j, char *scratch, void *const *out, int64_t begin, int64_t end,
                         int64_t origin) {
    const duet_tile_program *p = j->program;
    worker w;
    w.program = p;
    w.moves = &duet_tile_moves_of[p->dtype];
    w.in = j->in;
    for (int i = 0; i < p->n_slots; i++) w.frame.slots[i] = scratch + p->scratch[i];
    set_scalars(&w);
    write_out_periods(&w, scratch);
    for (; begin < end; begin += p->tile) {
        int64_t count = end - begin < p->tile ? end - begin : p->tile;
        run_tile(&w, scratch, out, begin, count, origin);
    }
}

static void with_scratch(job *j, void *const *out, int64_t begin, int64_t end, int64_t origin) {
    size_t bytes = j->program->scratch_bytes;
    if (bytes <= STACK_SCRATCH) {
        char area[bytes + DUET_ALIGNMENT];
        char *scratch = area + (-(uintptr_t)area & (DUET_ALIGNMENT - 1));
        run_elements(j, scratch, out, begin, end, origin);
        return;
    }
    char *scratch = duet_memory_alloc(bytes);
    if (!scratch) {
        atomic_store(&j->failed, true);
        return;
    }
    run_elements(j, scratch, out, begin, end, origin);
    duet_memory_free(scratch, bytes);
}

static void run_tiles(void *context, int64_t begin, int64_t end) {
    job *j = context;
    const duet_tile_program *p = j->program;
    int64_t last = end * p->tile < p->count ? end * p->tile : p->count;
    with_scratch(j, j->out, begin * p->tile, last, 0);
}

/* A fused producer's elements, for a reduction. */
static const void *produce(void *context, void *block, int64_t begin, int64_t count) {
    with_scratch(context, &block, begin, begin + count, begin);
    return block;
}

duet_status duet_tile_run(const duet_tile_program *p, const void *const *in, void *const *out) {
    job j = {.program = p, .in = in, .out = out};
    if (p->reduction) {
        duet_reduce_runs(p->reduction, p->dtype, out[0], p->rows, p->run, p->cost, produce, &j);
        return atomic_load(&j.failed) ? DUET_STATUS_MEMORY : DUET_OK;
    }
    if (p->count == 0) return DUET_OK;
    int64_t tiles = (p->count + p->tile - 1) / p->tile;
    int64_t grain = (int64_t)(DUET_ELEMENTWISE_GRAIN / (p->cost * (double)p->tile)) + 1;
    if (tiles <= grain)
        run_tiles(&j, 0, tiles);
    else
        duet_parallel_for(tiles, grain, run_tiles, &j);
    return atomic_load(&j.failed) ? DUET_STATUS_MEMORY : DUET_OK;
}
