/* Working memory of kernels, kept per thread from one call to the next. */
#ifndef DUET_KERNELS_SCRATCH_H
#define DUET_KERNELS_SCRATCH_H

#include <stddef.h>

/* Two buffers a thread, so that one may be held while a task on the same thread uses the other. */
typedef enum duet_scratch_slot {
    DUET_SCRATCH_CALL, /* for the caller of duet_parallel_for, while its tasks run */
    DUET_SCRATCH_TASK, /* for one task */
    DUET_SCRATCH_SLOTS
} duet_scratch_slot;

/* At least `bytes`, on a 64-byte boundary, with what was left in it. Belongs to the thread, until
 * the thread's next call with this slot; freed when the thread ends. NULL without memory. */
void *duet_scratch(duet_scratch_slot slot, size_t bytes);

#endif
