/* The sum, which several ops are made of. What is not there is -0, the one number that leaves every
 * other as it is: so a sum of -0s is -0, at any length. The sum of nothing is 0. */
#define NAME duet_reduce_sum
#define EXPR x + y
#define IDENTITY -0.0f
#define IDENTITY_I32 0
#define OF_NONE 0
#define STORAGE
#include "kernels/reduce.inc"
