#include "random.h"
#include "pool.h"

#include <math.h>
#include <stdalign.h>
#include <string.h>

/* Multipliers and key increments ("Weyl" constants) of Salmon et al., section 3.3 and table 2. */
enum { ROUNDS = 10 };
static const uint32_t M0 = 0xD2511F53u, M1 = 0xCD9E8D57u, W0 = 0x9E3779B9u, W1 = 0xBB67AE85u;

static inline void philox(uint32_t x[4], uint32_t k0, uint32_t k1) {
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p0 = (uint64_t)M0 * x[0], p1 = (uint64_t)M1 * x[2];
        x[0] = (uint32_t)(p1 >> 32) ^ x[1] ^ k0;
        x[1] = (uint32_t)p1;
        x[2] = (uint32_t)(p0 >> 32) ^ x[3] ^ k1;
        x[3] = (uint32_t)p0;
        k0 += W0;
        k1 += W1;
    }
}

void duet_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]) {
    uint32_t x[4] = {counter[0], counter[1], counter[2], counter[3]};
    philox(x, key[0], key[1]);
    memcpy(out, x, sizeof x);
}

/* ---- from blocks of four words to elements ---- */

enum { BATCH = 32, BATCH_BYTES = BATCH * 16 }; /* blocks made at a time, so that loops vectorise */

static void uniform_f32(void *out, const uint32_t *words, int64_t blocks) {
    float *x = out;
    for (int64_t i = 0; i < 4 * blocks; i++) x[i] = (float)(words[i] >> 8) * 0x1p-24f;
}

/* 53 bits of two words, low word first. */
static inline uint64_t bits53(const uint32_t *words) {
    return ((uint64_t)words[1] << 32 | words[0]) >> 11;
}

static void uniform_f64(void *out, const uint32_t *words, int64_t blocks) {
    double *x = out;
    for (int64_t i = 0; i < 2 * blocks; i++) x[i] = (double)bits53(words + 2 * i) * 0x1p-53;
}

/* Two normal numbers from u in (0, 1] (so that its logarithm is finite) and v in [0, 1). */
static inline void box_muller(double *a, double *b, double u, double v) {
    double radius = sqrt(-2 * log(u)), angle = 2 * 3.14159265358979323846 * v;
    *a = radius * cos(angle);
    *b = radius * sin(angle);
}

static void normal_f32(void *out, const uint32_t *words, int64_t blocks) {
    float *x = out;
    for (int64_t i = 0; i < 4 * blocks; i += 2) {
        double a, b;
        box_muller(&a, &b, ((double)words[i] + 1) * 0x1p-32, (double)words[i + 1] * 0x1p-32);
        x[i] = (float)a;
        x[i + 1] = (float)b;
    }
}

static void normal_f64(void *out, const uint32_t *words, int64_t blocks) {
    double *x = out;
    for (int64_t i = 0; i < blocks; i++, words += 4)
        box_muller(&x[2 * i], &x[2 * i + 1], (double)(bits53(words) + 1) * 0x1p-53,
                   (double)bits53(words + 2) * 0x1p-53);
}

/* ---- fills ---- */

typedef struct stream {
    void (*convert)(void *out, const uint32_t *words, int64_t blocks);
    uint32_t number; /* the counter's last word, so that streams of one key differ */
    int64_t lanes;   /* elements a block */
    int64_t size;    /* bytes an element */
    int64_t grain;   /* elements that take some 20 microseconds */
} stream;

static const stream streams[] = {
    {uniform_f32, 0, 4, sizeof(float), 16384},
    {uniform_f64, 1, 2, sizeof(double), 8192},
    {normal_f32, 2, 4, sizeof(float), 1024},
    {normal_f64, 3, 2, sizeof(double), 1024},
};

typedef struct fill {
    const stream *stream;
    unsigned char *out;
    uint64_t key, first;
} fill;

static void make_words(uint32_t *words, const fill *f, uint64_t block, int64_t blocks) {
    for (int64_t i = 0; i < blocks; i++) {
        uint64_t at = block + (uint64_t)i;
        uint32_t x[4] = {(uint32_t)at, (uint32_t)(at >> 32), 0, f->stream->number};
        philox(x, (uint32_t)f->key, (uint32_t)(f->key >> 32));
        for (int k = 0; k < 4; k++) words[4 * i + k] = x[k];
    }
}

static void fill_range(void *context, int64_t begin, int64_t end) {
    const fill *f = context;
    const stream *s = f->stream;
    uint32_t words[BATCH * 4];
    alignas(64) unsigned char elements[BATCH_BYTES];
    while (begin < end) {
        uint64_t position = f->first + (uint64_t)begin;
        int64_t skip = (int64_t)(position % (uint64_t)s->lanes); /* of the first block's elements */
        int64_t blocks = (skip + end - begin + s->lanes - 1) / s->lanes;
        if (blocks > BATCH) blocks = BATCH;
        int64_t count = blocks * s->lanes - skip;
        if (count > end - begin) count = end - begin;
        make_words(words, f, position / (uint64_t)s->lanes, blocks);
        s->convert(elements, words, blocks);
        memcpy(f->out + begin * s->size, elements + skip * s->size, (size_t)(count * s->size));
        begin += count;
    }
}

static void run(const stream *s, void *out, int64_t count, uint64_t key, uint64_t first) {
    duet_parallel_for(count, s->grain, fill_range, &(fill){s, out, key, first});
}

void duet_random_uniform_f32(float *out, int64_t count, uint64_t key, uint64_t first) {
    run(&streams[0], out, count, key, first);
}

void duet_random_uniform_f64(double *out, int64_t count, uint64_t key, uint64_t first) {
    run(&streams[1], out, count, key, first);
}

void duet_random_normal_f32(float *out, int64_t count, uint64_t key, uint64_t first) {
    run(&streams[2], out, count, key, first);
}

void duet_random_normal_f64(double *out, int64_t count, uint64_t key, uint64_t first) {
    run(&streams[3], out, count, key, first);
}
