/* The eager executor: runs each op as it is called, in named stages
 * (look up, check, infer, allocate, record, run), each one function of eager_stages.inc. */
#ifndef DUET_EAGER_H
#define DUET_EAGER_H

#include "duet.h"

duet_status duet_eager_dispatch(duet_tensor **out, const duet_op *op, const duet_attr *attrs,
                                duet_tensor *const *in, int n_in);

/* The same for one result, with the number of operands known beforehand; NULL on failure. */
duet_tensor *duet_eager_apply1(const duet_op *op, duet_tensor *x);
duet_tensor *duet_eager_apply2(const duet_op *op, duet_tensor *x, duet_tensor *y);
duet_tensor *duet_eager_apply3(const duet_op *op, duet_tensor *x, duet_tensor *y, duet_tensor *z);

/* The same stages with a clock between them. */
duet_status duet_eager_dispatch_profiled(duet_tensor **out, const duet_op *op,
                                         const duet_attr *attrs, duet_tensor *const *in, int n_in);

/* Nanoseconds that this thread's profiled calls spent in each stage since it was switched on. */
enum {
    DUET_STAGE_LOOK_UP,
    DUET_STAGE_CHECK,
    DUET_STAGE_INFER,
    DUET_STAGE_ALLOCATE,
    DUET_STAGE_RECORD,
    DUET_STAGE_RUN,
    DUET_STAGES
};
typedef struct duet_profile {
    uint64_t calls;
    uint64_t total_ns;              /* first to last clock reading of each call */
    uint64_t stage_ns[DUET_STAGES]; /* their sum is total_ns but for the clock's own cost */
} duet_profile;
extern const char *const duet_stage_names[DUET_STAGES];
void duet_profile_start(void);
duet_profile duet_profile_stop(void);

#endif
