#include "tensor.h"

#include <stdlib.h>
#include <string.h>

static duet_tensor *new_header(const duet_spec *spec, size_t data_bytes, uint32_t flags) {
    duet_tensor *t = duet_memory_alloc(DUET_TENSOR_HEADER + data_bytes);
    if (__builtin_expect(!t, 0)) return NULL;
    t->spec = *spec;
    t->data = NULL;
    t->storage = NULL;
    atomic_init(&t->tapes, 0);
    atomic_init(&t->refs, 1);
    t->flags = flags;
    t->value = -1;
    t->trace = 0;
    t->block_bytes = DUET_TENSOR_HEADER + data_bytes;
    t->name = NULL;
    return t;
}

duet_tensor *duet_tensor_alloc(const duet_spec *spec) {
    size_t bytes;
    if (__builtin_expect(!duet_spec_bytes_checked(&bytes, spec), 0)) {
        duet_fail(DUET_STATUS_OVERFLOW, "tensor: %s has more bytes than a program can address",
                  DUET_SPEC_TEXT(spec));
        return NULL;
    }
    duet_tensor *t = new_header(spec, bytes, 0);
    if (__builtin_expect(t != NULL, 1)) t->data = (char *)t + DUET_TENSOR_HEADER;
    return t;
}

duet_tensor *duet_tensor_share(duet_tensor *owner, const duet_spec *spec) {
    duet_tensor *t = new_header(spec, 0, 0);
    if (!t) return NULL;
    t->storage = duet_keep(owner->storage ? owner->storage : owner);
    t->data = owner->data;
    return t;
}

duet_tensor *duet_tensor_symbol(const duet_spec *spec, uint64_t trace, int32_t value) {
    duet_tensor *t = new_header(spec, 0, DUET_TENSOR_SYMBOLIC);
    if (!t) return NULL;
    t->trace = trace;
    t->value = value;
    return t;
}

_Thread_local bool (*duet_variable_check)(const char *name);

duet_tensor *duet_variable_new(const char *name, const duet_tensor *initial) {
    if (!initial || (duet_variable_check && !duet_variable_check(name))) return NULL;
    if (!initial->data) {
        duet_fail(DUET_STATUS_STATE, "variable %s: initial value is not available while tracing",
                  name ? name : "");
        return NULL;
    }
    duet_tensor *storage = duet_tensor_alloc(&initial->spec);
    if (!storage) return NULL;
    memcpy(storage->data, initial->data, duet_spec_bytes(&initial->spec));
    duet_tensor *t = duet_tensor_share(storage, &initial->spec);
    duet_release(storage); /* now held by t */
    if (!t) return NULL;
    t->flags = DUET_TENSOR_VARIABLE;
    if (name) t->name = strdup(name);
    return t;
}

duet_status duet_variable_make_unique(duet_tensor *variable, bool keep) {
    if (atomic_load_explicit(&variable->storage->refs, memory_order_acquire) == 1) return DUET_OK;
    duet_tensor *fresh = duet_tensor_alloc(&variable->spec);
    if (!fresh) return DUET_STATUS_MEMORY;
    if (keep) memcpy(fresh->data, variable->data, duet_spec_bytes(&variable->spec));
    duet_release(variable->storage);
    variable->storage = fresh;
    variable->data = fresh->data;
    return DUET_OK;
}

duet_tensor *duet_keep(duet_tensor *tensor) {
    if (tensor) atomic_fetch_add_explicit(&tensor->refs, 1, memory_order_relaxed);
    return tensor;
}

void duet_tensor_free(duet_tensor *tensor) {
    duet_release(tensor->storage); /* one level deep: a storage has no storage of its own */
    if (__builtin_expect(tensor->name != NULL, 0)) free(tensor->name);
    duet_memory_free(tensor, tensor->block_bytes);
}
