/* The planner of memory: buffers that are alive together never overlap, whatever their sizes and
 * lives; and on the lessons' graphs the arena is hardly larger than it must be. */
#include "expect.h"
#include "function.h"
#include "passes.h"
#include "plan_memory.h"
#include "settings.h"
#include "sample.h"
#include "train_step.h"

enum { MOST = 200 };

typedef struct problem {
    duet_lifetime lives[MOST];
    int64_t offsets[MOST], arena, bound;
    int32_t count;
} problem;

static bool meet(const duet_lifetime *a, const duet_lifetime *b) {
    if (a->fork && a->fork == b->fork && a->branch != b->branch) return true;
    return a->first <= b->last && b->first <= a->last;
}

#define LIFE(bytes, first, last)                                                                   \
    { bytes, first, last, 0, 0 }

static void solve(problem *p, uint64_t shuffle) {
    EXPECT_OK(duet_plan_offsets(p->offsets, &p->arena, p->lives, p->count, shuffle));
    p->bound = duet_plan_lower_bound(p->lives, p->count);
}

/* Tells the seed, so that a failure can be looked at. */
static void expect_valid(const problem *p, uint64_t seed) {
    for (int32_t i = 0; i < p->count; i++) {
        int64_t end = p->offsets[i] + p->lives[i].bytes;
        if (p->offsets[i] < 0 || p->offsets[i] % DUET_ALIGNMENT || end > p->arena)
            fail_msg("seed %d: buffer %d lies at %d of %d", (int)seed, i, (int)p->offsets[i],
                     (int)p->arena);
        for (int32_t j = 0; j < i; j++) {
            bool apart = end <= p->offsets[j] || p->offsets[j] + p->lives[j].bytes <= p->offsets[i];
            if (meet(&p->lives[i], &p->lives[j]) && !apart)
                fail_msg("seed %d: buffers %d and %d overlap", (int)seed, j, i);
        }
    }
    if (p->arena < p->bound) fail_msg("seed %d: smaller than the lower bound", (int)seed);
}

/* Every tenth step begins a fork of two branches with four steps each: what lives in one branch
 * only belongs to it, what lives in more lasts for the fork. */
static void lay_in_forks(duet_lifetime *life) {
    int32_t first = life->first % 10, last = life->last % 10, begin = life->first / 10 * 10;
    if (life->first / 10 == life->last / 10 && last < 8 && first / 4 == last / 4) {
        life->fork = 1 + life->first / 10;
        life->branch = 2 * life->fork + first / 4;
        return;
    }
    if (first < 8) life->first = begin;
    if (last < 8) life->last = life->last / 10 * 10 + 7;
}

/* From few long lives to many short ones, sizes from nothing to 2^16. */
static void random_problem(problem *p, uint64_t seed) {
    uint64_t s = seed;
    int32_t steps = 1 + (int32_t)(sample_uniform(&s) * 100);
    double longest = sample_uniform(&s) * steps;
    p->count = (int32_t)(sample_uniform(&s) * MOST);
    for (int32_t i = 0; i < p->count; i++) {
        int32_t first = (int32_t)(sample_uniform(&s) * steps);
        int32_t last = first + (int32_t)(sample_uniform(&s) * longest);
        int64_t bytes = (int64_t)exp2(sample_uniform(&s) * 16) - 1;
        p->lives[i] = (duet_lifetime)LIFE(bytes, first, last);
        if (seed % 2) lay_in_forks(&p->lives[i]);
    }
}

/* onnxruntime #17061 */
static void live_buffers_never_overlap(void **state) {
    (void)state;
    static problem p;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        random_problem(&p, seed);
        solve(&p, 0);
        expect_valid(&p, seed);
        solve(&p, seed); /* in random order, as DUET_SHUFFLE has it */
        expect_valid(&p, seed);
    }
}

static void small_problems_by_hand(void **state) {
    (void)state;
    problem p = {.count = 0};
    solve(&p, 0);
    assert_int_equal(p.arena, 0);
    /* one after the other: one place for both */
    p = (problem){.lives = {LIFE(64, 0, 1), LIFE(128, 2, 3)}, .count = 2};
    solve(&p, 0);
    assert_int_equal(p.arena, 128);
    assert_int_equal(p.bound, 128);
    /* the step that ends one begins the other: both alive */
    p = (problem){.lives = {LIFE(64, 0, 2), LIFE(128, 2, 3)}, .count = 2};
    solve(&p, 0);
    assert_int_equal(p.arena, 192);
    assert_int_equal(p.bound, 192);
    /* the gap that the second leaves takes the last */
    p = (problem){.lives = {LIFE(640, 0, 9), LIFE(320, 0, 3), LIFE(128, 0, 9), LIFE(192, 5, 9)},
                  .count = 4};
    solve(&p, 0);
    assert_int_equal(p.arena, 640 + 320 + 128);
    assert_int_equal(p.bound, 640 + 320 + 128);
    /* sizes are rounded up to whole cache lines */
    p = (problem){.lives = {LIFE(1, 0, 1), LIFE(65, 0, 1)}, .count = 2};
    solve(&p, 0);
    assert_int_equal(p.bound, 64 + 128);
    assert_int_equal(p.arena, 64 + 128);
    /* branches run at the same time, whatever their steps: 64 of one beside 128 of the other */
    p = (problem){.lives = {{64, 1, 1, 1, 1}, {64, 2, 2, 1, 1}, {128, 3, 3, 1, 2}, LIFE(64, 0, 0)},
                  .count = 4};
    solve(&p, 0);
    assert_int_equal(p.bound, 64 + 128);
    assert_int_equal(p.arena, 64 + 128);
    expect_valid(&p, 0);
}

