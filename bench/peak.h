/* The most multiply-adds that this machine does, measured: what GFLOP/s are to be seen against. */
#ifndef DUET_BENCH_PEAK_H
#define DUET_BENCH_PEAK_H

/* f32 GFLOP/s of `threads` threads that only multiply and add in registers; the best of some tries,
 * which take a few milliseconds together. */
double peak_gflops(int threads);

/* The same work once, in the calling thread; returns its floating-point operations. */
double peak_work(void);

#endif
