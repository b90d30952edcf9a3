/* What random_uniform and random_normal share: inputs rng and, where the shape is taken from a
 * tensor, like; attributes 0 `shape` and 1 `dtype`. */
#ifndef DUET_RNG_H
#define DUET_RNG_H

#include "op.h"

duet_status duet_infer_random(duet_spec *out, const duet_op_call *call);

/* The place in the stream of `key` from which to draw; the state moves `count` elements on. */
typedef struct duet_rng_place {
    uint64_t key, first;
} duet_rng_place;
duet_rng_place duet_rng_take(const duet_view *state, int64_t count);

#endif
