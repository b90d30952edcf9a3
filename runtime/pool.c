/* The protocol is one 32-bit word, `state`:
 *
 *   bits 0..8    helpers: workers inside the current job
 *   bit  9       OPEN: workers may still join it
 *   bit  10      QUIT: workers shall end
 *   bits 11..31  the job's number
 *
 * A worker joins by raising the helper count while the job is open, and takes ranges from the
 * job's counter. The caller takes ranges too; when none is left it closes the job and waits for
 * the helpers inside, never for a worker that has not come: one that the system keeps from running
 * costs nothing. The number may wrap: a worker that takes a job for its last one only fails to
 * help. One caller at a time owns the pool (`busy`); any other runs its own work serially. */
#define _GNU_SOURCE
#include "pool.h"
#include "clock.h"
#include "environment.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    MAX_THREADS = 256,
    HELPERS = (1 << 9) - 1,
    OPEN = 1 << 9,
    QUIT = 1 << 10,
    NUMBER_SHIFT = 11,
    RANGES_PER_THREAD = 4,    /* enough for the faster thread to take over from the slower */
    PAUSES_PER_LOOK = 16,     /* about a microsecond between two looks at the clock */
    WORKER_SPIN_NS = 200000,  /* somewhat more than waking a sleeping worker costs its waker */
    CALLER_SPIN_NS = 1000000, /* the caller has work in flight: it may wait for longer */
};

static struct {
    alignas(64) _Atomic uint32_t state;
    alignas(64) _Atomic int64_t next; /* the range to be taken next */
    alignas(64) duet_task task;       /* the job: written by the caller before it opens it */
    void *context;
    int64_t count, ranges;
    alignas(64) _Atomic int sleepers;
    _Atomic bool caller_sleeps;
    _Atomic bool busy;
    _Atomic int threads; /* 0: not decided yet */
    int workers;         /* running; this and `handles` belong to the owner of `busy` */
    int workers_tried;   /* a thread that could not be made is not tried again at every call */
    bool fork_handled;
    pthread_t handles[MAX_THREADS];
} pool;

static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER; /* never held while a task runs */
static pthread_cond_t job_opened = PTHREAD_COND_INITIALIZER;
static pthread_cond_t helpers_left = PTHREAD_COND_INITIALIZER;
static _Thread_local bool inside_task;

/* ---- how many threads ---- */

static int usable_cpus(void) {
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : (int)online;
}

/* The same, at most a millisecond old: asking the system takes longer than a handover. */
static int recently_usable_cpus(uint64_t now) {
    static _Thread_local uint64_t asked_at;
    static _Thread_local int cpus;
    if (cpus == 0 || now - asked_at > 1000000) {
        asked_at = now;
        cpus = usable_cpus();
    }
    return cpus;
}

static int clamp_threads(long threads) {
    return threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : (int)threads;
}

static pthread_once_t environment_read = PTHREAD_ONCE_INIT; /* a wrong value is told once */
static int64_t threads_wished;
static void read_environment(void) {
    duet_environment_integer(&threads_wished, "DUET_THREADS", 1, MAX_THREADS);
}

int duet_pool_threads(void) {
    int threads = atomic_load_explicit(&pool.threads, memory_order_relaxed);
    if (threads > 0) return threads;
    pthread_once(&environment_read, read_environment);
    int decided = clamp_threads(threads_wished ? threads_wished : usable_cpus());
    if (atomic_compare_exchange_strong(&pool.threads, &threads, decided)) return decided;
    return threads;
}

/* ---- waiting ---- */

