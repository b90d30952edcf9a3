/* Where an op's time goes: the profiled dispatcher does what the plain one does, and its stages
 * leave nothing out. */
#include "expect.h"

#include "clock.h"
#include "eager.h"
#include "pool.h"

static uint64_t sum_of_stages(const duet_profile *p) {
    uint64_t sum = 0;
    for (int i = 0; i < DUET_STAGES; i++) sum += p->stage_ns[i];
    return sum;
}

static void every_call_is_counted_and_its_stages_are_all_of_it(void **state) {
    (void)state;
    duet_tensor *x = duet_full(SHAPE(10, 10), DUET_F32, 2), *y = NULL;
    duet_profile_start();
    for (int i = 0; i < 500; i++) y = duet_relu(duet_add(x, x));
    duet_profile p = duet_profile_stop();
    EXPECT_ALL(y, 4);
    assert_int_equal(p.calls, 1000);
    assert_int_equal(sum_of_stages(&p), p.total_ns);
    for (int i = 0; i < DUET_STAGES; i++) assert_non_null(duet_stage_names[i]);
    assert_true(p.stage_ns[DUET_STAGE_ALLOCATE] > 0 && p.stage_ns[DUET_STAGE_RUN] > 0);
}

/* Of calls that take long beside a clock reading, what is outside of the stages is under 5 %. */
static void stages_sum_to_the_whole(void **state) {
    (void)state;
    duet_tensor *x = duet_full(SHAPE(100000), DUET_F32, 0.5);
    double nearest = 0;
    int threads = duet_pool_threads();
    duet_pool_set_threads(1);
    for (int i = 0; i < 10 && nearest < 0.95; i++) {
        duet_scope_open();
        duet_profile_start();
        uint64_t begin = duet_clock_ns();
        for (int k = 0; k < 10; k++) assert_non_null(duet_exp(x));
        uint64_t whole = duet_clock_ns() - begin;
        duet_profile p = duet_profile_stop();
        assert_true(p.total_ns <= whole);
        double part = (double)sum_of_stages(&p) / (double)whole;
        if (part > nearest) nearest = part;
        assert_true(p.stage_ns[DUET_STAGE_RUN] > p.total_ns / 2);
        duet_scope_close(NULL);
    }
    duet_pool_set_threads(threads);
    assert_true(nearest >= 0.95);
}

static void nothing_is_counted_when_it_is_off(void **state) {
    (void)state;
    duet_tensor *x = duet_f32(1);
    duet_profile_start();
    duet_neg(x);
    assert_int_equal(duet_profile_stop().calls, 1);
    duet_neg(x);
    assert_int_equal(duet_profile_stop().calls, 1);
    duet_profile_start(); /* begins afresh */
    assert_int_equal(duet_profile_stop().calls, 0);
}

static duet_tensor *mixed(duet_tensor *x) {
    duet_tensor *y = duet_softmax(duet_matmul(x, duet_transpose(x, (duet_ints){0})), 1);
    return duet_sum(duet_tanh(duet_sub(y, duet_f32(0.1f))), DUET_INTS(0), false);
}

static void a_profiled_call_has_the_same_bits_and_messages(void **state) {
    (void)state;
    duet_tensor *x = duet_zeros(SHAPE(5, 7), DUET_F32);
    for (int i = 0; i < 35; i++) ((float *)x->data)[i] = (float)(i % 11) / 4 - 1;
    duet_tensor *plain = mixed(x);
    duet_profile_start();
    duet_tensor *profiled = mixed(x);
    assert_null(duet_matmul(x, x));
    duet_profile p = duet_profile_stop();
    EXPECT_ERROR(DUET_STATUS_SHAPE, "matmul: inner dimensions differ");
    EXPECT_SAME(profiled, plain);
    assert_true(p.calls >= 6); /* the one that was refused may count */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_call_is_counted_and_its_stages_are_all_of_it),
        TEST(stages_sum_to_the_whole),
        TEST(nothing_is_counted_when_it_is_off),
        TEST(a_profiled_call_has_the_same_bits_and_messages),
    };
    return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
