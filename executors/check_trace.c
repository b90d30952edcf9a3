/* duet_check_trace: is what a function's trace holds still what its body does? */
#include "function.h"

#include "core/attrs.h"
#include "graph_body.h"
#include "thread_state.h"

/* What differs first, for a message; empty while nothing does. */
typedef struct difference {
    char text[512];
} difference;

#define DIFFER(d, ...) (snprintf((d)->text, sizeof(d)->text, __VA_ARGS__), true)

/* " at small_ops.c:5", or nothing. */
static const char *place(duet_text *buffer, const char *file, int32_t line) {
    const char *slash = file ? strrchr(file, '/') : NULL;
    buffer->chars[0] = '\0';
    if (file)
        snprintf(buffer->chars, sizeof buffer->chars, " at %.100s:%d", slash ? slash + 1 : file,
                 line);
    return buffer->chars;
}
#define PLACE(node) place(&(duet_text){{0}}, (node)->file, (node)->line)

/* "f32[3] element 1: 2 -> 5". */
static bool tensors_differ(difference *d, const duet_tensor *a, const duet_tensor *b,
                           const char *where) {
    if (!duet_spec_equal(&a->spec, &b->spec))
        return DIFFER(d, "constant%s: %s -> %s", where, DUET_SPEC_TEXT(&a->spec),
                      DUET_SPEC_TEXT(&b->spec));
    size_t size = duet_dtype_size(duet_tensor_dtype(a));
    for (int64_t i = 0; i < duet_tensor_count(a); i++) {
        size_t at = (size_t)i * size;
        if (memcmp((const char *)a->data + at, (const char *)b->data + at, size) == 0) continue;
        return DIFFER(d, "constant %s%s: element %lld: %.9g -> %.9g", DUET_SPEC_TEXT(&a->spec),
                      where, (long long)i, duet_item(a, i), duet_item(b, i));
    }
    return false;
}

static bool frozen_differ(difference *d, const duet_frozen *a, const duet_frozen *b) {
    for (int32_t i = 0; i < a->count && i < b->count; i++)
        if (tensors_differ(d, a->values[i].value, b->values[i].value, PLACE(&b->values[i])))
            return true;
    return false; /* another number of them is told by the nodes that use them */
}

static bool attrs_differ(difference *d, int32_t id, const duet_graph_node *a,
                         const duet_graph_node *b) {
    for (int i = 0; i < duet_op_attr_count(a->op); i++) {
        const duet_attr_spec *spec = &a->op->attrs[i];
        char before[160], after[160];
        if (spec->kind == DUET_ATTR_BODY) {
            if (!duet_graph_equal(duet_graph_of_body(a->attrs[i].body),
                                  duet_graph_of_body(b->attrs[i].body)))
                return DIFFER(d, "node %d, %s%s: its %s", id, a->op->name, PLACE(b), spec->name);
        } else if (spec->kind != DUET_ATTR_TENSOR &&
                   !duet_attr_equal(spec->kind, &a->attrs[i], &b->attrs[i])) {
            duet_attr_text(before, sizeof before, spec->kind, &a->attrs[i]);
            duet_attr_text(after, sizeof after, spec->kind, &b->attrs[i]);
            return DIFFER(d, "node %d, %s%s: %s: %s -> %s", id, a->op->name, PLACE(b), spec->name,
                          before, after);
        }
    }
    return false;
}

static bool nodes_differ(difference *d, int32_t id, const duet_graph_node *a,
                         const duet_graph_node *b) {
    if (a->op != b->op)
        return DIFFER(d, "node %d%s: %s -> %s", id, PLACE(b), a->op->name, b->op->name);
    if (a->n_in != b->n_in || memcmp(a->in, b->in, (size_t)a->n_in * sizeof *a->in) != 0)
        return DIFFER(d, "node %d, %s%s: takes other values", id, a->op->name, PLACE(b));
    return attrs_differ(d, id, a, b);
}

static bool graphs_differ(difference *d, const duet_graph *a, const duet_graph *b) {
    for (int32_t i = 0; i < a->n_variables && i < b->n_variables; i++)
        if (a->variables[i] != b->variables[i])
            return DIFFER(d, "variable %d: \"%s\" -> \"%s\"", i,
                          a->variables[i]->name ? a->variables[i]->name : "",
                          b->variables[i]->name ? b->variables[i]->name : "");
    for (int32_t i = 0; i < a->n_nodes && i < b->n_nodes; i++)
        if (nodes_differ(d, i, &a->nodes[i], &b->nodes[i])) return true;
    if (a->n_nodes != b->n_nodes) return DIFFER(d, "%d -> %d nodes", a->n_nodes, b->n_nodes);
    if (!duet_graph_equal(a, b)) return DIFFER(d, "its results");
    return false;
}

/* What two traces made now disagree on comes from the body itself. */
static duet_status check_purity(const duet_function *f, const duet_graph *one,
                                const duet_graph *two) {
    difference d = {""};
    duet_frozen a = {0}, b = {0};
    duet_status status = duet_frozen_of(&a, one);
    if (status == DUET_OK) status = duet_frozen_of(&b, two);
    bool differ = status == DUET_OK && (frozen_differ(&d, &a, &b) || graphs_differ(&d, one, two));
    duet_frozen_release(&a);
    duet_frozen_release(&b);
    TRY(status);
    CHECK(!differ, DUET_STATUS_STATE, "function %s is not pure: traced twice, it differs: %s",
          f->name, d.text);
    return DUET_OK;
}

/* `now`: a fresh trace. It is compared as recorded, for the planner moves the steps of forks. */
static duet_status check_entry(const duet_function *f, const duet_entry *entry,
                               const duet_graph *now) {
    difference d = {""};
    duet_frozen values;
    TRY(duet_frozen_of(&values, now));
    bool differ = frozen_differ(&d, &entry->frozen, &values);
    duet_frozen_release(&values);
    CHECK(
        !differ, DUET_STATUS_STATE,
        "function %s: a host value that its trace has frozen has changed: %s; pass it as a tensor "
        "or a variable",
        f->name, d.text);
    CHECK(!graphs_differ(&d, entry->traced, now), DUET_STATUS_STATE,
          "function %s: its body no longer does what was traced: %s", f->name, d.text);
    return DUET_OK;
}

static duet_status check(duet_function *f, duet_tensor *const *in) {
    duet_arg_key keys[DUET_MAX_INPUTS];
    for (int i = 0; i < f->n_in; i++) keys[i] = duet_arg_key_of(in[i]);
    duet_graph *one = duet_function_trace_anew(f, in, keys);
    duet_graph *two = one ? duet_function_trace_anew(f, in, keys) : NULL;
    duet_status status = two ? check_purity(f, one, two) : duet_error_code();
    const duet_entry *entry = status == DUET_OK ? duet_function_find(f, keys) : NULL;
    if (entry) status = check_entry(f, entry, one);
    duet_graph_free(one);
    duet_graph_free(two);
    return status;
}

duet_status duet_check_trace(duet_function *f, duet_tensor *const *in) {
    CHECK(f, DUET_STATUS_ARGUMENT, "check_trace: function is NULL");
    CHECK(in || f->n_in == 0, DUET_STATUS_ARGUMENT, "check_trace: in is NULL");
    CHECK(!duet_thread.trace, DUET_STATUS_STATE, "check_trace: not while a function is traced");
    TRY(duet_function_check(f, in));
    pthread_mutex_lock(&f->lock);
    duet_status status = check(f, in);
    pthread_mutex_unlock(&f->lock);
    return status;
}
