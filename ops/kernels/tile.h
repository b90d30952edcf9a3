/* The tile machine: runs a fused group of elementwise calls tile by tile, so that what is between
 * them never reaches memory. Results have the bits that the calls have one by one.
 *
 * The group is a list of expressions whose values are all of one type T, or bools, which inside a
 * program are lanes of T, 0 or 1. Operands broadcast to one shape. It is compiled once for its
 * shapes; a compiled program is immutable and may run in several threads at a time. */
#ifndef DUET_TILE_H
#define DUET_TILE_H

#include "kernels/elementwise.h"
#include "kernels/reduce.h"

#include <stdio.h>

enum { DUET_TILE_MAX_NODES = 256 };

typedef struct duet_tile_node {
    const duet_elementwise *expression; /* from duet_elementwise_of() */
    int32_t args[DUET_ELEMENTWISE_ARITY];
} duet_tile_node;

/* Values are numbered: the inputs, then the constants, then the nodes; a node's args come before
 * it. */
typedef struct duet_tile_source {
    duet_dtype dtype;             /* T: f32, f64 or i32 */
    duet_shape shape;             /* what all values broadcast to, without free dimensions */
    const duet_spec *const *in;   /* of T or bool; shapes that broadcast to `shape` */
    const duet_view *constants;   /* one element each, of T or bool; copied */
    const duet_tile_node *nodes;  /* at most DUET_TILE_MAX_NODES */
    const int32_t *out;           /* the values that are outputs ... */
    const duet_dtype *out_dtypes; /* ... each as T or bool, of `shape` */
    int n_in, n_constants, n_nodes, n_out;

    /* Where set, the one output (of T) is reduced instead of stored, exactly as duet_reduce() does
     * over trailing axes: to `rows` elements, each of `run` in row-major order. */
    const duet_reduction *reduction;
    int64_t rows, run;
} duet_tile_source;

typedef struct duet_tile_program duet_tile_program;

/* NULL with a message when memory ends or the source is too large. Nothing of `source` is kept. */
duet_tile_program *duet_tile_compile(const duet_tile_source *source);
void duet_tile_free(duet_tile_program *program); /* NULL is fine */

/* in, out: data of the inputs and outputs as compiled. out[0] may be the memory of an input of its
 * type and shape. Large programs are split over the pool. */
duet_status duet_tile_run(const duet_tile_program *program, const void *const *in,
                          void *const *out);

/* One line per instruction, for reading: "mul   acc, s0". */
void duet_tile_print(FILE *to, const duet_tile_program *program);

#endif
