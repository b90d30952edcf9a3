#include "kernels/reduce.h"

#include "core/infer.h"
#include "kernels/elementwise.h"
#include "pool.h"

/* ---- runs: elements that lie side by side ---------------------------------------------------- */

enum { WAVE = 256 }; /* blocks whose results are kept at a time */

typedef struct runs {
    const duet_reduction_code *code;
    char *out;
    size_t size;   /* bytes an element */
    int64_t run;   /* elements of one result */
    int64_t block; /* elements of a block */
    int64_t grain; /* blocks that are worth another thread */
    int64_t first; /* element at which the wave of blocks begins ... */
    int64_t end;   /* ... and the run ends */
    duet_reduce_source source;
    void *context;
    char *partial; /* the wave's results */
} runs;

static void reduce_blocks(void *context, int64_t begin, int64_t end) {
    const runs *r = context;
    _Alignas(64) char scratch[DUET_REDUCE_BLOCK];
    for (int64_t i = begin; i < end; i++) {
        int64_t at = r->first + i * r->block, left = r->end - at;
        int64_t count = left < r->block ? left : r->block;
        r->code->block(r->partial + (size_t)i * r->size, r->source(r->context, scratch, at, count),
                       count);
    }
}

/* A run of more than one block: waves of blocks, each wave's results reduced as a block. */
static void reduce_long_run(runs r, char *out) {
    _Alignas(64) char partial[WAVE * sizeof(double)];
    _Alignas(16) char both[2 * sizeof(double)]; /* what there is, and what the wave adds */
    r.partial = partial;
    for (bool started = false; r.first < r.end; r.first += WAVE * r.block, started = true) {
        int64_t blocks = (r.end - r.first + r.block - 1) / r.block;
        if (blocks > WAVE) blocks = WAVE;
        duet_parallel_for(blocks, r.grain, reduce_blocks, &r);
        r.code->block(both + (started ? r.size : 0), partial, blocks);
        if (started) r.code->block(both, both, 2);
    }
    memcpy(out, both, r.size);
}

/* Runs begin .. end - 1, as many at a time as make up a block. */
static void reduce_short_runs(void *context, int64_t begin, int64_t end) {
    const runs *r = context;
    _Alignas(64) char scratch[DUET_REDUCE_BLOCK];
    int64_t together = r->block / (r->run ? r->run : 1);
    while (begin < end) {
        int64_t count = end - begin < together ? end - begin : together;
        const char *x = r->source(r->context, scratch, begin * r->run, count * r->run);
        for (int64_t i = 0; i < count; i++)
            r->code->block(r->out + (size_t)(begin + i) * r->size,
                           x + (size_t)(i * r->run) * r->size, r->run);
        begin += count;
    }
}

static void reduce_long_runs(void *context, int64_t begin, int64_t end) {
    runs r = *(const runs *)context;
    for (int64_t i = begin; i < end; i++) {
        r.first = i * r.run;
        r.end = r.first + r.run;
        reduce_long_run(r, r.out + (size_t)i * r.size);
    }
}

void duet_reduce_divide(void *out, duet_dtype dtype, int64_t count, double by) {
    for (int64_t i = 0; i < count; i++)
        if (dtype == DUET_F32)
            ((float *)out)[i] /= (float)by;
        else
            ((double *)out)[i] /= by;
}

void duet_reduce_runs(const duet_reduction *reduction, duet_dtype dtype, void *out, int64_t rows,
                      int64_t run, double cost, duet_reduce_source source, void *context) {
    size_t size = duet_dtype_size(dtype);
    runs r = {.code = &reduction->code[dtype],
              .out = out,
              .size = size,
              .run = run,
              .block = DUET_REDUCE_BLOCK / (int64_t)size,
              .source = source,
              .context = context};
    double worth = DUET_ELEMENTWISE_GRAIN / (cost + 1); /* elements */
    r.grain = (int64_t)(worth / (double)r.block) + 1;
    int64_t grain = (int64_t)(worth / (double)(run + 1)) + 1;
    if (run <= r.block)
        duet_parallel_for(rows, grain, reduce_short_runs, &r);
    else if (rows >= duet_pool_threads())
        duet_parallel_for(rows, grain, reduce_long_runs, &r);
    else
        reduce_long_runs(&r, 0, rows);
    if (reduction->mean) duet_reduce_divide(out, dtype, rows, (double)run);
}

static const void *from_memory(void *context, void *scratch, int64_t begin, int64_t count) {
    (void)scratch, (void)count;
    const duet_view *x = context;
    return (const char *)x->data + (size_t)begin * duet_dtype_size((duet_dtype)x->spec->dtype);
}

/* ---- columns: whole rows are joined ---------------------------------------------------------- */

enum { CHUNK = 16 * DUET_VECTOR_BYTES }; /* bytes of a row that one task takes */

typedef struct columns {
    const duet_reduction_code *code;
    char *out;
    const char *in;
    size_t size;
    int64_t rows, columns;
    int64_t row_blocks, chunk, chunks; /* chunk: columns of one task */
} columns;

