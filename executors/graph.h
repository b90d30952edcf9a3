/* The graph: two arrays, values and nodes, and integer ids.
 *
 * Nodes stand in program order, which is a topological order: a node's inputs are parameters,
 * variables, or results of earlier nodes. The order of stateful nodes and of reads and writes of a
 * variable is their meaning; passes keep it. Passes hold their scratch in side arrays, never here.
 * Invariants: graph_verify.c. Text form: graph_print.c, graph_parse.c. */
#ifndef DUET_GRAPH_H
#define DUET_GRAPH_H

#include "duet.h"

#include <stdio.h>

typedef enum duet_value_kind {
    DUET_VALUE_INPUT,    /* `index`-th parameter */
    DUET_VALUE_VARIABLE, /* `index`-th variable: stands for the variable itself, not its contents */
    DUET_VALUE_RESULT,   /* result `index` of node `node` */
} duet_value_kind;

typedef struct duet_graph_value {
    duet_spec spec;
    duet_value_kind kind;
    int32_t node, index;
} duet_graph_value;

typedef struct duet_graph_node {
    const duet_op *op; /* NULL: removed by a pass, gone at the next duet_graph_compact() */
    duet_attr *attrs;  /* one per described attribute, held; NULL where the op has none */
    int32_t *in;       /* value ids */
    int32_t n_in;
    int32_t out, n_out; /* its results are values out .. out + n_out - 1 */
    const char *file; /* where in the user's source it was called, a string that lives for ever; */
    int32_t line;     /* NULL, 0 where unknown */
} duet_graph_node;

typedef struct duet_graph {
    char *name;
    duet_graph_value *values;
    duet_graph_node *nodes;
    int32_t *inputs;         /* value ids of the parameters */
    int32_t *results;        /* value ids of what it returns */
    duet_tensor **variables; /* held; variable i is values[variable_values[i]] */
    int32_t *variable_values;
    int32_t n_values, values_room, n_nodes, nodes_room;
    int32_t n_inputs, inputs_room, n_results, results_room, n_variables, variables_room;
    bool out_of_memory; /* an addition failed; duet_graph_ok() tells */
} duet_graph;

duet_graph *duet_graph_new(const char *name); /* NULL with a message when memory ends */
void duet_graph_free(duet_graph *graph);      /* NULL is fine */
duet_graph *duet_graph_copy(const duet_graph *graph);

/* Additions return a value id. After any number of them duet_graph_ok() says whether memory held.
 */
int32_t duet_graph_add_input(duet_graph *graph, const duet_spec *spec);
int32_t duet_graph_add_variable(duet_graph *graph,
                                duet_tensor *variable); /* the same id again for one known */
void duet_graph_add_result(duet_graph *graph, int32_t value);
/* `attrs` are copied; `specs` holds n_out result specs. Returns the node's id, -1 without memory.
 */
int32_t duet_graph_add_node(duet_graph *graph, const duet_op *op, const duet_attr *attrs,
                            const int32_t *in, int32_t n_in, const duet_spec *specs, int32_t n_out);
/* Puts another op in a node's place; its results keep their ids and specs. */
duet_status duet_graph_replace(duet_graph *graph, int32_t node, const duet_op *op,
                               const duet_attr *attrs, const int32_t *in, int32_t n_in);
/* The same with `n_out` new results, whose ids begin at the node's `out` from now on. */
duet_status duet_graph_replace_results(duet_graph *graph, int32_t node, const duet_op *op,
                                       const duet_attr *attrs, const int32_t *in, int32_t n_in,
                                       const duet_spec *specs, int32_t n_out);
/* The value of a new `constant` node. */
int32_t duet_graph_add_constant(duet_graph *graph, duet_tensor *value);
duet_status duet_graph_ok(const duet_graph *graph);

/* Infers node `node`'s results anew from its inputs' specs. */
duet_status duet_graph_infer(duet_graph *graph, int32_t node);

/* A copy for other inputs, one spec each, with everything inferred anew. */
duet_graph *duet_graph_respecify(const duet_graph *graph, const duet_spec *const *in);

/* Marks a node as removed and lets go of its attributes. */
void duet_graph_remove(duet_graph *graph, int32_t node);

/* Every use of value `from`, by nodes and results, becomes a use of map[from]. */
void duet_graph_remap(duet_graph *graph, const int32_t *map);

/* Drops removed nodes and their results, and renumbers: inputs, variables, then results in the
 * order of their nodes. Ids that callers hold are void afterwards. */
duet_status duet_graph_compact(duet_graph *graph);

/* Per value, how many uses it has as a node's input or a result. Caller frees with free(). */
int32_t *duet_graph_count_uses(const duet_graph *graph);

int32_t duet_graph_count_constants(const duet_graph *graph);

static inline bool duet_node_writes(const duet_graph_node *node, int32_t input) {
    return node->op->writes >> input & 1;
}
/* True where a sub-graph of the node reads or writes variables, draws or prints: it may write any
 * variable of the graph. */
bool duet_node_has_stateful_body(const duet_graph_node *node);

/* True where the node must stay, and stay in order. */
static inline bool duet_node_has_effect(const duet_graph_node *node) {
    return (node->op->traits & DUET_OP_STATEFUL) || node->op->writes ||
           duet_node_has_stateful_body(node);
}

/* Checks every invariant; the message names the node. */
duet_status duet_graph_verify(const duet_graph *graph);

/* Text, one line per node; sub-graphs first. The text parses back to an equal graph. */
void duet_graph_print(FILE *file, const duet_graph *graph);
duet_graph *duet_graph_parse(const char *text, const char *file_name);
bool duet_graph_equal(const duet_graph *a, const duet_graph *b);
/* One node without its attributes, and no line's end: "%7: f32[64,20] = matmul(%3, %5)". */
void duet_graph_print_call(FILE *file, const duet_graph *graph, const duet_graph_node *node);
/* For Graphviz. Sub-graphs are clusters; a fused chain that repeats itself is drawn once. */
void duet_graph_print_dot(FILE *file, const duet_graph *graph);

#endif
