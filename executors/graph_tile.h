/* A graph of elementwise ops, perhaps with a reduction at its end, as a program of the tile
 * machine. */
#ifndef DUET_GRAPH_TILE_H
#define DUET_GRAPH_TILE_H

#include "graph.h"
#include "kernels/tile.h"

/* Whether the graph is of that kind: all its nodes elementwise ops of one type, or scalar
 * constants, over one shape; a reduction over trailing axes may be the last node and only result.
 */
bool duet_graph_is_tileable(const duet_graph *graph);

/* Compiles such a graph, whose dimensions must be known; NULL with a message where it is too large
 * or memory ends. */
duet_tile_program *duet_graph_compile_tiles(const duet_graph *graph);

#endif
