/* Test 2: one big op. The graph cannot help: there is one dispatch to save, in milliseconds of
 * arithmetic that both executors do with the same kernel. */
#include "hand/hand.h"
#include "lesson.h"
#include "pool.h"

enum { SIZE = 1000 };

static duet_status body(duet_tensor **out, duet_tensor *const *in, void *unused) {
    (void)unused;
    out[0] = duet_matmul(in[0], in[1]);
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status setup(exercise *e) {
    e->in[0] = held_normal(DUET_SHAPE(SIZE, SIZE), 1);
    e->in[1] = held_normal(DUET_SHAPE(SIZE, SIZE), 2);
    e->out[0] = held_zeros(DUET_SHAPE(SIZE, SIZE));
    return e->in[0] && e->in[1] && e->out[0] ? DUET_OK : duet_error_code();
}

static void hand(exercise *e) {
    hand_big_matmul(e->out[0]->data, e->in[0]->data, e->in[1]->data, SIZE, duet_pool_threads());
}

const lesson lesson_big_matmul = {
    .name = "big_matmul",
    .title = "Test 2: one 1000x1000 matmul (by hand: OpenBLAS with threads of its own)",
    .shows =
        "The graph does not help here: it has one dispatch of some nanoseconds to save, beside "
        "milliseconds of arithmetic in a kernel that both executors share.",
    .number = 10,
    .repeats = 3,
    .n_in = 2,
    .n_out = 1,
    .flops = 2.0 * SIZE * SIZE * SIZE,
    .tolerance = 1e-3, /* sums of 1000 products of N(0,1) in another order */
    .setup = setup,
    .body = body,
    .hand = hand,
};
