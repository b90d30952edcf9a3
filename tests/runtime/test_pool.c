/* The pool: every item once, whoever calls, and a process that costs nothing when it is idle. */
#define _GNU_SOURCE
#include "child.h"
#include "clock.h"
#include "memory.h"
#include "pool.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

enum { ITEMS = 5000 };

static void sleep_ms(long ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

typedef struct marks {
    int64_t count, grain;
    _Atomic int calls, short_ranges;
    _Atomic int visits[ITEMS];
} marks;

static void mark(void *context, int64_t begin, int64_t end) {
    marks *m = context;
    m->calls++;
    if (end - begin < m->grain && end - begin < m->count) m->short_ranges++;
    for (int64_t i = begin; i < end; i++) m->visits[i]++;
}

static bool each_item_once(int64_t count, int64_t grain) {
    marks m = {.count = count, .grain = grain};
    duet_parallel_for(count, grain, mark, &m);
    for (int64_t i = 0; i < ITEMS; i++)
        if (m.visits[i] != (i < count)) return false;
    return m.short_ranges == 0 && (count <= 0) == (m.calls == 0);
}

static const int64_t counts[] = {-3, 0, 1, 2, 3, 7, 8, 9, 1023, ITEMS};
static const int64_t grains[] = {-1, 0, 1, 2, 5, 1000, ITEMS, INT64_MAX};
#define LENGTH(array) (sizeof(array) / sizeof *(array))

static void test_each_item_once_in_ranges_of_the_grain(void **state) {
    (void)state;
    for (int threads = 1; threads <= 5; threads++) {
        duet_pool_set_threads(threads);
        assert_int_equal(duet_pool_threads(), threads);
        for (size_t c = 0; c < LENGTH(counts); c++)
            for (size_t g = 0; g < LENGTH(grains); g++)
                assert_true(each_item_once(counts[c], grains[g]));
    }
}

static void test_thread_number_is_clamped(void **state) {
    (void)state;
    duet_pool_set_threads(-1);
    assert_int_equal(duet_pool_threads(), 1);
    duet_pool_set_threads(100000);
    assert_int_equal(duet_pool_threads(), 256);
    assert_true(each_item_once(ITEMS, 1));
    duet_pool_set_threads(2);
}

static void sleep_5_ms(void *context, int64_t begin, int64_t end) {
    if (begin == 0) *(pthread_t *)context = pthread_self();
    for (int64_t i = begin; i < end; i++) sleep_ms(5);
}

static void test_call_returns_after_the_last_worker(void **state) {
    (void)state;
    pthread_t first;
    for (int i = 0; i < 10; i++) {
        uint64_t start = duet_clock_ns();
        duet_parallel_for(2, 1, sleep_5_ms, &first);
        assert_true(duet_clock_ns() - start >= 5000000);
        assert_true(pthread_equal(first, pthread_self())); /* the caller runs the first range */
    }
}

/* Two ranges that meet each other: they are never inside at once unless two threads run them. */
static void meet(void *context, int64_t begin, int64_t end) {
    (void)begin, (void)end;
    _Atomic int *present = context;
    ++*present;
    for (int ms = 0; *present < 2 && ms < 2000; ms++) sleep_ms(1);
}

static bool two_ranges_meet(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) < 2) return true;
    _Atomic int present = 0;
    uint64_t start = duet_clock_ns();
    duet_parallel_for(2, 1, meet, &present);
    return present == 2 && duet_clock_ns() - start < 1500000000;
}

static void test_two_ranges_run_at_the_same_time(void **state) {
    (void)state;
    assert_true(two_ranges_meet());
}

typedef struct nested {
    _Atomic int bad, items;
} nested;

static void inner(void *context, int64_t begin, int64_t end) {
    nested *n = context;
    n->items += (int)(end - begin);
    n->bad += begin != 0 || end != 100;
}

static void outer(void *context, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) duet_parallel_for(100, 1, inner, context);
}

static void test_nested_calls_are_plain_calls(void **state) {
    (void)state;
    nested n = {0};
    for (int i = 0; i < 100; i++) duet_parallel_for(10, 1, outer, &n);
    assert_int_equal(n.items, 100 * 10 * 100);
    assert_int_equal(n.bad, 0);
}

static void *call_many_times(void *failures) {
    for (int i = 0; i < 500; i++)
        if (!each_item_once(i % 50, 1)) ++*(_Atomic int *)failures;
    return NULL;
}

