/* The inside of the tile machine, shared by its instructions' handlers (elementwise_typed.inc,
 * tile_moves.c) and its compiler and runner.
 *
 * The machine computes a tile, eight vectors of lanes, at a time. Its accumulator is those eight
 * vectors, and they stay in registers from one instruction to the next: a handler takes them as
 * arguments and ends in a tail call of the next instruction's handler, which compiles to one jump
 * (J. Haberman: "Parsing Protobuf at 2+GB/s: How I Learned To Love Tail Calls in C", 2021). */
#ifndef DUET_TILE_MACHINE_H
#define DUET_TILE_MACHINE_H

#include "kernels/elementwise.h"
#include "vector.h"

typedef int32_t duet_vi32_unaligned
    __attribute__((vector_size(DUET_VECTOR_BYTES), aligned(sizeof(int32_t)), may_alias));

enum {
    DUET_TILE_VECTORS = 8,
    DUET_TILE_BYTES = DUET_TILE_VECTORS * DUET_VECTOR_BYTES, /* 128 f32 with AVX-512 */
    DUET_TILE_SLOTS = 128,                                   /* tiles in memory, at most */
    DUET_TILE_SCALARS = 64,
};

typedef struct duet_tile_insn {
    duet_tile_handler run;
    uint16_t a, b; /* slots, or a scalar, that the instruction reads or writes */
} duet_tile_insn;

typedef union duet_tile_scalar {
    float f32;
    double f64;
    int32_t i32;
} duet_tile_scalar;

/* What instructions address. Slots are where the current tile of an input or output lies, or a
 * spilled value: handlers do not know which. */
typedef struct duet_tile_frame {
    void *slots[DUET_TILE_SLOTS];
    duet_tile_scalar scalars[DUET_TILE_SCALARS];
    const duet_tile_insn *resume; /* where a pause left the program, or NULL at its end */
    _Alignas(DUET_VECTOR_BYTES) char paused[DUET_TILE_BYTES]; /* the accumulator meanwhile */
} duet_tile_frame;

/* A handler's parameters and its last statement; V is the vector type. Clang is told that this
 * must be a jump, gcc makes it one from -O2 on; without, calls nest (see DUET_TILE_SEGMENT). */
#define DUET_TILE_ARGS                                                                             \
    const duet_tile_insn *pc, duet_tile_frame *frame, V a0, V a1, V a2, V a3, V a4, V a5, V a6, V a7
#ifdef __clang__
#define DUET_TAIL_CALL __attribute__((musttail)) return
#else
#define DUET_TAIL_CALL return
#endif
#define DUET_TILE_NEXT                                                                             \
    DUET_TAIL_CALL((void (*)(DUET_TILE_ARGS))pc[1].run)                                            \
    (pc + 1, frame, a0, a1, a2, a3, a4, a5, a6, a7)

/* Applies STEP(accumulator, its index) to all eight. */
#define DUET_TILE_EACH(STEP)                                                                       \
    STEP(a0, 0) STEP(a1, 1) STEP(a2, 2) STEP(a3, 3) STEP(a4, 4) STEP(a5, 5) STEP(a6, 6) STEP(a7, 7)

#endif
