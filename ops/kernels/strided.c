#include "kernels/strided.h"

#include "pool.h"

enum {
    TILE = 16,            /* rows and columns of a transposed block; 16 f32 are a cache line */
    GRAIN_BYTES = 1 << 16 /* what one thread should at least move */
};

/* A box after simplify(): rows along the last axis, the other axes numbered by one outer index. */
typedef struct job {
    duet_strided box;
    char *out;
    const char *in;
    size_t size;
    bool tiled; /* the last two axes are a transpose, cut into bands of TILE of the first */
    int64_t outer_rank;
} job;

void duet_strided_dense(int64_t *strides, const duet_shape *shape) {
    int64_t step = 1;
    for (int64_t i = shape->rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= shape->dims[i];
    }
}

/* Drops axes of length 1 and joins neighbours that both sides pass through in one stride. */
static duet_strided simplify(const duet_strided *box) {
    duet_strided s = {0};
    for (int64_t i = 0; i < box->rank; i++) {
        int64_t dim = box->dims[i], to = box->to[i], from = box->from[i], last = s.rank - 1;
        if (dim == 1) continue;
        if (last >= 0 && s.to[last] == to * dim && s.from[last] == from * dim) {
            s.dims[last] *= dim;
        } else {
            last = s.rank++;
            s.dims[last] = dim;
        }
        s.to[last] = to;
        s.from[last] = from;
    }
    if (s.rank == 0) s = (duet_strided){.rank = 1, .dims = {1}, .to = {1}, .from = {1}};
    return s;
}

/* Where the input runs along another axis than the output, brings that axis next to the last. */
static bool make_tiled(duet_strided *box) {
    int64_t last = box->rank - 1, axis = last - 1;
    if (box->to[last] != 1 || box->from[last] <= 1) return false;
    while (axis >= 0 && box->from[axis] != 1) axis--;
    if (axis < 0) return false;
    int64_t dim = box->dims[axis], to = box->to[axis];
    for (; axis < last - 1; axis++) {
        box->dims[axis] = box->dims[axis + 1];
        box->to[axis] = box->to[axis + 1];
        box->from[axis] = box->from[axis + 1];
    }
    box->dims[axis] = dim;
    box->to[axis] = to;
    box->from[axis] = 1;
    return true;
}

/* out[r*to + c] = in[c*from + r] for r < rows, c < columns; and one row of any strides. */
#define DEFINE_MOVES(type)                                                                         \
    static void tile_##type(type *out, int64_t to, const type *in, int64_t from, int64_t rows,     \
                            int64_t columns) {                                                     \
        if (rows == TILE && columns == TILE) { /* known trip counts: unrolled and vectorised */    \
            for (int64_t r = 0; r < TILE; r++)                                                     \
                for (int64_t c = 0; c < TILE; c++) out[r * to + c] = in[c * from + r];             \
            return;                                                                                \
        }                                                                                          \
        for (int64_t r = 0; r < rows; r++)                                                         \
            for (int64_t c = 0; c < columns; c++) out[r * to + c] = in[c * from + r];              \
    }                                                                                              \
    static void row_##type(type *out, int64_t to, const type *in, int64_t from, int64_t count) {   \
        if (from == 0 && to == 1) {                                                                \
            type value = *in;                                                                      \
            for (int64_t i = 0; i < count; i++) out[i] = value;                                    \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < count; i++) out[i * to] = in[i * from];                            \
    }
DEFINE_MOVES(uint8_t)
DEFINE_MOVES(uint32_t)
DEFINE_MOVES(uint64_t)

static void move_row(const job *j, char *out, const char *in) {
    int64_t last = j->box.rank - 1, count = j->box.dims[last];
    int64_t to = j->box.to[last], from = j->box.from[last];
    if (to == 1 && from == 1)
        memcpy(out, in, (size_t)count * j->size);
    else if (j->size == 4)
        row_uint32_t((uint32_t *)out, to, (const uint32_t *)in, from, count);
    else if (j->size == 8)
        row_uint64_t((uint64_t *)out, to, (const uint64_t *)in, from, count);
    else
        row_uint8_t((uint8_t *)out, to, (const uint8_t *)in, from, count);
}

