/* The widest vectors that the library was compiled for, in GCC's vector extensions: code that is
 * written once with these runs on 4, 8 or 16 floats at a time, without intrinsics.
 *
 * duet_vf32 holds DUET_VL floats and duet_vf64 half as many doubles. The arithmetic operators
 * work lane by lane and round as the scalars do; a comparison gives all ones or zero per lane. */
#ifndef DUET_VECTOR_H
#define DUET_VECTOR_H

#include <stdint.h>

#ifndef DUET_VL /* may be set lower than the target offers, to try the narrower code paths */
#if defined __AVX512F__
#define DUET_VL 16
#elif defined __AVX__
#define DUET_VL 8
#else
#define DUET_VL 4
#endif
#endif

/* Vector registers, which bound how large a tile fits. */
#if defined __AVX512F__ || defined __aarch64__
#define DUET_VECTOR_REGISTERS 32
#else
#define DUET_VECTOR_REGISTERS 16
#endif

/* Whether a multiply-add rounds once. Without the instruction it is a multiply, then an add. */
#if defined __FMA__ || defined __ARM_FEATURE_FMA
#define DUET_HAS_FMA 1
#else
#define DUET_HAS_FMA 0
#endif

#define DUET_VECTOR_BYTES (4 * DUET_VL)
#define DUET_ALWAYS_INLINE static inline __attribute__((always_inline))

/* For what is used at hundreds of places. Under a sanitizer it stays a function: its checks in a
 * copy at each place find nothing more, and take minutes to compile. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define DUET_INLINE_IF_FAST static __attribute__((noinline, unused))
#else
#define DUET_INLINE_IF_FAST DUET_ALWAYS_INLINE
#endif

/* For loops over the registers of a tile: the arrays must dissolve into registers. */
#ifdef __clang__
#define DUET_UNROLL _Pragma("clang loop unroll(full)")
#else
#define DUET_UNROLL _Pragma("GCC unroll 32")
#endif

/* a * b + c, rounded once where the processor can. clang sees the vector in a loop over the lanes,
 * and so does GCC; but where GCC's tuning prefers narrower vectors (Intel's processors with
 * AVX-512) it takes the vector apart, 16 times slower: so it is given the instruction. */
#if !DUET_HAS_FMA
#define DUET_DEFINE_FMA(bits, fused, instruction)                                                  \
    DUET_ALWAYS_INLINE duet_vf##bits duet_vf##bits##_fma(duet_vf##bits a, duet_vf##bits b,         \
                                                         duet_vf##bits c) {                        \
        return a * b + c;                                                                          \
    }
#elif defined __FMA__ && !defined __clang__
#define DUET_DEFINE_FMA(bits, fused, instruction)                                                  \
    DUET_ALWAYS_INLINE duet_vf##bits duet_vf##bits##_fma(duet_vf##bits a, duet_vf##bits b,         \
                                                         duet_vf##bits c) {                        \
        __asm__(instruction " %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));                             \
        return c;                                                                                  \
    }
#else
#define DUET_DEFINE_FMA(bits, fused, instruction)                                                  \
    DUET_ALWAYS_INLINE duet_vf##bits duet_vf##bits##_fma(duet_vf##bits a, duet_vf##bits b,         \
                                                         duet_vf##bits c) {                        \
        duet_vf##bits sum;                                                                         \
        DUET_UNROLL                                                                                \
        for (int i = 0; i < DUET_LANES_F##bits; i++) sum[i] = fused(a[i], b[i], c[i]);             \
        return sum;                                                                                \
    }
#endif

#define DUET_DEFINE_VECTOR(bits, real, integer, fused, instruction)                                \
    typedef real duet_vf##bits __attribute__((vector_size(DUET_VECTOR_BYTES)));                    \
    typedef integer duet_vi##bits __attribute__((vector_size(DUET_VECTOR_BYTES)));                 \
    typedef real duet_vf##bits##_unaligned                                                         \
        __attribute__((vector_size(DUET_VECTOR_BYTES), aligned(sizeof(real)), may_alias));         \
    enum { DUET_LANES_F##bits = DUET_VECTOR_BYTES / sizeof(real) };                                \
                                                                                                   \
    DUET_ALWAYS_INLINE duet_vf##bits duet_vf##bits##_load(const real *from) {                      \
        return *(const duet_vf##bits##_unaligned *)from;                                           \
    }                                                                                              \
    DUET_ALWAYS_INLINE void duet_vf##bits##_store(real *to, duet_vf##bits x) {                     \
        *(duet_vf##bits##_unaligned *)to = x;                                                      \
    }                                                                                              \
    /* x in all lanes; minus zero (x - 0) is the one operation that leaves every x as it is. */    \
    DUET_ALWAYS_INLINE duet_vf##bits duet_vf##bits##_all(real x) {                                 \
        return x - (duet_vf##bits){0};                                                             \
    }                                                                                              \
    DUET_DEFINE_FMA(bits, fused, instruction)                                                      \
    /* max(x, 0) that keeps NaN and -0. */                                                         \
    DUET_ALWAYS_INLINE duet_vf##bits duet_vf##bits##_relu(duet_vf##bits x) {                       \
        return (duet_vf##bits)((duet_vi##bits)x & ~(duet_vi##bits)(x < (duet_vf##bits){0}));       \
    }

DUET_DEFINE_VECTOR(32, float, int32_t, __builtin_fmaf, "vfmadd231ps")
DUET_DEFINE_VECTOR(64, double, int64_t, __builtin_fma, "vfmadd231pd")

/* The scalar twins, for what is left beside the vectors. */
DUET_ALWAYS_INLINE float duet_f32_fma(float a, float b, float c) {
    return DUET_HAS_FMA ? __builtin_fmaf(a, b, c) : a * b + c;
}
DUET_ALWAYS_INLINE double duet_f64_fma(double a, double b, double c) {
    return DUET_HAS_FMA ? __builtin_fma(a, b, c) : a * b + c;
}

#endif
