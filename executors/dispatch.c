/* The way from ops to executors: every op call of every thread comes through here. */
#include "eager.h"
#include "thread_state.h"
#include "trace.h"

_Thread_local duet_thread_state duet_thread;

/* NULL is what duet_op_find() gives for a name that is not there, and its message tells more. */
static __attribute__((noinline, cold)) duet_status no_op(const char *who) {
    if (duet_error_code() != DUET_OK) return duet_error_code();
    return duet_fail(DUET_STATUS_ARGUMENT, "%s: op is NULL", who);
}

static __attribute__((noinline, cold)) duet_tensor *not_applied(const duet_op *op) {
    if (!op)
        (void)no_op("apply");
    else if (op->n_out == 0)
        duet_fail(
            DUET_STATUS_ARGUMENT,
            "apply: expected an op with a result, got %s, which has none: duet_dispatch calls "
            "it",
            op->name);
    else
        duet_fail(DUET_STATUS_ARGUMENT, "apply: in is NULL");
    return NULL;
}

duet_status duet_dispatch(duet_tensor **out, const duet_op *op, const duet_attr *attrs,
                          duet_tensor *const *in, int n_in) {
    if (__builtin_expect(!op, 0)) return no_op("dispatch");
    if (__builtin_expect(duet_thread.trace != NULL, 0))
        return duet_trace_dispatch(out, op, attrs, in, n_in);
    if (__builtin_expect(duet_thread.profiling, 0))
        return duet_eager_dispatch_profiled(out, op, attrs, in, n_in);
    return duet_eager_dispatch(out, op, attrs, in, n_in);
}

duet_tensor *duet_apply(const duet_op *op, const duet_attr *attrs, duet_tensor *const *in,
                        int n_in) {
    duet_tensor *out[DUET_MAX_OUTPUTS];
    if (__builtin_expect(!op || op->n_out == 0 || (!in && n_in > 0), 0)) return not_applied(op);
    return duet_dispatch(out, op, attrs, in, n_in) == DUET_OK ? out[0] : NULL;
}

bool duet_run_eagerly(bool on) {
    bool before = duet_thread.run_eagerly;
    duet_thread.run_eagerly = on;
    return before;
}
