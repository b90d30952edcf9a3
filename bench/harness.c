#include "harness.h"

#include "clock.h"
#include "memory.h"

#include <stdlib.h>

enum { MAX_NUMBER = 100000000 };

static double clock_now(void *unused) { return (void)unused, (double)duet_clock_ns(); }

static uint64_t clock_allocs(void *unused) {
    return (void)unused, duet_memory_get_stats().system_allocs;
}

bench_clock real_clock(void) { return (bench_clock){clock_now, clock_allocs, NULL}; }

static void switch_on(const contender *c, bool on) {
    if (c->switch_on) c->switch_on(c->context, on);
}

static int64_t traces(const contender *c) { return c->traces ? c->traces(c->context) : 0; }

/* `number` calls in nanoseconds. */
static duet_status time_calls(double *ns, const contender *c, int number,
                              const bench_clock *clock) {
    duet_status (*call)(void *) = c->call;
    void *context = c->context;
    double begin = clock->now_ns(clock->context);
    for (int i = 0; i < number; i++) TRY(call(context));
    *ns = clock->now_ns(clock->context) - begin;
    return DUET_OK;
}

/* First and second call alone, then on until two in a row were quiet. */
static duet_status warm_up(measurement *m, double *steady_ns, const contender *c,
                           const bench_clock *clock) {
    int quiet = 0;
    for (m->warmup = 0; m->warmup < MAX_WARMUP && quiet < 2;) {
        int64_t traced = traces(c);
        uint64_t allocated = clock->system_allocs(clock->context);
        TRY(time_calls(steady_ns, c, 1, clock));
        bool was_quiet = traces(c) == traced && clock->system_allocs(clock->context) == allocated;
        quiet = was_quiet ? quiet + 1 : 0;
        if (m->warmup == 0) m->first_call = *steady_ns / 1e3;
        if (m->warmup == 1) m->second_call = *steady_ns / 1e3;
        m->warmup++;
    }
    m->steady = quiet == 2;
    return DUET_OK;
}

/* Doubles the number until a repeat is a fair part of what is wished, then scales. */
static duet_status choose_number(measurement *m, double ns, const contender *c,
                                 const measure_plan *plan, const bench_clock *clock) {
    int number = 1;
    while (ns < plan->repeat_ns / 8 && number < MAX_NUMBER / 2) {
        number *= 2;
        TRY(time_calls(&ns, c, number, clock));
    }
    double wanted = ns > 0 ? plan->repeat_ns * number / ns : MAX_NUMBER;
    m->number = wanted < 1 ? 1 : wanted > MAX_NUMBER ? MAX_NUMBER : (int)wanted;
    return DUET_OK;
}

/* Warm-up is what one contender does alone; `ns` is what a repeat of it will take. */
static duet_status prepare(measurement *m, double *repeat_ns, const contender *c,
                           const measure_plan *plan, const bench_clock *clock) {
    double ns = 0;
    *m = (measurement){.number = plan->number};
    switch_on(c, true);
    duet_status status = warm_up(m, &ns, c, clock);
    double call_ns = ns;
    if (status == DUET_OK && !m->number) status = choose_number(m, ns, c, plan, clock);
    switch_on(c, false);
    *repeat_ns = plan->number ? call_ns * m->number : plan->repeat_ns;
    if (call_ns > *repeat_ns) *repeat_ns = call_ns;
    m->traces_before = traces(c);
    return status;
}

static int repeats_within_budget(const measure_plan *plan, double longest_ns) {
    int repeats = plan->repeats < MAX_REPEATS ? plan->repeats : MAX_REPEATS;
    if (plan->budget_ns <= 0 || longest_ns * repeats <= plan->budget_ns) return repeats;
    int fitting = (int)(plan->budget_ns / longest_ns);
    return fitting >= 3 ? fitting : repeats < 3 ? repeats : 3;
}

static duet_status take_sample(measurement *m, const contender *c, const bench_clock *clock) {
    double ns = 0;
    switch_on(c, true);
    duet_status status = time_calls(&ns, c, m->number, clock);
    switch_on(c, false);
    m->samples[m->n_samples++] = ns / m->number / 1e3;
    return status;
}

duet_status measure(measurement *out, const contender *contenders, int count,
                    const measure_plan *plan, const bench_clock *clock) {
    double longest_ns = 0;
    for (int i = 0; i < count; i++) {
        double repeat_ns;
        TRY(prepare(&out[i], &repeat_ns, &contenders[i], plan, clock));
        if (repeat_ns > longest_ns) longest_ns = repeat_ns;
    }
    int repeats = repeats_within_budget(plan, longest_ns);
    for (int round = 0; round < repeats; round++)
        for (int i = 0; i < count; i++) {
            int turn = (round + i) % count;
            TRY(take_sample(&out[turn], &contenders[turn], clock));
        }
    for (int i = 0; i < count; i++) {
        out[i].traces_after = traces(&contenders[i]);
        out[i].summary = summarize(out[i].samples, out[i].n_samples);
    }
    return DUET_OK;
}
