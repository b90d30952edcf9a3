#include "call_checks.h"

#include "thread_state.h"

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

/* Of a variable in two places that are written, which is written last would be for the kernel. */
static duet_status check_written_once(const duet_op *op, duet_tensor *const *in, int n_in) {
    for (int i = 0; i < n_in && op->writes >> i; i++)
        for (int j = 0; j < i; j++)
            CHECK(in[i] != in[j] || !(op->writes >> i & op->writes >> j & 1), DUET_STATUS_ARGUMENT,
                  "%s: %s: expected another variable than %s, got the same", op->name,
                  duet_op_input_name(op, i), duet_op_input_name(op, j));
    return DUET_OK;
}

duet_status duet_call_check_variables(const duet_op *op, duet_tensor *const *in, int n_in) {
    for (int i = 0; i < n_in; i++) {
        CHECK((in[i]->flags & DUET_TENSOR_VARIABLE) || !(op->writes >> i & 1), DUET_STATUS_ARGUMENT,
              "%s: %s: expected a variable, got a value %s", op->name, duet_op_input_name(op, i),
              DUET_SPEC_TEXT(&in[i]->spec));
        CHECK(!(in[i]->flags & DUET_TENSOR_SYMBOLIC) || duet_thread.trace, DUET_STATUS_STATE,
              "%s: %s is a value of a function's trace that has ended; return it from the "
              "function",
              op->name, duet_op_input_name(op, i));
    }
    bool several = op->writes & (op->writes - 1);
    return several ? check_written_once(op, in, n_in) : DUET_OK;
}
