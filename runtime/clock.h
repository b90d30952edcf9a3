/* Time, for measuring and for bounded waiting. */
#ifndef DUET_CLOCK_H
#define DUET_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some fixed moment; never goes back (CLOCK_MONOTONIC). */
uint64_t duet_clock_ns(void);

/* Nanoseconds that one reading costs, or the clock's smallest step where that is larger: no single
 * interval can be measured finer. Measured at the first call, which takes about a millisecond. */
double duet_clock_overhead_ns(void);

#endif
