/* One pool of threads for everything that runs in parallel.
 *
 * Work is split over independent outputs only, so results never depend on the number of threads.
 * The caller is one of the threads. Workers spin for some microseconds after their last task, then
 * sleep: an idle process uses no CPU. A call made from inside a task runs serially. */
#ifndef DUET_POOL_H
#define DUET_POOL_H

#include <stdint.h>

/* Runs items begin .. end-1 of a piece of work. */
typedef void (*duet_task)(void *context, int64_t begin, int64_t end);

/* Splits items 0 .. count-1 into ranges of at least `grain` items, runs them on the pool and
 * returns when all are done. With one thread, one range or inside another task: a plain call
 * task(context, 0, count). Never fails: without workers it runs serially. */
void duet_parallel_for(int64_t count, int64_t grain, duet_task task, void *context);

/* Threads in use, the caller included: DUET_THREADS, or the CPUs this process may run on. */
int duet_pool_threads(void);

/* Changes it (1 .. 256), for experiments and benchmarks. Not while other threads use the pool. */
void duet_pool_set_threads(int threads);

/* Measured once per process, in nanoseconds: what handing two ranges over costs beside running
 * them in place. Work shorter than a few of these is not worth splitting. */
double duet_pool_handover_ns(void);

#endif
