/* Two words to the compiler about registers, for loops whose limit is how operands are fetched.
 * They change no value and generate no instruction. */
#ifndef DUET_BENCH_REGISTERS_H
#define DUET_BENCH_REGISTERS_H

#include "vector.h"

/* The vector at `from`, loaded once into a register, and not again with each use. (GCC 12 folds the
 * load into every multiply-add: 20 loads for 16 of them, where two a cycle is all there is.) */
DUET_ALWAYS_INLINE duet_vf32 load_once(const float *from) {
    duet_vf32 x = duet_vf32_load(from);
#if defined __x86_64__
    __asm__("" : "+v"(x));
#elif defined __aarch64__
    __asm__("" : "+w"(x));
#endif
    return x;
}

/* Nothing is known of where `pointer` points: neighbours of it are not fetched together. (GCC 12
 * gathers the scalars of several rows by permuting whole vectors.) */
#define OPAQUE(pointer) __asm__("" : "+r"(pointer))

#endif
