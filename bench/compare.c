/* Do the executors agree? Asked before anything is timed. */
#include "lesson.h"

#include <math.h>
#include <stdio.h>

enum { CALLS = 5 }; /* so that variables have moved, and the second call has replayed */

static char difference[256];

static bool same_bits(const duet_tensor *a, const duet_tensor *b) {
    return duet_spec_equal(&a->spec, &b->spec) &&
           memcmp(a->data, b->data, duet_spec_bytes(&a->spec)) == 0;
}

/* Element by element; a NaN is near to a NaN only. */
static bool near(const duet_tensor *a, const duet_tensor *b, double tolerance) {
    for (int64_t i = 0, count = duet_tensor_count(a); i < count; i++) {
        double x = duet_item(a, i), y = duet_item(b, i);
        bool alike = isnan(x) ? isnan(y) : fabs(x - y) <= tolerance * (1 + fabs(x));
        if (!alike) return false;
    }
    return true;
}

static bool agree(const duet_tensor *a, const duet_tensor *b, const lesson *l, const executor *x,
                  const char *what, int index, int call) {
    if (x->kind == BY_HAND && l->tolerance > 0 ? near(a, b, l->tolerance) : same_bits(a, b))
        return true;
    for (int64_t i = 0, count = duet_tensor_count(a); i < count; i++) {
        double p = duet_item(a, i), q = duet_item(b, i);
        if (p == q || (isnan(p) && isnan(q))) continue;
        snprintf(difference, sizeof difference,
                 "%s %s: call %d, %s %d, element %d: eager has %.9g, %s %.9g", l->name, x->name,
                 call + 1, what, index, (int)i, p, x->name, q);
        return false;
    }
    snprintf(difference, sizeof difference, "%s %s: call %d, %s %d: same values, other bits",
             l->name, x->name, call + 1, what, index);
    return false;
}

/* One call by `x`, with its results in out[]. */
static duet_status call(const executor *x, exercise *e, duet_tensor **out) {
    if (x->switch_on) x->switch_on(e, true);
    duet_status status = x->kind == BY_HAND ? x->call(e) : exercise_call(e, out);
    for (int i = 0; x->kind == BY_HAND && i < e->lesson->n_out; i++) out[i] = e->out[i];
    if (x->switch_on) x->switch_on(e, false);
    return status;
}

static duet_status compare_call(bool *equal, const lesson *l, const executor *x, exercise *a,
                                exercise *b, int number) {
    duet_tensor *left[DUET_MAX_OUTPUTS], *right[DUET_MAX_OUTPUTS];
    TRY(call(&executors[0], a, left));
    TRY(call(x, b, right));
    *equal = true;
    for (int i = 0; i < l->n_out && *equal; i++)
        *equal = agree(left[i], right[i], l, x, "result", i, number);
    for (int i = 0; i < l->n_variables && *equal; i++)
        *equal = agree(a->variables[i], b->variables[i], l, x, "variable", i, number);
    return DUET_OK;
}

duet_status lesson_compare(const lesson *l, const executor *x, bool *equal, const char **where) {
    exercise *a = exercise_new(l), *b = a ? exercise_new(l) : NULL;
    duet_status status = b ? DUET_OK : duet_error_code();
    *equal = true;
    *where = difference;
    for (int i = 0; i < CALLS && status == DUET_OK && *equal; i++) {
        duet_scope_open();
        status = compare_call(equal, l, x, a, b, i);
        duet_scope_close(NULL);
    }
    exercise_free(a);
    exercise_free(b);
    return status;
}
