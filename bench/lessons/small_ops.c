/* Test 1: many small ops. Nearly all of the time is dispatch, and that is what a graph saves.
 * Written twice: as a loop of C, which a trace unrolls, and as duet_while, whose body is traced
 * once. */
#include "hand/hand.h"
#include "lesson.h"

static duet_tensor *three_ops(duet_tensor *x) {
    return duet_relu(duet_add(duet_mul(x, duet_f32(0.99f)), duet_f32(0.01f)));
}

static duet_tensor *small_ops(duet_tensor *x) {
    for (int i = 0; i < SMALL_OPS_STEPS; i++) x = three_ops(x);
    return x;
}

static duet_status body(duet_tensor **out, duet_tensor *const *in, void *unused) {
    (void)unused;
    out[0] = small_ops(in[0]);
    return out[0] ? DUET_OK : duet_error_code();
}

/* The state of the loop: x, and how many steps are left. */
enum { X, LEFT, STATE };

static duet_status some_left(duet_tensor **out, duet_tensor *const *state, void *unused) {
    (void)unused;
    out[0] = duet_greater(state[LEFT], duet_i32(0));
    return out[0] ? DUET_OK : duet_error_code();
}

static duet_status step(duet_tensor **out, duet_tensor *const *state, void *unused) {
    (void)unused;
    out[X] = three_ops(state[X]);
    out[LEFT] = duet_sub(state[LEFT], duet_i32(1));
    return out[X] && out[LEFT] ? DUET_OK : duet_error_code();
}

static duet_status while_body(duet_tensor **out, duet_tensor *const *in, void *unused) {
    (void)unused;
    duet_tensor *last[STATE], *first[STATE] = {in[0], duet_i32(SMALL_OPS_STEPS)};
    TRY(duet_while(last, some_left, step, first, STATE, NULL));
    out[0] = last[X];
    return DUET_OK;
}

static duet_status setup(exercise *e) {
    e->in[0] = held_normal(DUET_SHAPE(10, 10), 1);
    e->out[0] = held_zeros(DUET_SHAPE(10, 10));
    return e->in[0] && e->out[0] ? DUET_OK : duet_error_code();
}

static void hand(exercise *e) { hand_small_ops(e->out[0]->data, e->in[0]->data); }

const lesson lesson_small_ops = {
    .name = "small_ops",
    .title = "Test 1: 50 x relu(x * 0.99 + 0.01) on a 10x10 tensor",
    .shows =
        "150 ops of a few nanoseconds each: eager pays for every dispatch, the graph has fused "
        "them into one step.",
    .number = 100,
    .repeats = 3,
    .n_in = 1,
    .n_out = 1,
    .tolerance = 0, /* the same operations in the same order */
    .setup = setup,
    .body = body,
    .hand = hand,
};

const lesson lesson_small_ops_while = {
    .name = "small_ops_while",
    .title = "Test 1 as a while: the three ops are traced once, and the graph loops",
    .shows = "The graph is small whatever the number of rounds, and is traced as fast; each round "
             "costs a call of the body and one of the condition, which unrolling saves.",
    .number = 100,
    .repeats = 3,
    .n_in = 1,
    .n_out = 1,
    .tolerance = 0,
    .setup = setup,
    .body = while_body,
    .hand = hand,
};
