/* Output files that appear whole or not at all: written beside their place under another name, and
 * renamed once everything has gone well. What was there before stays until then. Devices, pipes and
 * what the process prints to are written where they are; links are followed. */
#ifndef DUET_BENCH_OUTPUT_H
#define DUET_BENCH_OUTPUT_H

#include "status.h"

#include <stdio.h>

typedef struct output {
    FILE *file;      /* write here */
    char *path;      /* the place; links followed */
    char *temporary; /* where `file` is meanwhile; NULL where it is the place */
} output;

/* Opens `path` for writing; creates nothing at the place itself. The message names the path. */
duet_status output_open(output *out, const char *path);

/* Puts the finished files into their places, once all of them are written; two for one place are
 * refused. Where one cannot be written, every place stays as it was (a device has what it took). */
duet_status output_commit(output *outs, int count);

/* Forgets it; for the way out after a failure. Harmless on a zeroed or committed one. */
void output_discard(output *out);

/* Finds out early, before work that takes long, whether output_open() would succeed. */
duet_status output_check(const char *path);

#endif
