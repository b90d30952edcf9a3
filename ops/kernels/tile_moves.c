/* The tile machine's instructions that move tiles, and what its runner does to tiles. */
#include "kernels/tile_machine.h"

#define NAME tile
#define BODY "kernels/tile_moves_typed.inc"
#include "kernels/each_type.inc"

#define MOVES(suffix)                                                                              \
    {                                                                                              \
        .load = (duet_tile_handler)tile_##suffix##_load,                                           \
        .store = (duet_tile_handler)tile_##suffix##_store,                                         \
        .splat = (duet_tile_handler)tile_##suffix##_splat,                                         \
        .pause = (duet_tile_handler)tile_##suffix##_pause,                                         \
        .end = (duet_tile_handler)tile_##suffix##_end, .start = tile_##suffix##_start,             \
        .widen = tile_##suffix##_widen, .narrow = tile_##suffix##_narrow,                          \
        .fill = tile_##suffix##_fill, .pad = tile_##suffix##_pad, .cut = tile_##suffix##_cut       \
    }

const duet_tile_moves duet_tile_moves_of[3] = {
    [DUET_F32] = MOVES(f32), [DUET_F64] = MOVES(f64), [DUET_I32] = MOVES(i32)};