static void test_many_threads_call_at_once(void **state) {
    (void)state;
    for (int threads = 2; threads <= 6; threads += 2) {
        duet_pool_set_threads(threads);
        pthread_t callers[8];
        _Atomic int failures = 0;
        for (size_t i = 0; i < LENGTH(callers); i++)
            pthread_create(&callers[i], NULL, call_many_times, &failures);
        for (size_t i = 0; i < LENGTH(callers); i++) pthread_join(callers[i], NULL);
        assert_int_equal(failures, 0);
    }
    duet_pool_set_threads(2);
}

/* Dependent items in a fixed order inside a range: its bits would show a range run twice. */
static void waves(void *context, int64_t begin, int64_t end) {
    float *out = context;
    for (int64_t i = begin; i < end; i++) {
        out[i] = (float)i * 0.37f;
        for (int k = 0; k < 20; k++) out[i] = out[i] * 0.731f + 1.0f / (1.0f + out[i] * out[i]);
    }
}

static void test_bits_do_not_depend_on_threads(void **state) {
    (void)state;
    static float one[ITEMS], many[ITEMS];
    duet_pool_set_threads(1);
    duet_parallel_for(ITEMS, 1, waves, one);
    for (int threads = 2; threads <= 7; threads++) {
        duet_pool_set_threads(threads);
        memset(many, 0, sizeof many);
        duet_parallel_for(ITEMS, 3, waves, many);
        assert_memory_equal(one, many, sizeof one);
    }
    duet_pool_set_threads(2);
}

static uint64_t cpu_ns(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    uint64_t us = (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u + us * 1000u;
}

/* Ten milliseconds after the last call nothing spins: under 5 % of a CPU over 100 ms, best of 5. */
static void test_idle_process_uses_no_cpu(void **state) {
    (void)state;
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 5 && best > 5000000; i++) {
        assert_true(each_item_once(ITEMS, 1));
        sleep_ms(10);
        uint64_t start = cpu_ns();
        sleep_ms(100);
        uint64_t used = cpu_ns() - start;
        if (used < best) best = used;
    }
    assert_true(best <= 5000000);
}

static void test_child_of_fork_has_a_pool_of_its_own(void **state) {
    (void)state;
    for (int asleep = 0; asleep < 2; asleep++) {
        duet_pool_set_threads(3);
        assert_true(each_item_once(ITEMS, 1));
        if (asleep) sleep_ms(5);
        pid_t child = fork_with_pool();
        if (child == 0) {
            bool good = each_item_once(ITEMS, 1);
            sleep_ms(5);
            good = good && two_ranges_meet(); /* it has workers again */
            duet_pool_set_threads(4);         /* joins the child's own workers */
            _exit(good && each_item_once(ITEMS, 1) ? 0 : 1);
        }
        assert_true(child_ends_well(child));
        assert_true(each_item_once(ITEMS, 1));
    }
    duet_pool_set_threads(2);
}

static void allocate_and_meet(void *context, int64_t begin, int64_t end) {
    duet_memory_free(duet_memory_alloc(1000), 1000);
    meet(context, begin, end);
}

static void two_threads_allocate(void) {
    _Atomic int present = 0;
    duet_parallel_for(2, 1, allocate_and_meet, &present);
}

/* The child's worker gets the stack of the parent's, and its cache lies where that one's did. */
static void test_child_of_fork_counts_its_memory(void **state) {
    (void)state;
    duet_pool_set_threads(2);
    two_threads_allocate();
    void *kept = duet_memory_alloc(5000);
    duet_memory_stats before = duet_memory_get_stats();
    pid_t child = fork_with_pool();
    if (child == 0) {
        two_threads_allocate();
        duet_memory_stats after = duet_memory_get_stats();
        _exit(after.live_bytes == before.live_bytes && after.system_allocs >= before.system_allocs
                  ? 0
                  : 1);
    }
    assert_true(child_ends_well(child));
    assert_true(duet_memory_get_stats().live_bytes == before.live_bytes);
    duet_memory_free(kept, 5000);
}

static void *keep_pool_busy(void *stop) {
    while (!*(_Atomic bool *)stop) (void)each_item_once(100, 1);
    return NULL;
}

