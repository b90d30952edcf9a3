#include "eager.h"

#include "call_checks.h"
#include "core/attrs.h"
#include "scope_inline.h"
#include "tape.h"
#include "thread_state.h"
#include "vector.h"

#define STAGE_BEGIN
#define STAGE(name)
#define STAGE_END
#include "eager_stages.inc"

duet_status duet_eager_dispatch(duet_tensor **out, const duet_op *op, const duet_attr *attrs,
                                duet_tensor *const *in, int n_in) {
    return dispatch(out, op, attrs, in, n_in);
}

DUET_ALWAYS_INLINE duet_tensor *apply(const duet_op *op, duet_tensor *const *in, int n_in) {
    duet_tensor *out[DUET_MAX_OUTPUTS];
    return dispatch(out, op, NULL, in, n_in) == DUET_OK ? out[0] : NULL;
}

duet_tensor *duet_eager_apply1(const duet_op *op, duet_tensor *x) { return apply(op, &x, 1); }

duet_tensor *duet_eager_apply2(const duet_op *op, duet_tensor *x, duet_tensor *y) {
    return apply(op, (duet_tensor *[]){x, y}, 2);
}

duet_tensor *duet_eager_apply3(const duet_op *op, duet_tensor *x, duet_tensor *y, duet_tensor *z) {
    return apply(op, (duet_tensor *[]){x, y, z}, 3);
}
