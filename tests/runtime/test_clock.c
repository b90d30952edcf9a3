/* The clock goes forward, in nanoseconds, and knows what a reading costs. */
#include "clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>
#include <cmocka.h>

static void test_never_goes_back(void **state) {
    (void)state;
    uint64_t last = duet_clock_ns();
    for (int i = 0; i < 100000; i++) {
        uint64_t now = duet_clock_ns();
        assert_true(now >= last);
        last = now;
    }
}

/* Sleeping takes at least as long as asked; at most twice that, once in twenty tries. */
static void test_counts_nanoseconds(void **state) {
    (void)state;
    const uint64_t asked = 20000000;
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 20 && best > 2 * asked; i++) {
        uint64_t start = duet_clock_ns();
        nanosleep(&(struct timespec){.tv_nsec = (long)asked}, NULL);
        uint64_t elapsed = duet_clock_ns() - start;
        assert_true(elapsed >= asked);
        if (elapsed < best) best = elapsed;
    }
    assert_true(best <= 2 * asked);
}

/* The stated overhead is the best case: real readings cost that much or more, and one run of many
 * costs not much more. */
static void test_overhead_is_what_a_reading_costs(void **state) {
    (void)state;
    enum { READINGS = 1000 };
    double overhead = duet_clock_overhead_ns(), best = 1e18;
    print_message("a reading costs %.1f ns\n", overhead);
    assert_true(overhead > 0 && overhead < 100000);
    uint64_t again = duet_clock_ns();
    assert_true(duet_clock_overhead_ns() == overhead);
    assert_true((double)(duet_clock_ns() - again) < 5000 * overhead); /* not measured again */
    for (int run = 0; run < 200; run++) {
        uint64_t start = duet_clock_ns(), end = start;
        for (int i = 0; i < READINGS; i++) end = duet_clock_ns();
        double mean = (double)(end - start) / READINGS;
        if (mean < best) best = mean;
    }
    assert_true(best < 5 * overhead);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_never_goes_back),
        cmocka_unit_test(test_counts_nanoseconds),
        cmocka_unit_test(test_overhead_is_what_a_reading_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
