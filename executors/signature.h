/* What makes two calls of a function the same: per argument dtype and shape, for literals also the
 * bits, for variables the identity. */
#ifndef DUET_SIGNATURE_H
#define DUET_SIGNATURE_H

#include "duet.h"

typedef enum duet_arg_kind { DUET_ARG_TENSOR, DUET_ARG_LITERAL, DUET_ARG_VARIABLE } duet_arg_kind;

/* Compares as bytes. */
typedef struct duet_arg_key {
    duet_spec spec;
    uint64_t kind; /* duet_arg_kind */
    uint64_t bits; /* literal: its value's bytes; variable: its address; tensor: 0 */
} duet_arg_key;

duet_arg_key duet_arg_key_of(const duet_tensor *argument);

/* "f32[10,10]", "literal i32 3", "variable w1": for messages. */
const char *duet_arg_key_text(duet_text *buffer, const duet_arg_key *key);

/* A declared signature: "f32[?,20], i32[]". Parses into at most `room` specs. */
duet_status duet_signature_parse(duet_spec *specs, int *count, int room, const char *text);

/* Whether `actual` fits `declared`, where a free dimension takes any size. */
bool duet_spec_fits(const duet_spec *declared, const duet_spec *actual);

#endif
