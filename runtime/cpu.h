/* What the processor offers, asked at run time: it may be less (valgrind, an older machine) or
 * more than what the library was compiled for. */
#ifndef DUET_CPU_H
#define DUET_CPU_H

#include <stdbool.h>

/* The model's name as the system gives it, or "". Lives as long as the process. */
const char *duet_cpu_name(void);

bool duet_cpu_has_avx2(void);   /* with FMA; false on other architectures */
bool duet_cpu_has_avx512(void); /* F, DQ, BW and VL, which the AVX-512 kernels of BLAS need */

/* Processors that this process may run on, at least 1. */
int duet_cpu_count(void);

#endif
