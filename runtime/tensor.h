/* Tensors: dense, row-major, immutable to their users, counted.
 *
 * Three kinds share this struct, told apart by `flags`:
 *   a value     has data for good;
 *   a variable  has data that the ops assign, assign_add, sgd ... replace, in program order;
 *   symbolic    has no data: it stands for a value of a trace that is being recorded. */
#ifndef DUET_TENSOR_H
#define DUET_TENSOR_H

#include "memory.h"
#include "shape.h"

#include <stdatomic.h>

typedef struct duet_tensor duet_tensor;

enum {
    DUET_TENSOR_VARIABLE = 1,
    DUET_TENSOR_SYMBOLIC = 2,
    DUET_TENSOR_LITERAL = 4, /* a host number whose bits are part of a function's signature */
    DUET_TENSOR_PARTS = 8,   /* has a storage or a name, to be freed with it */
};

/* Header and data are one block of memory; data begins one DUET_ALIGNMENT-rounded header later. */
struct duet_tensor {
    duet_spec spec;
    void *data;             /* spec's elements; NULL when symbolic */
    duet_tensor *storage;   /* counted owner of `data` where that is another tensor, else NULL */
    _Atomic uint64_t tapes; /* bit i: the process's tape i follows this tensor */
    _Atomic uint32_t refs;
    uint32_t flags;
    int64_t block_bytes; /* of the block of memory that this header begins */
    int32_t block_class; /* the allocator's size class of that block */
    int32_t value;       /* symbolic: value id in the trace ... */
    uint64_t trace;      /* ... with this serial number */
    char *name;          /* variables: owned, for messages; else NULL */
};

enum {
    DUET_TENSOR_HEADER =
        (sizeof(duet_tensor) + DUET_ALIGNMENT - 1) / DUET_ALIGNMENT * DUET_ALIGNMENT
};

/* A tensor of `spec` (dimensions checked) with uninitialised data, one reference held by the caller
 * (no scope); NULL with a message when its size overflows or memory ends. */
duet_tensor *duet_tensor_alloc(const duet_spec *spec);

/* A tensor of `spec` that shares `owner`'s data (same number of bytes). */
duet_tensor *duet_tensor_share(duet_tensor *owner, const duet_spec *spec);

/* A symbolic tensor: value `value` of the trace with serial number `trace`. */
duet_tensor *duet_tensor_symbol(const duet_spec *spec, uint64_t trace, int32_t value);

/* A variable with a copy of `initial`'s data. `name` (copied, may be NULL) is for messages and the
 * text form. The caller holds it and releases it. */
duet_tensor *duet_variable_new(const char *name, const duet_tensor *initial);

/* Asked before a variable is made in this thread, where it is set (by a tracer): false, with a
 * message, refuses. */
extern _Thread_local bool (*duet_variable_check)(const char *name);

/* Called before a variable's data is written: where a value still shares it, gives the variable
 * data of its own (copied when `keep`), so that the value never changes. */
duet_status duet_variable_make_unique(duet_tensor *variable, bool keep);

/* Adds a reference that the caller owns; returns its argument (NULL passes). */
duet_tensor *duet_keep(duet_tensor *tensor);

void duet_release(duet_tensor *tensor); /* drops a reference (NULL is fine) */

static inline duet_dtype duet_tensor_dtype(const duet_tensor *t) {
    return (duet_dtype)t->spec.dtype;
}
static inline int64_t duet_tensor_count(const duet_tensor *t) {
    return duet_shape_count(&t->spec.shape);
}

#endif
