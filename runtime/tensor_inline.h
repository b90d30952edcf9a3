/* How a tensor is made and dropped, for those who inline it: an eager call does both once. */
#ifndef DUET_TENSOR_INLINE_H
#define DUET_TENSOR_INLINE_H

#include "memory_inline.h"
#include "tensor.h"

/* A header, one reference held by the caller, and behind it what is left of `bytes`, which are of
 * the allocator's size class `class`; NULL with a message. */
static inline duet_tensor *duet_tensor_new_of_class(const duet_spec *spec, size_t bytes, int class,
                                                    uint32_t flags) {
    duet_tensor *t = duet_memory_take(class, bytes);
    if (__builtin_expect(!t, 0)) return NULL;
    duet_spec_copy(&t->spec, spec);
    t->data = (char *)t + DUET_TENSOR_HEADER;
    t->storage = NULL;
    atomic_init(&t->tapes, 0);
    atomic_init(&t->refs, 1);
    t->flags = flags;
    t->block_bytes = (int64_t)bytes;
    t->block_class = class;
    t->value = -1;
    t->trace = 0;
    t->name = NULL;
    return t;
}

/* The same with room for `data_bytes`, a number that is known when this is compiled. */
static inline duet_tensor *duet_tensor_new(const duet_spec *spec, size_t data_bytes,
                                           uint32_t flags) {
    size_t bytes = DUET_TENSOR_HEADER + data_bytes;
    return duet_tensor_new_of_class(spec, bytes, duet_memory_class(bytes), flags);
}

__attribute__((cold)) duet_tensor *
duet_tensor_too_large(const duet_spec *spec); /* NULL, with the message */

static inline duet_tensor *duet_tensor_alloc_inline(const duet_spec *spec) {
    size_t bytes;
    if (__builtin_expect(!duet_spec_bytes_checked(&bytes, spec), 0))
        return duet_tensor_too_large(spec);
    bytes += DUET_TENSOR_HEADER;
    return duet_tensor_new_of_class(spec, bytes, duet_memory_class_again(bytes), 0);
}

void duet_tensor_free_parts(duet_tensor *tensor); /* its storage and name */

static inline void duet_release_inline(duet_tensor *t) {
    /* The last holder needs no locked instruction: nobody else can be adding a reference. */
    if (atomic_load_explicit(&t->refs, memory_order_acquire) != 1 &&
        atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (__builtin_expect(t->flags & DUET_TENSOR_PARTS, 0)) duet_tensor_free_parts(t);
    duet_memory_put(t, t->block_class, (size_t)t->block_bytes);
}

#endif