static void reduce_columns(void *context, int64_t begin, int64_t end) {
    const columns *c = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t column = i % c->chunks * c->chunk, block = i / c->chunks;
        int64_t row = block % c->row_blocks * DUET_REDUCE_ROWS;
        int64_t first = block / c->row_blocks * c->rows + row, left = c->rows - row;
        int64_t width = c->columns - column;
        c->code->columns(c->out + (size_t)(block * c->columns + column) * c->size,
                         c->in + (size_t)(first * c->columns + column) * c->size,
                         left < DUET_REDUCE_ROWS ? left : DUET_REDUCE_ROWS, c->columns,
                         width < c->chunk ? width : c->chunk);
    }
}

/* [outer, rows, width] -> [outer, width]. Blocks of rows first, then their results. */
static duet_status reduce_rows(const duet_reduction_code *code, size_t size, void *out,
                               const void *in, int64_t outer, int64_t rows, int64_t width) {
    columns c = {.code = code, .out = out, .in = in, .size = size, .rows = rows, .columns = width};
    c.chunk = CHUNK / (int64_t)size;
    c.chunks = (width + c.chunk - 1) / c.chunk;
    c.row_blocks = rows ? (rows + DUET_REDUCE_ROWS - 1) / DUET_REDUCE_ROWS : 1;
    size_t bytes = c.row_blocks > 1 ? (size_t)(outer * c.row_blocks * width) * size : 0;
    if (bytes && !(c.out = duet_memory_alloc(bytes))) return DUET_STATUS_MEMORY;
    int64_t per_task = (rows < DUET_REDUCE_ROWS ? rows : DUET_REDUCE_ROWS) * c.chunk;
    duet_parallel_for(outer * c.row_blocks * c.chunks, DUET_ELEMENTWISE_GRAIN / (per_task + 1) + 1,
                      reduce_columns, &c);
    if (!bytes) return DUET_OK;
    duet_status status = reduce_rows(code, size, out, c.out, outer, c.row_blocks, width);
    duet_memory_free(c.out, bytes);
    return status;
}

/* ---- any axes -------------------------------------------------------------------------------- */

/* Axes that are reduced, or kept, together; axes of 1 are left out. */
typedef struct groups {
    int count;
    int64_t extent[DUET_MAX_RANK];
    bool reduced[DUET_MAX_RANK];
} groups;

static groups group_axes(const duet_shape *shape, unsigned axes) {
    groups g = {0};
    for (int64_t i = 0; i < shape->rank; i++) {
        bool reduced = axes >> i & 1;
        if (shape->dims[i] == 1) continue;
        if (g.count && g.reduced[g.count - 1] == reduced) {
            g.extent[g.count - 1] *= shape->dims[i];
        } else {
            g.reduced[g.count] = reduced;
            g.extent[g.count++] = shape->dims[i];
        }
    }
    return g;
}

static int64_t product(const groups *g, int begin, int end) {
    int64_t count = 1;
    for (int i = begin; i < end; i++) count *= g->extent[i];
    return count;
}

/* Reduces group `at`, behind which no other is reduced. */
static duet_status reduce_group(const duet_reduction *plain, void *out, const duet_view *in,
                                const groups *g, int at) {
    duet_dtype dtype = (duet_dtype)in->spec->dtype;
    int64_t outer = product(g, 0, at), inner = product(g, at + 1, g->count);
    if (inner != 1)
        return reduce_rows(&plain->code[dtype], duet_dtype_size(dtype), out, in->data, outer,
                           g->extent[at], inner);
    duet_reduce_runs(plain, dtype, out, outer, g->extent[at], 1, from_memory, (void *)in);
    return DUET_OK;
}

/* One group after the other, the last axes first; what is between lies in memory of its own. */
static duet_status reduce_groups(const duet_reduction *plain, const duet_view *out,
                                 const duet_view *in, groups g) {
    size_t size = duet_dtype_size((duet_dtype)in->spec->dtype), held = 0;
    duet_status status = DUET_OK;
    duet_view x = *in;
    int left = 0;
    for (int i = 0; i < g.count; i++) left += g.reduced[i];
    if (left == 0) memcpy(out->data, in->data, duet_spec_bytes(in->spec));
    for (int at = g.count - 1; left > 0 && status == DUET_OK; at--) {
        if (!g.reduced[at]) continue;
        bool last = --left == 0;
        size_t bytes = (size_t)(product(&g, 0, at) * product(&g, at + 1, g.count)) * size;
        void *to = last ? out->data : duet_memory_alloc(bytes);
        status = to ? reduce_group(plain, to, &x, &g, at) : DUET_STATUS_MEMORY;
        if (x.data != in->data) duet_memory_free(x.data, held);
        x.data = to;
        held = bytes;
        g.extent[at] = 1;
    }
    return status;
}

duet_status duet_reduce(const duet_reduction *reduction, const duet_view *out, const duet_view *in,
                        unsigned axes) {
    int64_t count = duet_shape_count(&out->spec->shape), joined = 1;
    if (count == 0) return DUET_OK;
    for (int64_t i = 0; i < in->spec->shape.rank; i++)
        if (axes >> i & 1) joined *= in->spec->shape.dims[i];
    duet_reduction plain = {.code = reduction->code};
    TRY(reduce_groups(&plain, out, in, group_axes(&in->spec->shape, axes)));
    if (reduction->mean)
        duet_reduce_divide(out->data, (duet_dtype)in->spec->dtype, count, (double)joined);
    return DUET_OK;
}
