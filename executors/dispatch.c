/* The way from ops to executors: every op call of every thread comes through here. */
#include "eager.h"
#include "thread_state.h"
#include "trace.h"

_Thread_local duet_thread_state duet_thread;

/* The call is recorded or timed. */
static inline bool takes_detour(void) {
    return __builtin_expect(duet_thread.trace || duet_thread.profiling, 0);
}

/* NULL is what duet_op_find() gives for a name that is not there, and its message tells more. */
static __attribute__((noinline, cold)) duet_status no_op(const char *who) {
    if (duet_error_code() != DUET_OK) return duet_error_code();
    return duet_fail(DUET_STATUS_ARGUMENT, "%s: op is NULL", who);
}

duet_status duet_dispatch(duet_tensor **out, const duet_op *op, const duet_attr *attrs,
                          duet_tensor *const *in, int n_in) {
    if (__builtin_expect(!op, 0)) return no_op("dispatch");
    if (!takes_detour()) return duet_eager_dispatch(out, op, attrs, in, n_in);
    if (duet_thread.trace) return duet_trace_dispatch(out, op, attrs, in, n_in);
    return duet_eager_dispatch_profiled(out, op, attrs, in, n_in);
}

/* ---- calls with one result ------------------------------------------------------------------- */

static inline bool has_result(const duet_op *op) {
    return __builtin_expect(op && op->n_out != 0, 1);
}

static __attribute__((noinline, cold)) duet_tensor *not_applied(const duet_op *op) {
    if (!op)
        (void)no_op("apply");
    else if (op->n_out == 0)
        duet_fail(DUET_STATUS_ARGUMENT,
                  "apply: expected an op with a result, got %s, which has none: duet_dispatch "
                  "calls it",
                  op->name);
    else
        duet_fail(DUET_STATUS_ARGUMENT, "apply: in is NULL");
    return NULL;
}

duet_tensor *duet_apply(const duet_op *op, const duet_attr *attrs, duet_tensor *const *in,
                        int n_in) {
    duet_tensor *out[DUET_MAX_OUTPUTS];
    if (!has_result(op) || __builtin_expect(!in && n_in > 0, 0)) return not_applied(op);
    return duet_dispatch(out, op, attrs, in, n_in) == DUET_OK ? out[0] : NULL;
}

duet_tensor *duet_apply1(const duet_op *op, duet_tensor *x) {
    if (takes_detour() || !has_result(op)) return duet_apply(op, NULL, &x, 1);
    return duet_eager_apply1(op, x);
}

duet_tensor *duet_apply2(const duet_op *op, duet_tensor *x, duet_tensor *y) {
    if (takes_detour() || !has_result(op)) return duet_apply(op, NULL, (duet_tensor *[]){x, y}, 2);
    return duet_eager_apply2(op, x, y);
}

duet_tensor *duet_apply3(const duet_op *op, duet_tensor *x, duet_tensor *y, duet_tensor *z) {
    if (takes_detour() || !has_result(op))
        return duet_apply(op, NULL, (duet_tensor *[]){x, y, z}, 3);
    return duet_eager_apply3(op, x, y, z);
}

bool duet_run_eagerly(bool on) {
    bool before = duet_thread.run_eagerly;
    duet_thread.run_eagerly = on;
    return before;
}
