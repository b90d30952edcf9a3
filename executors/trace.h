/* The tracer: an executor that records. While a trace is open in a thread, every op call becomes a
 * node, and its results are symbolic tensors. */
#ifndef DUET_TRACE_H
#define DUET_TRACE_H

#include "graph.h"

typedef struct duet_trace duet_trace;

/* Opens a trace into a new graph. Traces nest (sub-graphs): values of an outer trace become inputs
 * of the inner graph as they are used. Tapes that record outside do not see the inside. Where
 * `may_make_variables` is false, making one is an error. NULL with a message when memory ends. */
duet_trace *duet_trace_begin(const char *name, bool may_make_variables);

/* A symbolic parameter of the graph, owned by the innermost scope. */
duet_tensor *duet_trace_input(duet_trace *trace, const duet_spec *spec);

/* Makes the tensors the graph's results; concrete ones become constants. */
duet_status duet_trace_results(duet_trace *trace, duet_tensor *const *results, int count);

/* Closes the trace and gives its graph to the caller; NULL with a message when recording failed. */
duet_graph *duet_trace_end(duet_trace *trace);

/* Tensors of outer traces that the graph uses, in the order of the inputs that stand for them. */
int duet_trace_captured(const duet_trace *trace, duet_tensor *const **captured);

duet_status duet_trace_dispatch(duet_tensor **out, const duet_op *op, const duet_attr *attrs,
                                duet_tensor *const *in, int n_in);

#endif