static void move_tile(const job *j, char *out, const char *in, int64_t rows, int64_t columns) {
    int64_t last = j->box.rank - 1, to = j->box.to[last - 1], from = j->box.from[last];
    if (j->size == 4)
        tile_uint32_t((uint32_t *)out, to, (const uint32_t *)in, from, rows, columns);
    else if (j->size == 8)
        tile_uint64_t((uint64_t *)out, to, (const uint64_t *)in, from, rows, columns);
    else
        tile_uint8_t((uint8_t *)out, to, (const uint8_t *)in, from, rows, columns);
}

/* Band `band`: up to TILE rows of the last two axes, from the first column to the last. */
static void move_band(const job *j, char *out, const char *in, int64_t band) {
    int64_t last = j->box.rank - 1, size = (int64_t)j->size, first = band * TILE;
    int64_t rows = j->box.dims[last - 1] - first, columns = j->box.dims[last];
    if (rows > TILE) rows = TILE;
    out += first * j->box.to[last - 1] * size;
    in += first * size;
    for (int64_t c = 0; c < columns; c += TILE)
        move_tile(j, out + c * size, in + c * j->box.from[last] * size, rows,
                  columns - c < TILE ? columns - c : TILE);
}

static int64_t bands(const job *j) {
    return j->tiled ? (j->box.dims[j->box.rank - 2] + TILE - 1) / TILE : 1;
}

static void run_items(void *context, int64_t begin, int64_t end) {
    const job *j = context;
    int64_t bands_each = bands(j);
    for (int64_t item = begin; item < end; item++) {
        int64_t outer = item / bands_each, to = 0, from = 0;
        for (int64_t i = j->outer_rank - 1; i >= 0; i--) {
            int64_t index = outer % j->box.dims[i];
            outer /= j->box.dims[i];
            to += index * j->box.to[i];
            from += index * j->box.from[i];
        }
        char *out = j->out + to * (int64_t)j->size;
        const char *in = j->in + from * (int64_t)j->size;
        if (j->tiled)
            move_band(j, out, in, item % bands_each);
        else
            move_row(j, out, in);
    }
}

void duet_strided_copy(void *out, const void *in, size_t size, const duet_strided *box) {
    for (int64_t i = 0; i < box->rank; i++)
        if (box->dims[i] == 0) return;
    job j = {.box = simplify(box), .out = out, .in = in, .size = size};
    j.tiled = make_tiled(&j.box);
    j.outer_rank = j.box.rank - (j.tiled ? 2 : 1);
    int64_t items = bands(&j), bytes = (int64_t)size;
    for (int64_t i = 0; i < j.outer_rank; i++) items *= j.box.dims[i];
    for (int64_t i = 0; i < j.box.rank; i++) bytes *= j.box.dims[i];
    int64_t each = bytes / items;
    duet_parallel_for(items, each < GRAIN_BYTES ? GRAIN_BYTES / (each + 1) + 1 : 1, run_items, &j);
}

void duet_strided_copy_box(void *out, const duet_shape *out_shape, const int64_t *out_begin,
                           const void *in, const duet_shape *in_shape, const int64_t *in_begin,
                           const duet_shape *box, size_t size) {
    duet_strided s = {.rank = box->rank};
    duet_strided_dense(s.to, out_shape);
    duet_strided_dense(s.from, in_shape);
    int64_t to = 0, from = 0;
    for (int64_t i = 0; i < box->rank; i++) {
        s.dims[i] = box->dims[i];
        if (out_begin) to += out_begin[i] * s.to[i];
        if (in_begin) from += in_begin[i] * s.from[i];
    }
    duet_strided_copy((char *)out + to * (int64_t)size, (const char *)in + from * (int64_t)size,
                      size, &s);
}
