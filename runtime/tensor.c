#include "tensor_inline.h"

#include <stdlib.h>
#include <string.h>

duet_tensor *duet_tensor_too_large(const duet_spec *spec) {
    duet_fail(DUET_STATUS_OVERFLOW, "tensor: %s has more bytes than a program can address",
              DUET_SPEC_TEXT(spec));
    return NULL;
}

duet_tensor *duet_tensor_alloc(const duet_spec *spec) { return duet_tensor_alloc_inline(spec); }

duet_tensor *duet_tensor_share(duet_tensor *owner, const duet_spec *spec) {
    duet_tensor *t = duet_tensor_new(spec, 0, DUET_TENSOR_PARTS);
    if (!t) return NULL;
    t->storage = duet_keep(owner->storage ? owner->storage : owner);
    t->data = owner->data;
    return t;
}

duet_tensor *duet_tensor_symbol(const duet_spec *spec, uint64_t trace, int32_t value) {
    duet_tensor *t = duet_tensor_new(spec, 0, DUET_TENSOR_SYMBOLIC);
    if (!t) return NULL;
    t->data = NULL;
    t->trace = trace;
    t->value = value;
    return t;
}

_Thread_local bool (*duet_variable_check)(const char *name);

duet_tensor *duet_variable_new(const char *name, const duet_tensor *initial) {
    if (!initial && duet_error_code() == DUET_OK) /* else that failure made it NULL */
        duet_fail(DUET_STATUS_ARGUMENT, "variable %s: initial is NULL", name ? name : "");
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
    t->flags = DUET_TENSOR_VARIABLE | DUET_TENSOR_PARTS;
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

void duet_release(duet_tensor *tensor) {
    if (tensor) duet_release_inline(tensor);
}

void duet_tensor_free_parts(duet_tensor *tensor) {
    duet_release(tensor->storage); /* one level deep: a storage has no storage of its own */
    free(tensor->name);
}
