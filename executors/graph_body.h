/* A graph as an attribute of an op: what `fused`, `cond`, `while` and `invoke` hold. */
#ifndef DUET_GRAPH_BODY_H
#define DUET_GRAPH_BODY_H

#include "core/body.h"
#include "graph.h"

/* Takes the graph over (also when it fails); one reference for the caller. */
duet_body *duet_graph_body_new(duet_graph *graph);

/* The graph inside. Every body is made by duet_graph_body_new(). */
const duet_graph *duet_graph_of_body(const duet_body *body);

#endif
