/* NumPy's .npy files: one array each. Format: numpy.lib.format, versions 1.0, 2.0 and 3.0.
 *
 * Taken are f4, f8, i4 and b1, little-endian, in C order, rank 0 to 6. Everything else is refused
 * by name, and so is a file that is not exactly as long as its header says. Every message reads
 * `FILE: expected ..., got ...`. */
#ifndef DUET_BENCH_NPY_H
#define DUET_BENCH_NPY_H

#include "tensor.h"

#include <stdio.h>

/* The array in `path`, owned by the innermost scope; NULL with a message. */
duet_tensor *npy_read(const char *path);

/* Writes `x` (version 1.0) to an open file; `path` is for the message. */
duet_status npy_write(FILE *file, const duet_tensor *x, const char *path);

/* Writes array i to paths[i]. All are written before the first takes its place. */
enum { NPY_MAX_FILES = 64 };
duet_status npy_write_files(const char *const *paths, duet_tensor *const *arrays, int count);

#endif
