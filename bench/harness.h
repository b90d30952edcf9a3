/* The measuring instrument: several ways to do one thing, timed fairly side by side.
 *
 *   first and second call   timed alone, since they trace, plan and touch new memory
 *   warm-up                 until two calls in a row neither trace nor ask the system for memory
 *   number                  calls a repeat: given, or so many that the clock's step does not matter
 *   repeats                 in turn, one of each contender a round, beginning with another one each
 *                           round: what the machine does meanwhile happens to all alike
 *   every sample kept       and the trace count before and after, which must be equal
 *
 * Results are compared before by whoever calls this; inputs are made before; outputs go to sink().
 * The clock is a parameter, so that the arithmetic is tested without one. */
#ifndef DUET_BENCH_HARNESS_H
#define DUET_BENCH_HARNESS_H

#include "stats.h"
#include "status.h"

#include <stdint.h>

/* One way to do the work. `call` does it once and waits for the result. */
typedef struct contender {
    const char *name;
    void *context;
    duet_status (*call)(void *context);
    int64_t (*traces)(void *context);          /* times it has traced; NULL: it never does */
    void (*switch_on)(void *context, bool on); /* around calls, not timed; may be NULL, and may
                                                  wait for what the calls left running */
} contender;

typedef struct bench_clock {
    double (*now_ns)(void *context);
    uint64_t (*system_allocs)(void *context);
    void *context;
} bench_clock;

bench_clock real_clock(void);

typedef struct measure_plan {
    int number;       /* calls a repeat; 0: chosen so that a repeat takes `repeat_ns` */
    int repeats;      /* samples of each contender, at least 1 */
    double repeat_ns; /* wished length of a repeat */
    double budget_ns; /* all repeats of one contender together take at most about this, but there
                         are at least three; 0: no limit */
} measure_plan;

enum { MAX_WARMUP = 64, MAX_REPEATS = 200 };

/* Times are microseconds a call. */
typedef struct measurement {
    double samples[MAX_REPEATS];
    int n_samples, number;
    double first_call, second_call;
    int warmup;  /* calls before the repeats, the first two included */
    bool steady; /* the warm-up ended by itself */
    int64_t traces_before, traces_after;
    summary summary;
} measurement;

/* Whether the figures mean what they say: nothing was traced while they were taken. */
static inline bool measurement_is_valid(const measurement *m) {
    return m->traces_before == m->traces_after;
}

/* Measures `count` contenders side by side into out[0..count). Fails where a call fails. */
duet_status measure(measurement *out, const contender *contenders, int count,
                    const measure_plan *plan, const bench_clock *clock);

/* Where results go: the compiler must believe that someone reads what `pointer` points to. Nothing
 * is copied. */
static inline void sink(const void *pointer) { __asm__ volatile("" : : "r"(pointer) : "memory"); }

#endif
