/* exp, log and tanh of whole vectors, from SLEEF (N. Shibata, F. Petrogalli: "SLEEF: A Portable
 * Vectorized Library of C Standard Mathematical Functions", IEEE TPDS 31(6), 2020).
 *
 * One function per type serves every caller, full vectors and padded tails alike, so that a value's
 * result never depends on where it stands. Of SLEEF's variants we take those within 1.0 ulp ("u10")
 * that give the same bits at every vector width: "finz" with FMA, "cinz" without. */
#ifndef DUET_VMATH_H
#define DUET_VMATH_H

#include "vector.h"

#include <sleef.h>

#if DUET_VL == 16
#define DUET_SLEEF_F32(name) Sleef_finz_##name##f16_u10avx512f
#define DUET_SLEEF_F64(name) Sleef_finz_##name##d8_u10avx512f
#elif DUET_VL == 8 && defined __AVX2__ && defined __FMA__
#define DUET_SLEEF_F32(name) Sleef_finz_##name##f8_u10avx2
#define DUET_SLEEF_F64(name) Sleef_finz_##name##d4_u10avx2
#elif DUET_VL == 8 && defined __AVX__
#define DUET_SLEEF_F32(name) Sleef_cinz_##name##f8_u10avx
#define DUET_SLEEF_F64(name) Sleef_cinz_##name##d4_u10avx
#elif DUET_VL == 4 && defined __AVX2__ && defined __FMA__
#define DUET_SLEEF_F32(name) Sleef_finz_##name##f4_u10avx2128
#define DUET_SLEEF_F64(name) Sleef_finz_##name##d2_u10avx2128
#elif DUET_VL == 4 && defined __SSE2__
#define DUET_SLEEF_F32(name) Sleef_cinz_##name##f4_u10sse2
#define DUET_SLEEF_F64(name) Sleef_cinz_##name##d2_u10sse2
#elif DUET_VL == 4 && defined __aarch64__
#define DUET_SLEEF_F32(name) Sleef_finz_##name##f4_u10advsimd
#define DUET_SLEEF_F64(name) Sleef_finz_##name##d2_u10advsimd
#endif

#ifdef DUET_SLEEF_F32
#define DUET_DEFINE_VMATH(name, bits, letter)                                                      \
    DUET_ALWAYS_INLINE duet_vf##bits duet_##name##_f##bits(duet_vf##bits x) {                      \
        return DUET_SLEEF_F##bits(name)(x);                                                        \
    }
#else /* no vectors of this width in SLEEF: its scalars, lane by lane */
#define DUET_DEFINE_VMATH(name, bits, letter)                                                      \
    DUET_ALWAYS_INLINE duet_vf##bits duet_##name##_f##bits(duet_vf##bits x) {                      \
        for (int i = 0; i < DUET_LANES_F##bits; i++)                                               \
            x[i] = Sleef_cinz_##name##letter##1_u10purec(x[i]);                                    \
        return x;                                                                                  \
    }
#endif

DUET_DEFINE_VMATH(exp, 32, f)
DUET_DEFINE_VMATH(exp, 64, d)
DUET_DEFINE_VMATH(log, 32, f)
DUET_DEFINE_VMATH(log, 64, d)
DUET_DEFINE_VMATH(tanh, 32, f)
DUET_DEFINE_VMATH(tanh, 64, d)

#endif
