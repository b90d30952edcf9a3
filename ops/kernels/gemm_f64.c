#define REAL_BITS 64
#include "kernels/gemm_paths.inc"
