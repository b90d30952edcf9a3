/* The text form: one line per node, stable enough to diff; graph_parse.c reads it back.
 *
 *     graph @train_step(%0: f32[64,20], %1: f32[64,1]) {
 *       %2: f32[20,64] = variable "w1"
 *       %3: f32[64,64] = matmul(%0, %2) {transpose_b=true}  # train_step.c:31
 *       assign(%2, %3)
 *       return %3
 *     }
 *
 * Sub-graphs come before the graph whose nodes name them, as @train_step.1 and so on. */
#include "graph.h"

#include "core/attrs.h"
#include "graph_body.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* One element so that the same bits come back (NaN: that it is one, and its sign). */
static void print_element(FILE *file, const duet_tensor *t, int64_t i) {
    switch (t->spec.dtype) {
    case DUET_F32: fprintf(file, "%.9g", (double)((const float *)t->data)[i]); break;
    case DUET_F64: fprintf(file, "%.17g", ((const double *)t->data)[i]); break;
    case DUET_I32: fprintf(file, "%" PRId32, ((const int32_t *)t->data)[i]); break;
    default: fprintf(file, "%d", ((const uint8_t *)t->data)[i]); break;
    }
}

static void print_tensor(FILE *file, const duet_tensor *t) {
    fputc('[', file);
    for (int64_t i = 0, count = duet_tensor_count(t); i < count; i++) {
        if (i) fputc(',', file);
        print_element(file, t, i);
    }
    fputc(']', file);
}

/* In quotes; a quote, a backslash and a new line in it behind a backslash. */
static void print_quoted(FILE *file, const char *text) {
    fputc('"', file);
    for (; text && *text; text++) {
        if (strchr("\"\\\n", *text)) fputc('\\', file);
        fputc(*text == '\n' ? 'n' : *text, file);
    }
    fputc('"', file);
}

/* Where the text of one printing gives names to sub-graphs. */
typedef struct names {
    char root[128];
    const duet_body **bodies;
    int count;
} names;

static int name_of(const names *known, const duet_body *body) {
    for (int i = 0; i < known->count; i++)
        if (known->bodies[i] == body) return i + 1;
    return 0;
}

/* Only what differs from the op's defaults. */
static void print_attrs(FILE *file, const duet_graph_node *node, const names *known) {
    int printed = 0;
    for (int i = 0; i < duet_op_attr_count(node->op); i++) {
        const duet_attr_spec *spec = &node->op->attrs[i];
        const duet_attr *value = &node->attrs[i];
        bool counted = spec->kind == DUET_ATTR_TENSOR || spec->kind == DUET_ATTR_BODY;
        if (!spec->required && !counted && duet_attr_equal(spec->kind, value, &spec->initial))
            continue;
        fprintf(file, "%s%s=", printed++ ? ", " : " {", spec->name);
        if (spec->kind == DUET_ATTR_TENSOR) {
            print_tensor(file, value->tensor);
        } else if (spec->kind == DUET_ATTR_BODY) {
            fprintf(file, "@%s.%d", known->root, name_of(known, value->body));
        } else if (spec->kind == DUET_ATTR_TEXT) {
            print_quoted(file, value->text);
        } else {
            char text[512];
            duet_attr_text(text, sizeof text, spec->kind, value);
            fputs(text, file);
        }
    }
    if (printed) fputc('}', file);
}

void duet_graph_print_call(FILE *file, const duet_graph *graph, const duet_graph_node *node) {
    for (int32_t i = 0; i < node->n_out; i++)
        fprintf(file, "%s%%%d: %s", i ? ", " : "", node->out + i,
                DUET_SPEC_TEXT(&graph->values[node->out + i].spec));
    fprintf(file, "%s%s(", node->n_out ? " = " : "", node->op->name);
    for (int32_t i = 0; i < node->n_in; i++) fprintf(file, "%s%%%d", i ? ", " : "", node->in[i]);
    fputc(')', file);
}

static void print_node(FILE *file, const duet_graph *graph, const duet_graph_node *node,
                       const names *known) {
    fputs("  ", file);
    duet_graph_print_call(file, graph, node);
    print_attrs(file, node, known);
    if (node->file) {
        const char *slash = strrchr(node->file, '/');
        fprintf(file, "  # %s:%d", slash ? slash + 1 : node->file, node->line);
    }
    fputc('\n', file);
}

