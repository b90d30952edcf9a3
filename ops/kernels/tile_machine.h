/* The inside of the tile machine, shared by its instructions' handlers (elementwise_typed.inc,
 * tile_moves.c), its compiler and its runner.
 *
 * The machine computes a tile, eight vectors of lanes, at a time. Its accumulator is those eight
 * vectors, and they stay in registers from one instruction to the next: a handler takes them as
 * arguments and ends in a tail call of the next instruction's handler, which compiles to one jump
 * (J. Haberman: "Parsing Protobuf at 2+GB/s: How I Learned To Love Tail Calls in C", 2021). */
#ifndef DUET_TILE_MACHINE_H
#define DUET_TILE_MACHINE_H

#include "kernels/broadcast.h"
#include "kernels/tile.h"
#include "vector.h"

typedef int32_t duet_vi32_unaligned
    __attribute__((vector_size(DUET_VECTOR_BYTES), aligned(sizeof(int32_t)), may_alias));

/* Copies fewer bytes than a vector has, a multiple of 4. Compilers make a loop over a few elements
 * a call of memcpy, or worse. */
DUET_ALWAYS_INLINE void duet_copy_part(void *to, const void *from, int64_t bytes) {
    char *out = to;
    const char *in = from;
#define PART(size)                                                                                 \
    if (bytes & (size)) memcpy(out, in, size), out += (size), in += (size)
    if (DUET_VECTOR_BYTES > 32) PART(32);
    if (DUET_VECTOR_BYTES > 16) PART(16);
    PART(8);
    PART(4);
#undef PART
}

enum {
    DUET_TILE_BYTES = 8 * DUET_VECTOR_BYTES, /* 128 f32 with AVX-512 */
    DUET_TILE_SLOTS = 384,                   /* tiles in memory: inputs, outputs, spilled values */
    DUET_TILE_SCALARS = 320,                 /* inputs of one element, and constants */
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

/* What instructions address. A slot says where the current tile of an input, an output or a spilled
 * value lies: handlers do not know which. */
typedef struct duet_tile_frame {
    void *slots[DUET_TILE_SLOTS];
    duet_tile_scalar scalars[DUET_TILE_SCALARS];
    const duet_tile_insn *resume; /* where a pause left the program; NULL at its end */
    _Alignas(DUET_VECTOR_BYTES) char paused[DUET_TILE_BYTES]; /* the accumulator meanwhile */
} duet_tile_frame;

/* A handler's parameters and its last statement; V is the vector type. Clang is told that this must
 * be a jump, gcc makes it one when it optimises. Where neither does, calls nest, and a program
 * pauses every so many instructions to give the stack back. */
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

/* What has no expression: tile_moves.c. One set for each type. */
typedef struct duet_tile_moves {
    duet_tile_handler load;                /* acc = slot a */
    duet_tile_handler store;               /* slot a = acc */
    duet_tile_handler splat;               /* acc = scalar a */
    duet_tile_handler pause;               /* leaves the machine; `start` goes on behind it */
    duet_tile_handler end;                 /* leaves the machine for good */
    void (*start)(duet_tile_frame *frame); /* runs from frame->resume until a pause or the end */
    void (*widen)(void *lanes, const uint8_t *bools, int64_t count);
    void (*narrow)(uint8_t *bools, const void *lanes, int64_t count);
    void (*fill)(void *tile, const duet_tile_scalar *scalar); /* a whole tile */
    void (*pad)(void *tile, const void *from, int64_t count); /* zeros behind what there is */
    void (*cut)(void *to, const void *tile, int64_t count);
} duet_tile_moves;
extern const duet_tile_moves duet_tile_moves_of[3]; /* by T: DUET_F32, DUET_F64, DUET_I32 */

typedef struct duet_tile_text {
    const char *name, *operands; /* printf's text of an instruction's a and b */
} duet_tile_text;

/* How an input is brought to where instructions read it. */
typedef struct duet_tile_input {
    duet_broadcast broadcast;
    int64_t period; /* > 0: repeats after so many elements, and is written out once (see runner) */
    bool is_bool;
    int16_t slot;   /* -1: not read as a tile */
    int16_t scalar; /* -1: not read as a scalar */
    bool empty;     /* no elements, so no value uses it: not to be read */
} duet_tile_input;

typedef struct duet_tile_output {
    bool is_bool;
    bool staged; /* goes to scratch first: an input that shares its memory is still read */
    int16_t slot;
} duet_tile_output;

struct duet_tile_program {
    duet_dtype dtype;
    int64_t count; /* elements */
    int64_t tile;  /* elements of a tile */
    double cost;   /* of an element, in additions */
    const duet_reduction *reduction;
    int64_t rows, run;
    duet_tile_input *in;
    duet_tile_output *out;
    duet_tile_insn *insns;
    duet_tile_text *texts; /* of insns */
    size_t *scratch;       /* per slot: bytes from the scratch area's begin to its tile */
    size_t scratch_bytes;
    duet_tile_scalar *scalars; /* values, from first_constant on */
    int16_t *scalar_slots;     /* per scalar: the slot that holds it as a tile, or -1 */
    int first_constant;
    int n_in, n_out, n_insns, n_slots, n_scalars;
};

#endif
