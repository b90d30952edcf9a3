/* Files in the text form of graphs. */
#ifndef DUET_BENCH_GRAPH_FILE_H
#define DUET_BENCH_GRAPH_FILE_H

#include "graph.h"

/* Whether a word of a command line means a file: "x.graph", or anything with a slash. */
bool is_graph_file(const char *word);

/* The last graph of the file; NULL with a message, FILE:LINE:COLUMN: what was expected. */
duet_graph *graph_file_read(const char *path);

#endif
