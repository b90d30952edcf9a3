/* The sum, which several ops are made of. Its reading of "not there" is +0. */
#define NAME duet_reduce_sum
#define EXPR x + y
#define IDENTITY 0
#define STORAGE
#include "kernels/reduce.inc"
