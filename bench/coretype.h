/* OpenBLAS picks its kernels while it is loaded, and older ones take a newer processor for an old
 * one. Only OPENBLAS_CORETYPE in the environment of a starting process mends that. */
#ifndef DUET_BENCH_CORETYPE_H
#define DUET_BENCH_CORETYPE_H

#include <stdbool.h>

/* Where OpenBLAS is mistaken and the user has set nothing, replaces this process by itself with
 * the variable set, once; else returns. */
void restart_with_fitting_coretype(char **argv);

/* Whether that happened to this process. */
bool restarted_with_coretype(void);

/* "OpenBLAS runs Prescott kernels (128 bits) on a processor with 512; set OPENBLAS_CORETYPE=...":
 * what a reader of figures must know, in `chars` of `room` bytes; "" where nothing is wrong. */
const char *coretype_notice(char *chars, int room);

#endif
