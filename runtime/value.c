#include "value.h"

#include "convert.h"
#include "scope_inline.h"

#include <inttypes.h>
#include <math.h>

/* Whole, so that a new header copies them as they are: a spec put together just before would still
 * be on its way to memory. */
static const duet_spec scalar_specs[DUET_DTYPE_COUNT] = {
    {.dtype = DUET_F32}, {.dtype = DUET_F64}, {.dtype = DUET_I32}, {.dtype = DUET_BOOL}};

static inline duet_tensor *scalar(duet_dtype dtype, const void *bytes, uint32_t flags) {
    size_t size = duet_dtype_size(dtype);
    duet_tensor *t = duet_tensor_new(&scalar_specs[dtype], size, flags);
    if (!t) return NULL;
    memcpy(t->data, bytes, size);
    return duet_scope_own_inline(t);
}

duet_tensor *duet_f32(float value) { return scalar(DUET_F32, &value, 0); }
duet_tensor *duet_f64(double value) { return scalar(DUET_F64, &value, 0); }
duet_tensor *duet_i32(int32_t value) { return scalar(DUET_I32, &value, 0); }
duet_tensor *duet_bool(bool value) { return scalar(DUET_BOOL, &(uint8_t){value}, 0); }

duet_tensor *duet_literal_f32(float value) { return scalar(DUET_F32, &value, DUET_TENSOR_LITERAL); }
duet_tensor *duet_literal_f64(double value) {
    return scalar(DUET_F64, &value, DUET_TENSOR_LITERAL);
}
duet_tensor *duet_literal_i32(int32_t value) {
    return scalar(DUET_I32, &value, DUET_TENSOR_LITERAL);
}
duet_tensor *duet_literal_bool(bool value) {
    return scalar(DUET_BOOL, &(uint8_t){value}, DUET_TENSOR_LITERAL);
}

static duet_tensor *new_value(duet_shape shape, duet_dtype dtype, const char *who) {
    duet_spec spec = {.shape = shape, .dtype = dtype};
    if (duet_spec_check(&spec, who) != DUET_OK) return NULL;
    duet_tensor *t = duet_tensor_alloc(&spec);
    return t ? duet_scope_own(t) : NULL;
}

duet_tensor *duet_from_data(duet_shape shape, duet_dtype dtype, const void *data) {
    duet_tensor *t = new_value(shape, dtype, "from_data");
    size_t bytes = t ? duet_spec_bytes(&t->spec) : 0;
    if (bytes && !data) {
        duet_fail(DUET_STATUS_ARGUMENT, "from_data: data is NULL");
        return NULL; /* the scope has `t` */
    }
    if (bytes) memcpy(t->data, data, bytes);
    return t;
}

duet_tensor *duet_full(duet_shape shape, duet_dtype dtype, double value) {
    duet_tensor *t = new_value(shape, dtype, "full");
    if (!t) return NULL;
    int64_t count = duet_tensor_count(t);
    switch (dtype) {
    case DUET_F32:
        for (int64_t i = 0; i < count; i++) ((float *)t->data)[i] = (float)value;
        break;
    case DUET_F64:
        for (int64_t i = 0; i < count; i++) ((double *)t->data)[i] = value;
        break;
    case DUET_I32:
        for (int64_t i = 0; i < count; i++) ((int32_t *)t->data)[i] = DUET_TO_I32(value);
        break;
    default: memset(t->data, value != 0, (size_t)count); break;
    }
    return t;
}

duet_tensor *duet_zeros(duet_shape shape, duet_dtype dtype) {
    duet_tensor *t = new_value(shape, dtype, "zeros");
    if (t) memset(t->data, 0, duet_spec_bytes(&t->spec));
    return t;
}

static _Thread_local uint64_t refused_reads;

uint64_t duet_refused_reads(void) { return refused_reads; }

const void *duet_data(const duet_tensor *tensor) {
    if (!tensor || tensor->data) return tensor ? tensor->data : NULL;
    refused_reads++;
    duet_fail(DUET_STATUS_STATE,
              "data: the value %s is not available while tracing; return it from the function, "
              "or pass it in as a literal",
              DUET_SPEC_TEXT(&tensor->spec));
    return NULL;
}

double duet_item(const duet_tensor *tensor, int64_t index) {
    const void *data = duet_data(tensor);
    if (!tensor && duet_error_code() == DUET_OK) /* else that failure made it NULL */
        duet_fail(DUET_STATUS_ARGUMENT, "item: tensor is NULL");
    if (!data) return NAN;
    int64_t count = duet_tensor_count(tensor);
    if (count == 0) {
        duet_fail(DUET_STATUS_ARGUMENT, "item: %s has no elements", DUET_SPEC_TEXT(&tensor->spec));
        return NAN;
    }
    if (index < 0 || index >= count) {
        duet_fail(DUET_STATUS_ARGUMENT,
                  "item: expected an index from 0 to %" PRId64 " for %s, got %" PRId64, count - 1,
                  DUET_SPEC_TEXT(&tensor->spec), index);
        return NAN;
    }
    switch (tensor->spec.dtype) {
    case DUET_F32: return ((const float *)data)[index];
    case DUET_F64: return ((const double *)data)[index];
    case DUET_I32: return ((const int32_t *)data)[index];
    default: return ((const uint8_t *)data)[index];
    }
}
