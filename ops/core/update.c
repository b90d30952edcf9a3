#include "core/update.h"

#include "core/infer.h"

duet_status duet_apply_update(const duet_op *op, const duet_attr *attrs, duet_tensor *const *in,
                              int n_in) {
    for (int i = 0; i < n_in; i++) /* an earlier failure: its message stays as it is */
        if (!in[i]) return duet_dispatch(NULL, op, attrs, in, n_in);
    duet_status status = duet_dispatch(NULL, op, attrs, in, n_in);
    if (status == DUET_OK || !in[0]->name) return status;
    return duet_fail(status, "%s (variable \"%s\")", duet_error_message(), in[0]->name);
}

duet_status duet_infer_update(const duet_op_call *call, int input) {
    const duet_spec *v = call->in[0], *x = call->in[input];
    bool fits = v->dtype == x->dtype && v->shape.rank == x->shape.rank;
    for (int64_t i = 0, dim; fits && i < v->shape.rank; i++)
        fits = duet_infer_meet(&dim, v->shape.dims[i], x->shape.dims[i]);
    duet_status code = v->dtype == x->dtype ? DUET_STATUS_SHAPE : DUET_STATUS_DTYPE;
    CHECK(fits, code, "%s: %s: expected the variable's %s, got %s", call->op->name,
          duet_op_input_name(call->op, input), DUET_SPEC_TEXT(v), DUET_SPEC_TEXT(x));
    return DUET_OK;
}
