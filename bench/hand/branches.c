#include "hand/hand.h"

#include "blas.h"
#include "pool.h"

typedef struct chains {
    const float *x;
    struct chain {
        const float *w;
        float *ends_in, *spare;
    } of[2];
} chains;

/* The products go to and fro between two arrays. */
static void run_chains(void *context, int64_t begin, int64_t end) {
    enum { N = BRANCH_SIZE };
    const chains *all = context;
    for (int64_t c = begin; c < end; c++) {
        const struct chain *chain = &all->of[c];
        const float *x = all->x;
        for (int i = 0; i < BRANCH_PRODUCTS; i++) {
            float *y = (BRANCH_PRODUCTS - i) % 2 ? chain->ends_in : chain->spare;
            duet_blas_sgemm(y, x, chain->w, N, N, N, N, N, N, false, false);
            x = y;
        }
    }
}

void hand_branches(float *y, float *const *spare, const float *x, const float *a, const float *b) {
    chains all = {x, {{a, y, spare[0]}, {b, spare[1], spare[2]}}};
    duet_parallel_for(2, 1, run_chains, &all);
    for (int i = 0; i < BRANCH_SIZE * BRANCH_SIZE; i++) y[i] += spare[1][i];
}