/* Sizes that only wrap around in the sum, and one that is none. */
static void an_arena_has_no_more_bytes_than_a_program_can_address(void **state) {
    (void)state;
    static problem p;
    for (int32_t i = 0; i < MOST; i++) p.lives[i] = (duet_lifetime)LIFE(DUET_MAX_BYTES, 0, 1);
    for (p.count = 1; p.count <= MOST; p.count++) {
        duet_status status =
            duet_plan_offsets(p.offsets, &p.arena, p.lives, p.count, (uint64_t)p.count % 2);
        assert_int_equal(status, p.count == 1 ? DUET_OK : DUET_STATUS_OVERFLOW);
        if (p.count > 1) EXPECT_ERROR(DUET_STATUS_OVERFLOW, "more bytes than a program can");
    }
}

/* ---- whole graphs ------------------------------------------------------------------------------
 */

static duet_plan *plan_of(duet_function *f, duet_tensor *const *in) {
    duet_entry *entry = duet_function_entry(f, in);
    assert_non_null(entry);
    duet_entry_release(entry); /* the cache holds it */
    return entry->plan;
}

static void expect_tight(const duet_plan *plan) {
    static problem p;
    p.count = plan->n_buffers;
    assert_true(p.count <= MOST);
    for (int32_t i = 0; i < p.count; i++) {
        p.lives[i] = plan->lifetimes[i];
        p.offsets[i] = plan->offsets[i];
    }
    p.arena = plan->arena_bytes;
    p.bound = plan->lower_bound;
    expect_valid(&p, 0);
    if (!((double)p.arena <= 1.05 * (double)p.bound))
        fail_msg("%s: an arena of %d bytes for %d", plan->graph->name, (int)p.arena, (int)p.bound);
}

static duet_tensor *small_ops(duet_tensor *x) {
    for (int i = 0; i < 50; i++)
        x = duet_relu(duet_add(duet_mul(x, duet_f32(0.99f)), duet_f32(0.01f)));
    return x;
}

static void with_passes(const char *passes) {
    train_network network;
    duet_tensor *in[2], *x = duet_zeros(SHAPE(10, 10), DUET_F32);
    duet_setting_passes(passes);
    train_network_make(&network);
    train_batch(in);
    duet_function *step = duet_function_new("train_step", train_step, 2, 1, &network);
    duet_function *ops = duet_function_unary("small_ops", small_ops);
    expect_tight(plan_of(step, in));
    expect_tight(plan_of(ops, &x));
    duet_function_free(step);
    duet_function_free(ops);
    train_network_release(&network);
    duet_setting_passes(NULL);
}

static void the_lessons_arenas_are_near_the_lower_bound(void **state) {
    (void)state;
    with_passes(NULL);
    with_passes("-fuse");
    with_passes("-fuse,-inplace");
}

static void fifty_small_ops_need_one_buffer_at_most(void **state) {
    (void)state;
    duet_tensor *x = duet_zeros(SHAPE(10, 10), DUET_F32);
    duet_function *f = duet_function_unary("small_ops", small_ops);
    assert_true(plan_of(f, &x)->n_buffers <= 1);
    duet_function_free(f);
}

static duet_status sum_of_a_large_one(duet_tensor **out, duet_tensor *const *in, void *user) {
    (void)user;
    out[0] = duet_sum(duet_where(in[0], in[1], in[2]), DUET_NO_AXES, false);
    return out[0] ? DUET_OK : duet_error_code();
}

/* 2^64 elements from operands of some megabytes: their bytes must not wrap to none. */
static void a_value_too_large_is_refused_in_both_executors(void **state) {
    (void)state;
    int64_t n = 1 << 21;
    duet_tensor *out,
        *in[] = {duet_zeros(SHAPE(2 * n, 1, 1), DUET_BOOL), duet_zeros(SHAPE(1, n, 1), DUET_F32),
                 duet_zeros(SHAPE(1, 1, n), DUET_F32)};
    duet_function *f = duet_function_new("large", sum_of_a_large_one, 3, 1, NULL);
    assert_int_equal(sum_of_a_large_one(&out, in, NULL), DUET_STATUS_OVERFLOW);
    EXPECT_ERROR(DUET_STATUS_OVERFLOW, "where: f32[4194304,2097152,2097152] has more bytes");
    assert_int_equal(duet_call(f, &out, in), DUET_STATUS_OVERFLOW);
    EXPECT_ERROR(DUET_STATUS_OVERFLOW, "where: f32[4194304,2097152,2097152] has more bytes");
    duet_function_free(f);
}

int main(void) {
    setenv("DUET_VERIFY", "1", 1);
    setenv("DUET_SHUFFLE", "0", 1); /* it lays out arenas that are right, and not small */
    const struct CMUnitTest tests[] = {
        TEST(live_buffers_never_overlap),
        TEST(small_problems_by_hand),
        TEST(an_arena_has_no_more_bytes_than_a_program_can_address),
        TEST(a_value_too_large_is_refused_in_both_executors),
        TEST(the_lessons_arenas_are_near_the_lower_bound),
        TEST(fifty_small_ops_need_one_buffer_at_most),
    };
    return cmocka_run_group_tests_name("plan_memory", tests, NULL, NULL);
}
