/* Gives products what follows them: where an op's descriptor says that it is the same as several
 * calls (dense: add(matmul(x, w), b)), those calls become that op. Nodes inside a pattern must have
 * no other use. What may follow what stands in the ops' files; here is only the matching. */
#include "passes.h"

#include "core/attrs.h"

#include <ctype.h>
#include <stdlib.h>

enum { MOST_INSIDE = 8 }; /* nodes of a pattern */

/* A pattern on its way through the graph. */
typedef struct match {
    const duet_graph *graph;
    const int32_t *uses;
    const duet_op *op; /* whose pattern it is */
    const char *at;    /* the rest of the pattern */
    int32_t bound[4];  /* per input of `op`: a value, -1 */
    int32_t inside[MOST_INSIDE];
    int n_inside; /* the root first */
} match;

/* Reads a name; its length. */
static int name(match *m, const char **begin) {
    while (*m->at == ' ' || *m->at == ',') m->at++;
    *begin = m->at;
    while (isalnum((unsigned char)*m->at) || *m->at == '_') m->at++;
    return (int)(m->at - *begin);
}

static bool is_name(const char *name, const char *begin, int length) {
    return (int)strlen(name) == length && strncmp(name, begin, (size_t)length) == 0;
}

static bool bind_value(match *m, const char *begin, int length, int32_t value) {
    for (int i = 0; i < 4 && m->op->in_names[i]; i++) {
        if (!is_name(m->op->in_names[i], begin, length)) continue;
        if (m->bound[i] >= 0 && m->bound[i] != value) return false;
        m->bound[i] = value;
        return true;
    }
    return false;
}

static bool match_value(match *m, int32_t value);

/* The pattern stands behind the op's "(". */
static bool match_node(match *m, const char *begin, int length, int32_t id) {
    const duet_graph_node *node = &m->graph->nodes[id];
    bool root = m->n_inside == 0;
    if (!node->op || !is_name(node->op->name, begin, length)) return false;
    if (!root && (node->n_out != 1 || m->uses[node->out] != 1 || duet_node_has_effect(node)))
        return false;
    if (m->n_inside == MOST_INSIDE) return false;
    m->inside[m->n_inside++] = id;
    for (int32_t i = 0; i < node->n_in; i++)
        if (!match_value(m, node->in[i])) return false;
    while (*m->at == ' ') m->at++;
    return *m->at++ == ')';
}

static bool match_value(match *m, int32_t value) {
    const char *begin;
    int length = name(m, &begin);
    if (*m->at != '(') return bind_value(m, begin, length, value);
    m->at++;
    const duet_graph_value *v = &m->graph->values[value];
    return v->kind == DUET_VALUE_RESULT && match_node(m, begin, length, v->node);
}

/* The op's attributes from those of the nodes inside; false where one says what the op cannot. */
static bool collect_attrs(duet_attr *attrs, const match *m, const duet_pattern *pattern) {
    const char *equal = pattern->attrs ? strchr(pattern->attrs, '=') : NULL;
    duet_attrs_init(attrs, m->op);
    for (int n = 0; n < m->n_inside; n++) {
        const duet_graph_node *node = &m->graph->nodes[m->inside[n]];
        for (int i = 0; i < duet_op_attr_count(node->op); i++) {
            const duet_attr_spec *spec = &node->op->attrs[i];
            bool set = equal && is_name(spec->name, pattern->attrs, (int)(equal - pattern->attrs));
            int j = 0, count = duet_op_attr_count(m->op);
            while (j < count && strcmp(m->op->attrs[j].name, spec->name) != 0) j++;
            if (j < count && !set)
                attrs[j] = node->attrs[i];
            else if (!duet_attr_equal(spec->kind, &node->attrs[i], &spec->initial))
                return false;
        }
    }
    return !equal || duet_attr_parse(attrs, m->op, pattern->attrs, (int)(equal - pattern->attrs),
                                     equal + 1) == DUET_OK;
}

/* Whether the op accepts the inputs and gives what the root gave. */
static bool gives_the_same(const match *m, const duet_attr *attrs) {
    const duet_graph_node *root = &m->graph->nodes[m->inside[0]];
    const duet_spec *in[DUET_MAX_INPUTS];
    duet_spec out[DUET_MAX_OUTPUTS];
    if (root->n_out != duet_op_n_out(m->op, attrs)) return false;
    for (int i = 0; i < m->op->n_in; i++) {
        if (m->bound[i] < 0) return false;
        in[i] = &m->graph->values[m->bound[i]].spec;
    }
    if (m->op->infer(out, &(duet_op_call){m->op, attrs, in, m->op->n_in}) != DUET_OK) return false;
    for (int32_t i = 0; i < root->n_out; i++)
        if (!duet_spec_equal(&out[i], &m->graph->values[root->out + i].spec)) return false;
    return true;
}

static bool try_pattern(duet_status *status, duet_graph *graph, const int32_t *uses, int32_t id,
                        const duet_op *op, const duet_pattern *pattern) {
    match m = {
        .graph = graph, .uses = uses, .op = op, .at = pattern->expr, .bound = {-1, -1, -1, -1}};
    duet_attr attrs[DUET_MAX_ATTRS];
    const char *begin;
    int length = name(&m, &begin);
    m.at++;
    if (!match_node(&m, begin, length, id) || !collect_attrs(attrs, &m, pattern) ||
        !gives_the_same(&m, attrs))
        return false;
    *status = duet_graph_replace(graph, id, op, attrs, m.bound, op->n_in);
    for (int i = 1; i < m.n_inside && *status == DUET_OK; i++)
        duet_graph_remove(graph, m.inside[i]);
    return true;
}

static duet_status rewrite(duet_graph *graph, const int32_t *uses, int32_t id) {
    duet_status status = DUET_OK;
    for (int i = 0, count = duet_op_count(); i < count; i++) {
        const duet_op *op = duet_op_at(i);
        for (int j = 0; j < DUET_MAX_PATTERNS && op->same_as[j].expr; j++)
            if (graph->nodes[id].op && try_pattern(&status, graph, uses, id, op, &op->same_as[j]))
                return status;
    }
    return DUET_OK;
}

duet_status duet_pass_epilogue(duet_graph *graph) {
    duet_error before;
    duet_error_save(&before);
    int32_t *uses = duet_graph_count_uses(graph);
    if (!uses) return DUET_STATUS_MEMORY;
    duet_status status = DUET_OK;
    for (int32_t i = 0; i < graph->n_nodes && status == DUET_OK; i++)
        status = rewrite(graph, uses, i);
    free(uses);
    if (status == DUET_OK) duet_error_restore(&before); /* refusals were only asked for */
    return status == DUET_OK ? duet_graph_compact(graph) : status;
}