static inline void cpu_pause(void) {
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

typedef struct spin {
    uint64_t limit, start; /* nanoseconds */
    unsigned pauses;
} spin;

/* One short pause; false when it is time to sleep: at once where the threads outnumber the CPUs,
 * because there a spinning thread keeps the one it waits for from running. */
static bool spin_once(spin *s) {
    cpu_pause();
    if (++s->pauses % PAUSES_PER_LOOK) return true;
    if (s->pauses == PAUSES_PER_LOOK) {
        s->start = duet_clock_ns();
        return recently_usable_cpus(s->start) >= duet_pool_threads();
    }
    return duet_clock_ns() - s->start < s->limit;
}

static inline uint32_t state_now(void) {
    return atomic_load_explicit(&pool.state, memory_order_acquire);
}

/* The `sleepers` and `caller_sleeps` handshakes are Dekker's: the sleeper announces itself and
 * then looks at the state, the waker changes the state and then looks for sleepers; all four are
 * sequentially consistent, so at least one of the two sees the other. */
static void sleep_until_next_job(uint32_t seen) {
    pthread_mutex_lock(&sleep_lock);
    atomic_fetch_add(&pool.sleepers, 1);
    for (;;) {
        uint32_t state = atomic_load(&pool.state);
        if ((state & QUIT) || state >> NUMBER_SHIFT != seen >> NUMBER_SHIFT) break;
        pthread_cond_wait(&job_opened, &sleep_lock);
    }
    atomic_fetch_sub(&pool.sleepers, 1);
    pthread_mutex_unlock(&sleep_lock);
}

/* Wakes as many workers as can help and have a CPU to run on. */
static void wake_workers(int64_t wanted) {
    int64_t useful = recently_usable_cpus(duet_clock_ns()) - 1;
    if (useful > wanted) useful = wanted;
    int64_t awake = pool.workers - atomic_load(&pool.sleepers);
    if (useful <= awake) return;
    pthread_mutex_lock(&sleep_lock);
    for (int64_t i = awake; i < useful; i++) pthread_cond_signal(&job_opened);
    pthread_mutex_unlock(&sleep_lock);
}

static void await_helpers(void) {
    spin s = {.limit = CALLER_SPIN_NS};
    while (state_now() & HELPERS) {
        if (spin_once(&s)) continue;
        pthread_mutex_lock(&sleep_lock);
        atomic_store(&pool.caller_sleeps, true);
        while (atomic_load(&pool.state) & HELPERS) pthread_cond_wait(&helpers_left, &sleep_lock);
        atomic_store(&pool.caller_sleeps, false);
        pthread_mutex_unlock(&sleep_lock);
    }
}

/* ---- working ---- */

static int64_t next_range(void) {
    return atomic_fetch_add_explicit(&pool.next, 1, memory_order_relaxed);
}

/* Runs range i and then whichever is free, until none is. */
static void run_ranges(int64_t i) {
    int64_t size = pool.count / pool.ranges, larger = pool.count % pool.ranges;
    for (; i < pool.ranges; i = next_range()) {
        int64_t begin = i * size + (i < larger ? i : larger); /* the first `larger` have one more */
        pool.task(pool.context, begin, begin + size + (i < larger));
    }
}

static bool may_join(uint32_t state, uint32_t last) {
    return (state & OPEN) && state >> NUMBER_SHIFT != last >> NUMBER_SHIFT;
}

/* Spins, then sleeps, until there is a job that this worker has not seen; the state then. */
static uint32_t await_job(uint32_t last) {
    spin s = {.limit = WORKER_SPIN_NS};
    for (;;) {
        uint32_t state = state_now();
        if ((state & QUIT) || may_join(state, last)) return state;
        if (spin_once(&s)) continue;
        sleep_until_next_job(state);
        s = (spin){.limit = WORKER_SPIN_NS};
    }
}

static void *worker_main(void *first_state) {
    uint32_t last = (uint32_t)(uintptr_t)first_state;
    inside_task = true;
    for (;;) {
        uint32_t state = await_job(last);
        if (state & QUIT) return NULL;
        if (!atomic_compare_exchange_weak(&pool.state, &state, state + 1)) continue;
        last = state;
        run_ranges(next_range());
        uint32_t before = atomic_fetch_sub(&pool.state, 1);
        if ((before & (HELPERS | OPEN)) == 1 && atomic_load(&pool.caller_sleeps)) {
            pthread_mutex_lock(&sleep_lock);
            pthread_cond_signal(&helpers_left);
            pthread_mutex_unlock(&sleep_lock);
        }
    }
}

/* ---- starting and ending workers ---- */

static void before_fork(void) { pthread_mutex_lock(&sleep_lock); }
static void after_fork_in_parent(void) { pthread_mutex_unlock(&sleep_lock); }

/* The child has one thread: it begins with an unused pool and makes workers of its own. */
static void after_fork_in_child(void) {
    job_opened = helpers_left = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    atomic_store(&pool.state, 0);
    atomic_store(&pool.sleepers, 0);
    atomic_store(&pool.caller_sleeps, false);
    pool.workers = pool.workers_tried = 0;
    atomic_store(&pool.busy, false);
    pthread_mutex_unlock(&sleep_lock);
}

/* Signals are for the program's own threads: workers start with all of them blocked. */
static void start_workers(int wanted) {
    if (!pool.fork_handled) {
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
        pool.fork_handled = true;
    }
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    void *state = (void *)(uintptr_t)state_now();
    while (pool.workers < wanted &&
           pthread_create(&pool.handles[pool.workers], NULL, worker_main, state) == 0)
        pool.workers++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pool.workers_tried = wanted;
}

static bool try_own_pool(void) {
    return !atomic_load_explicit(&pool.busy, memory_order_relaxed) &&
           !atomic_exchange_explicit(&pool.busy, true, memory_order_acquire);
}

static void release_pool(void) { atomic_store_explicit(&pool.busy, false, memory_order_release); }

void duet_pool_set_threads(int threads) {
    if (inside_task) return;
    while (!try_own_pool()) sched_yield();
    pthread_mutex_lock(&sleep_lock);
    atomic_fetch_or(&pool.state, QUIT);
    pthread_cond_broadcast(&job_opened);
    pthread_mutex_unlock(&sleep_lock);
    for (int i = 0; i < pool.workers; i++) pthread_join(pool.handles[i], NULL);
    pool.workers = pool.workers_tried = 0;
    atomic_fetch_and(&pool.state, ~(uint32_t)QUIT);
    atomic_store(&pool.threads, clamp_threads(threads));
    release_pool();
}

/* ---- the call ---- */

static void run_job(int64_t count, int64_t ranges, duet_task task, void *context) {
    pool.task = task;
    pool.context = context;
    pool.count = count;
    pool.ranges = ranges;
    atomic_store_explicit(&pool.next, 1, memory_order_relaxed);
    uint32_t number = (state_now() >> NUMBER_SHIFT) + 1;
    atomic_store(&pool.state, number << NUMBER_SHIFT | OPEN);
    if (atomic_load(&pool.sleepers) > 0) wake_workers(ranges - 1);
    inside_task = true;
    run_ranges(0);
    inside_task = false;
    atomic_fetch_and(&pool.state, ~(uint32_t)OPEN);
    await_helpers();
}

void duet_parallel_for(int64_t count, int64_t grain, duet_task task, void *context) {
    if (count <= 0) return;
    int64_t ranges = grain > 1 ? count / grain : count;
    int threads = duet_pool_threads();
    if (threads == 1 || ranges < 2 || inside_task || !try_own_pool()) {
        task(context, 0, count);
        return;
    }
    if (pool.workers_tried < threads - 1) start_workers(threads - 1);
    int64_t most = (int64_t)threads * RANGES_PER_THREAD;
    run_job(count, ranges < most ? ranges : most, task, context);
    release_pool();
}

/* ---- what a handover costs ---- */

enum {
    PROBE_NS = 5000,
    ASSUMED_NS = 2000, /* where the machine is too busy to measure it */
};

static void busy_probe(void *context, int64_t begin, int64_t end) {
    (void)context;
    for (int64_t i = begin; i < end; i++)
        for (uint64_t start = duet_clock_ns(); duet_clock_ns() - start < PROBE_NS;) {
        }
}

/* Two ranges that each take a known time, on two threads: what is above that time is the
 * handover. The best of many, since anything else that runs on the machine only adds; a try that
 * no worker joined takes twice the time and does not count. */
static double measure_handover(void) {
    enum { TRIES = 200, BUDGET_NS = 20000000 };
    uint64_t best = UINT64_MAX, begin = duet_clock_ns(), end = begin;
    for (int helped = 0; helped < TRIES && end - begin < BUDGET_NS;) {
        uint64_t start = duet_clock_ns();
        duet_parallel_for(2, 1, busy_probe, NULL);
        end = duet_clock_ns();
        if (end - start < best) best = end - start;
        helped += end - start < 2 * PROBE_NS;
    }
    return best < 2 * PROBE_NS ? (double)(best - PROBE_NS) : ASSUMED_NS;
}

double duet_pool_handover_ns(void) {
    static _Atomic double measured;
    double result = atomic_load_explicit(&measured, memory_order_relaxed);
    if (result > 0) return result;
    if (inside_task || duet_pool_threads() == 1) return 0;
    result = measure_handover();
    atomic_store_explicit(&measured, result, memory_order_relaxed);
    return result;
}
