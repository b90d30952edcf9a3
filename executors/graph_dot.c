#include "graph.h"
void duet_graph_print_dot(FILE *file, const duet_graph *graph) { duet_graph_print(file, graph); }