static void print_one(FILE *file, const duet_graph *graph, int number, const names *known) {
    fprintf(file, "graph @%s", known->root);
    if (number) fprintf(file, ".%d", number);
    fputc('(', file);
    for (int32_t i = 0; i < graph->n_inputs; i++)
        fprintf(file, "%s%%%d: %s", i ? ", " : "", graph->inputs[i],
                DUET_SPEC_TEXT(&graph->values[graph->inputs[i]].spec));
    fputs(") {\n", file);
    for (int32_t i = 0; i < graph->n_variables; i++) {
        const duet_tensor *v = graph->variables[i];
        fprintf(file, "  %%%d: %s = variable ", graph->variable_values[i],
                DUET_SPEC_TEXT(&v->spec));
        print_quoted(file, v->name);
        fputc('\n', file);
    }
    for (int32_t i = 0; i < graph->n_nodes; i++)
        if (graph->nodes[i].op) print_node(file, graph, &graph->nodes[i], known);
    fputs("  return", file);
    for (int32_t i = 0; i < graph->n_results; i++)
        fprintf(file, "%s %%%d", i ? "," : "", graph->results[i]);
    fputs("\n}\n", file);
}

/* Sub-graphs before the graphs that hold them, each once. */
static void print_bodies(FILE *file, const duet_graph *graph, names *known) {
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const duet_graph_node *node = &graph->nodes[i];
        for (int j = 0; node->op && j < duet_op_attr_count(node->op); j++) {
            if (node->op->attrs[j].kind != DUET_ATTR_BODY || !node->attrs[j].body) continue;
            const duet_body *body = node->attrs[j].body;
            if (name_of(known, body)) continue;
            print_bodies(file, duet_graph_of_body(body), known);
            const duet_body **larger =
                realloc(known->bodies, ((size_t)known->count + 1) * sizeof *larger);
            if (!larger) return;
            known->bodies = larger;
            known->bodies[known->count++] = body;
            print_one(file, duet_graph_of_body(body), known->count, known);
        }
    }
}

void duet_graph_print(FILE *file, const duet_graph *graph) {
    names known = {.root = "graph"};
    for (size_t i = 0; i + 1 < sizeof known.root && graph->name[i]; i++) {
        char c = graph->name[i];
        bool plain = isalnum((unsigned char)c) || strchr("_.-", c);
        known.root[i] = plain ? c : '_'; /* what the parser takes for a name */
        known.root[i + 1] = '\0';
    }
    print_bodies(file, graph, &known);
    print_one(file, graph, 0, &known);
    free(known.bodies);
}

static bool same_ids(const int32_t *a, const int32_t *b, int32_t count) {
    return count == 0 || memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

static bool same_bodies(const duet_body *a, const duet_body *b) {
    return a == b || (a && b && duet_graph_equal(duet_graph_of_body(a), duet_graph_of_body(b)));
}

static bool same_nodes(const duet_graph_node *a, const duet_graph_node *b) {
    if (a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out || a->out != b->out)
        return false;
    if (memcmp(a->in, b->in, (size_t)a->n_in * sizeof *a->in) != 0) return false;
    for (int i = 0; i < duet_op_attr_count(a->op); i++) {
        duet_attr_kind kind = a->op->attrs[i].kind;
        if (kind == DUET_ATTR_BODY ? !same_bodies(a->attrs[i].body, b->attrs[i].body)
                                   : !duet_attr_equal(kind, &a->attrs[i], &b->attrs[i]))
            return false;
    }
    return true;
}

/* Equal in everything that has a meaning; names of variables count, names of graphs do not. */
bool duet_graph_equal(const duet_graph *a, const duet_graph *b) {
    if (a->n_values != b->n_values || a->n_nodes != b->n_nodes || a->n_inputs != b->n_inputs ||
        a->n_results != b->n_results || a->n_variables != b->n_variables)
        return false;
    for (int32_t i = 0; i < a->n_values; i++)
        if (a->values[i].kind != b->values[i].kind ||
            !duet_spec_equal(&a->values[i].spec, &b->values[i].spec))
            return false;
    for (int32_t i = 0; i < a->n_nodes; i++)
        if (!same_nodes(&a->nodes[i], &b->nodes[i])) return false;
    for (int32_t i = 0; i < a->n_variables; i++) {
        const char *x = a->variables[i]->name, *y = b->variables[i]->name;
        if (strcmp(x ? x : "", y ? y : "") != 0) return false;
    }
    return same_ids(a->inputs, b->inputs, a->n_inputs) &&
           same_ids(a->results, b->results, a->n_results);
}
