/* The way from ops to executors: every op call of every thread comes through here. */
#include "eager.h"
#include "thread_state.h"
#include "trace.h"

_Thread_local duet_thread_state duet_thread;

/* The call is recorded or timed. */
static inline bool takes_detour(void) {
    return __builtin_expect(duet_thread.trace || duet_thread.profiling, 0);
}

duet_status duet_dispatch(duet_tensor **out, const duet_op *op, const duet_attr *attrs,
                          duet_tensor *const *in, int n_in) {
    if (!takes_detour()) return duet_eager_dispatch(out, op, attrs, in, n_in);
    if (duet_thread.trace) return duet_trace_dispatch(out, op, attrs, in, n_in);
    return duet_eager_dispatch_profiled(out, op, attrs, in, n_in);
}

duet_tensor *duet_apply(const duet_op *op, const duet_attr *attrs, duet_tensor *const *in,
                        int n_in) {
    duet_tensor *out[DUET_MAX_OUTPUTS];
    if (__builtin_expect(!op || (!in && n_in > 0), 0)) {
        duet_fail(DUET_STATUS_ARGUMENT, "apply: %s is NULL", op ? "in" : "op");
        return NULL;
    }
    return duet_dispatch(out, op, attrs, in, n_in) == DUET_OK ? out[0] : NULL;
}

duet_tensor *duet_apply1(const duet_op *op, duet_tensor *x) {
    if (takes_detour() || !op) return duet_apply(op, NULL, &x, 1);
    return duet_eager_apply1(op, x);
}

duet_tensor *duet_apply2(const duet_op *op, duet_tensor *x, duet_tensor *y) {
    if (takes_detour() || !op) return duet_apply(op, NULL, (duet_tensor *[]){x, y}, 2);
    return duet_eager_apply2(op, x, y);
}

duet_tensor *duet_apply3(const duet_op *op, duet_tensor *x, duet_tensor *y, duet_tensor *z) {
    if (takes_detour() || !op) return duet_apply(op, NULL, (duet_tensor *[]){x, y, z}, 3);
    return duet_eager_apply3(op, x, y, z);
}

bool duet_run_eagerly(bool on) {
    bool before = duet_thread.run_eagerly;
    duet_thread.run_eagerly = on;
    return before;
}
