#define REAL_BITS 32
#include "kernels/gemm_paths.inc"
