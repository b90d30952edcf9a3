/* The steps of which random programs are made. */
#ifndef TEST_RANDOM_OPS_H
#define TEST_RANDOM_OPS_H

#include "duet.h"

enum { POOL_ROOM = 48, LARGEST_VALUE = 2048 }; /* values; elements */

/* A program while it runs. Whatever it chooses depends on `random` and on types, never on data. */
typedef struct random_run {
    uint64_t random;
    duet_tensor *pool[POOL_ROOM]; /* values so far */
    int count;
    duet_tensor *const *variables; /* PROGRAM_VARIABLES of float type, then an rng */
    duet_function *inner;          /* a program to be called, or NULL */
    int depth;                     /* of tapes */
} random_run;

/* An integer in [0, below). */
int random_below(random_run *run, int below);

duet_spec random_spec(uint64_t *random, bool is_float);

/* Adds a value to the pool; NULL is an op that failed, which is fine and forgotten. */
void random_push(random_run *run, duet_tensor *t);

/* One more op or write, on values of the pool. */
void random_step(random_run *run);

#endif
