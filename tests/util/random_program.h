/* Random programs: what the eager executor and a graph must agree on, bit for bit. A program is a
 * function's body that draws its ops from a seed, so that it does the same whenever it is run: op
 * by op, traced, and for any data. */
#ifndef TEST_RANDOM_PROGRAM_H
#define TEST_RANDOM_PROGRAM_H

#include "duet.h"

enum { PROGRAM_INPUTS = 3, PROGRAM_RESULTS = 4, PROGRAM_VARIABLES = 3 };

/* Runs the program of this seed and length eagerly and as a graph: three calls, each with other
 * data, variables carried over; then its graph as text and back. False where they disagree; `why`
 * then says in what, and holds the graph's text: free() it. */
bool random_program_agrees(uint64_t seed, int steps, char **why);

/* The same for the seeds first .. first + count - 1; prints the first that fails, cut to the fewest
 * steps that still do. Returns how many failed (it stops after 5). */
int random_programs_check(uint64_t first, int count, int steps);

#endif
