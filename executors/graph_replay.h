/* Runs a graph's nodes as ordinary op calls: eagerly, or into the trace that is being recorded. So
 * a graph is inlined, differentiated and run op by op. */
#ifndef DUET_GRAPH_REPLAY_H
#define DUET_GRAPH_REPLAY_H

#include "graph.h"

/* `in`: a tensor per input; `out`: one per result, owned by the innermost scope. Variables of the
 * graph stand for themselves. */
duet_status duet_graph_replay(const duet_graph *graph, duet_tensor **out, duet_tensor *const *in);

#endif
