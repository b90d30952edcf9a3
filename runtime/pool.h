/* One pool of threads for everything that runs in parallel.
 *
 * Work is split over independent outputs only, so results never depend on the number of threads.
 * The caller is one of the threads. Workers spin for some microseconds after their last task, then
 * sleep: an idle process uses no CPU. A call made from inside a task runs serially, and so does one
 * made while another thread's call has the workers. A child of fork() makes workers of its own. */
#ifndef DUET_POOL_H
#define DUET_POOL_H

#include <stdint.h>

/* Runs items begin .. end-1 of a piece of work. */
typedef void (*duet_task)(void *context, int64_t begin, int64_t end);

/* Splits items 0 .. count-1 into ranges of at least `grain` items, runs them on the pool and
 * returns when all are done; which thread runs a range is not fixed. With one thread, one range or
 * inside another task: a plain call task(context, 0, count). No items, no call. Never fails:
 * without workers it runs serially. */
void duet_parallel_for(int64_t count, int64_t grain, duet_task task, void *context);

/* Threads in use, the caller included: DUET_THREADS, or the CPUs this process may run on. */
int duet_pool_threads(void);

/* Changes it (clamped to 1 .. 256), for experiments and benchmarks. Waits for a call in another
 * thread to end; does nothing inside a task. */
void duet_pool_set_threads(int threads);

/* Measured once per process, in nanoseconds: what handing two ranges over costs beside running
 * them in place. Work shorter than a few of these is not worth splitting. 0 where nothing is ever
 * handed over: with one thread, or inside a task. */
double duet_pool_handover_ns(void);

#endif
