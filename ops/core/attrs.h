/* Attribute values as text, for the command line, the text form and messages. */
#ifndef DUET_ATTRS_H
#define DUET_ATTRS_H

#include "op.h"

/* The values an op has when its caller names none: one entry per described attribute. */
void duet_attrs_init(duet_attr *attrs, const duet_op *op);

/* Sets the attribute `name` (of `length` characters) of `op` from `text`: "true", "3", "1e-5",
 * "f32", "[0,2]" (one bare integer is a list of one). Fails naming the op, the attribute, the kind
 * expected and the text. */
duet_status duet_attr_parse(duet_attr *attrs, const duet_op *op, const char *name, int length,
                            const char *text);

/* Writes the value so that duet_attr_parse reads back the same bits; at most `room` bytes. TENSOR
 * and BODY attributes are the text form's own business. Returns the length as snprintf does. */
int duet_attr_text(char *buffer, size_t room, duet_attr_kind kind, const duet_attr *value);

/* Copies an op's attributes, holding what they hold (text is duplicated); release undoes it. */
void duet_attrs_copy(duet_attr *to, const duet_op *op, const duet_attr *from);
void duet_attrs_release(duet_attr *attrs, const duet_op *op);

bool duet_attr_equal(duet_attr_kind kind, const duet_attr *a, const duet_attr *b);
const char *duet_attr_kind_name(duet_attr_kind kind);

/* A shape as the value of a DUET_ATTR_INTS attribute, and back. */
static inline duet_attr duet_attr_shape(const duet_shape *shape) {
    duet_attr attr = {.ints = {.count = shape->rank}};
    memcpy(attr.ints.at, shape->dims, sizeof attr.ints.at);
    return attr;
}
static inline duet_shape duet_ints_shape(const duet_ints *ints) {
    duet_shape shape = {.rank = ints->count};
    for (int64_t i = 0; i < ints->count && i < DUET_MAX_RANK; i++) shape.dims[i] = ints->at[i];
    return shape;
}

#endif
