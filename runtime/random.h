/* Random numbers as a function of key and position: Philox4x32-10.
 *
 * Element i of a fill depends on `key` and on first + i alone, so a stream may be cut anywhere,
 * between calls or between threads, and stays the same stream. */
#ifndef DUET_RANDOM_H
#define DUET_RANDOM_H

#include <stdint.h>

/* Ten rounds of Philox with four 32-bit words: Salmon, Moraes, Dror, Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", SC 2011. `out` may be `counter`. */
void duet_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/* Fills out[0 .. count-1] with elements first .. first+count-1 of the stream of `key`; no stream is
 * longer than 2^64 elements. The four functions have a stream each. Large fills run on the pool.
 *
 * Uniform: multiples of 2^-24 (f32) or 2^-53 (f64) in [0, 1).
 * Normal: mean 0, variance 1, from pairs of uniform numbers: Box and Muller, "A note on the
 * generation of random normal deviates", 1958. Never NaN or infinite: f32 stays within +-6.7, f64
 * within +-8.6. The last bit may differ between C libraries, whose logarithms do. */
void duet_random_uniform_f32(float *out, int64_t count, uint64_t key, uint64_t first);
void duet_random_uniform_f64(double *out, int64_t count, uint64_t key, uint64_t first);
void duet_random_normal_f32(float *out, int64_t count, uint64_t key, uint64_t first);
void duet_random_normal_f64(double *out, int64_t count, uint64_t key, uint64_t first);

#endif