static void test_fork_while_another_thread_has_the_pool(void **state) {
    (void)state;
    _Atomic bool stop = false;
    pthread_t caller;
    pthread_create(&caller, NULL, keep_pool_busy, &stop);
    bool good = true;
    for (int i = 0; i < 10 && good; i++) {
        pid_t child = fork();
        if (child == 0) {
            /* would wait for ever for a pool that still has an owner */
            duet_pool_set_threads(CHILDREN_MAY_HAVE_PARENTS_WITH_THREADS ? 3 : 1);
            _exit(each_item_once(ITEMS, 1) ? 0 : 1);
        }
        good = child_ends_well(child);
    }
    stop = true;
    pthread_join(caller, NULL);
    assert_true(good);
}

static void burn(void *context, int64_t begin, int64_t end) {
    volatile float *out = context;
    for (int64_t i = begin; i < end; i++)
        for (int k = 0; k < 2000; k++) out[i] = out[i] * 0.5f + 1.0f;
}

static uint64_t best_burn_ns(void) {
    static float out[64];
    uint64_t best = UINT64_MAX;
    for (int run = 0; run < 15; run++) {
        uint64_t start = duet_clock_ns();
        for (int call = 0; call < 100; call++) duet_parallel_for(16, 1, burn, out);
        uint64_t elapsed = duet_clock_ns() - start;
        if (elapsed < best) best = elapsed;
    }
    return best;
}

/* Every thread that the process has now. */
static void pin_threads(const cpu_set_t *cpus) {
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;)
        if (entry->d_name[0] != '.') sched_setaffinity(atoi(entry->d_name), sizeof *cpus, cpus);
    closedir(tasks);
}

/* Time with two threads, in times of one thread's, with everything on the first CPU allowed.
 * `running`: the worker exists, and spins, before it is pinned. */
static double pinned_ratio(bool running) {
    cpu_set_t old, one;
    sched_getaffinity(0, sizeof old, &old);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &old)) CPU_SET(cpu, &one);
    duet_pool_set_threads(1);
    pin_threads(&one);
    uint64_t serial = best_burn_ns();
    if (running) pin_threads(&old);
    duet_pool_set_threads(2);
    if (running) assert_true(each_item_once(ITEMS, 1));
    pin_threads(&one);
    uint64_t parallel = best_burn_ns();
    pin_threads(&old);
    return (double)parallel / (double)serial;
}

static void test_two_threads_on_one_cpu(void **state) {
    (void)state;
    for (int running = 0; running < 2; running++) {
        double best = 1e9;
        for (int i = 0; i < 3 && best > 2.5; i++) {
            double ratio = pinned_ratio(running);
            if (ratio < best) best = ratio;
        }
        print_message("two threads on one CPU: %.2f times one thread\n", best);
        assert_true(best <= 2.5);
    }
    duet_pool_set_threads(2);
}

static void ask_handover(void *context, int64_t begin, int64_t end) {
    (void)begin, (void)end;
    if (duet_pool_handover_ns() != 0) *(_Atomic int *)context = 1;
}

static void test_handover_is_measured_once(void **state) {
    (void)state;
    _Atomic int measured_inside = 0;
    duet_pool_set_threads(1);
    assert_true(duet_pool_handover_ns() == 0);
    duet_pool_set_threads(2);
    duet_parallel_for(2, 1, ask_handover, &measured_inside);
    assert_int_equal(measured_inside, 0);
    double ns = duet_pool_handover_ns();
    print_message("handover: %.0f ns\n", ns);
    assert_true(ns > 0);
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t start = duet_clock_ns();
        assert_true(duet_pool_handover_ns() == ns);
        uint64_t elapsed = duet_clock_ns() - start;
        if (elapsed < best) best = elapsed;
    }
    assert_true(best < 500000); /* measuring takes at least 200 times 5 microseconds */
}

int main(void) {
    duet_pool_set_threads(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_item_once_in_ranges_of_the_grain),
        cmocka_unit_test(test_thread_number_is_clamped),
        cmocka_unit_test(test_call_returns_after_the_last_worker),
        cmocka_unit_test(test_two_ranges_run_at_the_same_time),
        cmocka_unit_test(test_nested_calls_are_plain_calls),
        cmocka_unit_test(test_many_threads_call_at_once),
        cmocka_unit_test(test_bits_do_not_depend_on_threads),
        cmocka_unit_test(test_idle_process_uses_no_cpu),
        cmocka_unit_test(test_child_of_fork_has_a_pool_of_its_own),
        cmocka_unit_test(test_child_of_fork_counts_its_memory),
        cmocka_unit_test(test_fork_while_another_thread_has_the_pool),
        cmocka_unit_test(test_two_threads_on_one_cpu),
        cmocka_unit_test(test_handover_is_measured_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
