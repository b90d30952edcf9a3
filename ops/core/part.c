#include "core/part.h"

#include "core/infer.h"
#include "kernels/strided.h"

#include <inttypes.h>

#define NAME(call, input) duet_op_input_name((call)->op, input)

static duet_status infer_side(int64_t *side, const duet_op_call *call, int whole, int64_t axis) {
    int64_t dim = call->in[whole]->shape.dims[axis];
    int64_t begin = call->attrs[0].ints.at[axis], size = call->attrs[1].ints.at[axis], end;
    CHECK(begin >= 0 && size >= -1, DUET_STATUS_ARGUMENT,
          "%s: expected begin of 0 or more and size of -1 or more, got %" PRId64 " and %" PRId64
          " for axis %" PRId64,
          call->op->name, begin, size, axis);
    *side = size;
    if (dim == DUET_FREE_DIM) return DUET_OK; /* checked when the dimension is known */
    bool fits = !__builtin_add_overflow(begin, size < 0 ? 0 : size, &end) && end <= dim;
    CHECK(fits, DUET_STATUS_ARGUMENT,
          "%s: begin %" PRId64 " and size %" PRId64 " pass the end of axis %" PRId64 " of %s %s",
          call->op->name, begin, size, axis, NAME(call, whole), DUET_SPEC_TEXT(call->in[whole]));
    if (size < 0) *side = dim - begin;
    return DUET_OK;
}

duet_status duet_infer_box(duet_shape *part, const duet_op_call *call, int whole) {
    const duet_shape *shape = &call->in[whole]->shape;
    const duet_ints *begin = &call->attrs[0].ints, *size = &call->attrs[1].ints;
    CHECK(begin->count == shape->rank && size->count == shape->rank, DUET_STATUS_ARGUMENT,
          "%s: expected begin and size with %" PRId64 " entries each for %s %s, got %" PRId64
          " and %" PRId64,
          call->op->name, shape->rank, NAME(call, whole), DUET_SPEC_TEXT(call->in[whole]),
          begin->count, size->count);
    *part = *shape;
    for (int64_t i = 0; i < shape->rank; i++) TRY(infer_side(&part->dims[i], call, whole, i));
    return DUET_OK;
}

/* Input `part` differs from `whole` along `axis` only. */
static duet_status check_part(const duet_op_call *call, int whole, int part, int64_t axis) {
    const duet_shape *w = &call->in[whole]->shape, *p = &call->in[part]->shape;
    bool fits = w->rank == p->rank;
    for (int64_t i = 0, dim; fits && i < w->rank; i++)
        fits = i == axis || duet_infer_meet(&dim, w->dims[i], p->dims[i]);
    CHECK(fits, DUET_STATUS_SHAPE, "%s: %s %s is no part of %s %s along axis %" PRId64,
          call->op->name, NAME(call, part), DUET_SPEC_TEXT(call->in[part]), NAME(call, whole),
          DUET_SPEC_TEXT(call->in[whole]), axis);
    return DUET_OK;
}

duet_status duet_infer_part(const duet_op_call *call, int whole, int part) {
    int64_t axis, end = 0;
    bool known = true;
    TRY(duet_infer_axis(&axis, call, whole, call->attrs[0].i));
    for (int i = 0; i < call->n_in; i++) {
        if (i == whole) continue;
        TRY(check_part(call, whole, i, axis));
        int64_t dim = call->in[i]->shape.dims[axis];
        known = known && dim != DUET_FREE_DIM;
        if (known && __builtin_add_overflow(end, dim, &end)) end = INT64_MAX;
    }
    int64_t dim = call->in[whole]->shape.dims[axis];
    CHECK(!known || dim == DUET_FREE_DIM || end <= dim, DUET_STATUS_SHAPE,
          "%s: %s %s at offset %" PRId64 " passes the end of axis %" PRId64 " of %s %s",
          call->op->name, NAME(call, part), DUET_SPEC_TEXT(call->in[part]),
          end - call->in[part]->shape.dims[axis], axis, NAME(call, whole),
          DUET_SPEC_TEXT(call->in[whole]));
    return DUET_OK;
}

void duet_part_begin(int64_t *begin, const duet_kernel *kernel, const duet_shape *whole,
                     const duet_shape *part) {
    int64_t axis = kernel->attrs[0].i, before = 0;
    if (axis < 0) axis += whole->rank;
    for (int i = 2; i < kernel->n_in; i++) before += kernel->in[i].spec->shape.dims[axis];
    memset(begin, 0, DUET_MAX_RANK * sizeof *begin);
    begin[axis] = kernel->attrs[1].b ? whole->dims[axis] - before - part->dims[axis] : before;
}

void duet_part_take(const duet_view *out, const duet_view *in, const int64_t *begin) {
    const duet_shape *part = &out->spec->shape;
    duet_strided_copy_box(out->data, part, NULL, in->data, &in->spec->shape, begin, part,
                          duet_dtype_size((duet_dtype)in->spec->dtype));
}

void duet_part_place(const duet_view *out, const duet_view *in, const int64_t *begin) {
    const duet_shape *part = &in->spec->shape;
    memset(out->data, 0, duet_spec_bytes(out->spec));
    duet_strided_copy_box(out->data, &out->spec->shape, begin, in->data, part, NULL, part,
                          duet_dtype_size((duet_dtype)in->spec->dtype));
}
