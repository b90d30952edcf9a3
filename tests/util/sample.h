/* Calls made from an op descriptor's samples: "var f32[3], f32[3], f32[]; momentum=0.9". */
#ifndef TEST_SAMPLE_H
#define TEST_SAMPLE_H

#include "core/sample.h"
#include "duet.h"

typedef enum sample_fill {
    FILL_DOMAIN,  /* values from the op's domain */
    FILL_SPECIAL, /* NaN, infinities, zeros of both signs, denormals, among ordinary values */
} sample_fill;

typedef struct sample_call {
    const duet_op *op;
    duet_sample sample;
    const duet_attr *attrs; /* the sample's; so do not copy the struct */
    duet_tensor *in[DUET_MAX_INPUTS];
    int n_in;
} sample_call;

/* Makes the inputs (values in the innermost scope; variables are held: sample_release) and the
 * attributes. `promote`: f32 becomes f64. False when the sample does not parse. */
bool sample_make(sample_call *call, const duet_op *op, const char *sample, sample_fill fill,
                 bool promote, uint64_t seed);
void sample_release(sample_call *call);

/* A tensor of `spec` with values from [low, high] (i32: whole, bool: either), or special ones. */
duet_tensor *sample_tensor(const duet_spec *spec, sample_fill fill, double low, double high,
                           uint64_t *state);

double sample_uniform(uint64_t *state); /* [0,1) */

/* Same spec and the same bits, where any NaN is as good as another; NULL equals NULL. */
bool same_bits(const duet_tensor *a, const duet_tensor *b);

#endif
