/* Independent branches: two chains that meet at the end. The graph sees that they do not need each
 * other, and gives each a core of its own. */
#include "hand/hand.h"
#include "lesson.h"

enum { LENGTH = BRANCH_PRODUCTS, SIZE = BRANCH_SIZE };

static duet_tensor *chain(duet_tensor *x, duet_tensor *w) {
    for (int i = 0; i < LENGTH; i++) x = duet_matmul(x, w);
    return x;
}

static duet_status body(duet_tensor **out, duet_tensor *const *in, void *unused) {
    (void)unused;
    duet_tensor *a = chain(in[0], in[1]), *b = chain(in[0], in[2]);
    out[0] = duet_add(a, b);
    return out[0] ? DUET_OK : duet_error_code();
}

/* Weights that keep the products of the size of x. */
static duet_tensor *weights(uint64_t stream) {
    duet_tensor *w = held_normal(DUET_SHAPE(SIZE, SIZE), stream);
    float *data = w ? w->data : NULL;
    for (int i = 0; w && i < SIZE * SIZE; i++) data[i] /= 22.6f; /* sqrt(512) */
    return w;
}

static duet_status setup(exercise *e) {
    e->in[0] = held_normal(DUET_SHAPE(SIZE, SIZE), 1);
    e->in[1] = weights(2);
    e->in[2] = weights(3);
    for (int i = 0; i < 4; i++)
        if (!(e->out[i] = held_zeros(DUET_SHAPE(SIZE, SIZE)))) return duet_error_code();
    return e->in[0] && e->in[1] && e->in[2] ? DUET_OK : duet_error_code();
}

static void hand(exercise *e) {
    float *spare[] = {e->out[1]->data, e->out[2]->data, e->out[3]->data};
    hand_branches(e->out[0]->data, spare, e->in[0]->data, e->in[1]->data, e->in[2]->data);
}

const lesson lesson_branches = {
    .name = "branches",
    .title = "Two independent chains of two 512x512 matmuls, added at the end (by hand: two "
             "threads, a chain each)",
    .shows =
        "Eager sees one op at a time: it can split a product as large as these over the threads, "
        "but no smaller one. The graph sees two chains and gives each a thread, whatever the "
        "size of their ops. Compare with --threads 1.",
    .number = 10,
    .repeats = 3,
    .n_in = 3,
    .n_out = 1,
    .flops = 2.0 * 2 * LENGTH * SIZE * SIZE * SIZE,
    .tolerance = 1e-3, /* sums of 512 products in another order, twice over */
    .setup = setup,
    .body = body,
    .hand = hand,
};
