#include "call_checks.h"

#include "thread_state.h"

extern const duet_op duet_op_read;

duet_status duet_call_check_arity(const duet_op *op, int n_in) {
    int most = op->n_in_max ? op->n_in_max : op->n_in;
    if (n_in >= op->n_in && n_in <= most) return DUET_OK;
    if (most == op->n_in)
        return duet_fail(DUET_STATUS_ARGUMENT, "%s: expected %d input%s, got %d", op->name,
                         op->n_in, op->n_in == 1 ? "" : "s", n_in);
    return duet_fail(DUET_STATUS_ARGUMENT, "%s: expected %d to %d inputs, got %d", op->name,
                     op->n_in, most, n_in);
}

duet_status duet_call_null_error(const duet_op *op, int index) {
    if (duet_error_code() != DUET_OK) return duet_error_code();
    return duet_fail(DUET_STATUS_ARGUMENT, "%s: %s is NULL", op->name,
                     duet_op_input_name(op, index));
}

static duet_status resolve_read(duet_tensor **in, const duet_op *op, bool written) {
    /* Nobody else can write the variable while an eager kernel runs, so its data serves as it is,
     * unless the kernel writes it, or the result outlives the call: as a view, on a tape, or in a
     * trace. */
    bool outlives = (op->traits & DUET_OP_VIEW) || duet_thread.tapes || duet_thread.trace;
    if (!outlives && !written) return DUET_OK;
    *in = duet_apply1(&duet_op_read, *in);
    return *in ? DUET_OK : duet_error_code();
}

/* Of a variable in two places that are written, which is written last would be for the kernel. */
static duet_status check_written_once(duet_tensor *const *in, const duet_op *op, int n_in) {
    for (int i = 0; i < n_in && op->writes >> i; i++)
        for (int j = 0; j < i; j++)
            CHECK(in[i] != in[j] || !(op->writes >> i & op->writes >> j & 1), DUET_STATUS_ARGUMENT,
                  "%s: %s: expected another variable than %s, got the same", op->name,
                  duet_op_input_name(op, i), duet_op_input_name(op, j));
    return DUET_OK;
}

/* Whether the call writes the variable that it also reads as operand `index`. */
static bool writes_operand(const duet_op *op, duet_tensor *const *in, int n_in, int index) {
    for (int i = 0; op->writes && i < n_in; i++)
        if ((op->writes >> i & 1) && in[i] == in[index]) return true;
    return false;
}

duet_status duet_call_resolve(duet_tensor **in, const duet_op *op, int n_in) {
    for (int i = 0; i < n_in; i++) {
        bool variable = in[i]->flags & DUET_TENSOR_VARIABLE, written = op->writes >> i & 1;
        CHECK(variable || !written, DUET_STATUS_ARGUMENT,
              "%s: %s: expected a variable, got a value %s", op->name, duet_op_input_name(op, i),
              DUET_SPEC_TEXT(&in[i]->spec));
        if (in[i]->flags & DUET_TENSOR_SYMBOLIC)
            CHECK(duet_thread.trace, DUET_STATUS_STATE,
                  "%s: %s is a value of a function's trace that has ended; return it from the "
                  "function",
                  op->name, duet_op_input_name(op, i));
        if (variable && !written && !(op->traits & DUET_OP_BY_REFERENCE))
            TRY(resolve_read(&in[i], op, writes_operand(op, in, n_in, i)));
    }
    TRY(check_written_once(in, op, n_in));
    if (!duet_thread.trace)
        for (int i = 0; i < n_in; i++)
            if (op->writes >> i & 1) TRY(duet_variable_make_unique(in[i], true));
    return DUET_OK;
}
