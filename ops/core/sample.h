/* The text of a sample call: "var f32[3], f32[3,4]; axis=1, shape=[2,-1]". Inputs first, `var`
 * before those that are variables; then attributes, separated by commas too. */
#ifndef DUET_SAMPLE_H
#define DUET_SAMPLE_H

#include "op.h"

typedef struct duet_sample {
    int n_in;
    uint64_t variables; /* bit i: input i is a variable */
    duet_spec specs[DUET_MAX_INPUTS];
    duet_attr attrs[DUET_MAX_ATTRS];
    char text[256]; /* where attributes of kind text point to: do not copy the struct */
} duet_sample;

/* Fails with DUET_STATUS_FORMAT, or as an attribute's value does. */
duet_status duet_sample_parse(duet_sample *out, const duet_op *op, const char *text);

#endif
