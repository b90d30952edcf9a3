/* A graph as Graphviz draws it. Scalar constants stand in the calls that use them, and
 * variables in those that write them; a sub-graph that
 * takes just what its node takes (fused, invoke) is drawn in the node's place, as a cluster; any
 * other has a cluster of its own beside the node. */
#define _GNU_SOURCE
#include "graph.h"

#include "core/attrs.h"
#include "graph_body.h"

#include <stdlib.h>

extern const duet_op duet_op_constant;

/* What stands for a value: a box, or for scalar constants the number itself. */
typedef struct mark {
    int box;
    const duet_tensor *scalar;
    const char *variable; /* its name, where it is one */
} mark;

typedef struct drawing {
    FILE *file, *edges; /* edges come last, so that none pulls its ends into a cluster */
    int boxes, clusters;
} drawing;

static void draw_nodes(drawing *d, const duet_graph *graph, mark *marks, bool inside);

/* ---- text that Graphviz takes ------------------------------------------------------------------
 */

static void print_escaped(FILE *file, const char *text) {
    for (; *text; text++) {
        if (*text == '&')
            fputs("&amp;", file);
        else if (*text == '<')
            fputs("&lt;", file);
        else if (*text == '>')
            fputs("&gt;", file);
        else if (*text == '"')
            fputs("&quot;", file);
        else
            fputc(*text, file);
    }
}

/* Small, below the first line: what differs from the op's defaults. */
static void print_attrs(FILE *file, const duet_graph_node *node) {
    for (int i = 0; i < duet_op_attr_count(node->op); i++) {
        const duet_attr_spec *spec = &node->op->attrs[i];
        if (spec->kind == DUET_ATTR_TENSOR || spec->kind == DUET_ATTR_BODY) continue;
        if (!spec->required && duet_attr_equal(spec->kind, &node->attrs[i], &spec->initial))
            continue;
        char text[256];
        duet_attr_text(text, sizeof text, spec->kind, &node->attrs[i]);
        fprintf(file, "<br/><font point-size=\"9\" color=\"#606060\">%s=", spec->name);
        print_escaped(file, text);
        fputs("</font>", file);
    }
}

/* "mul(·, 0.99)", "sgd(w1, ·, 0.01)": inputs are only worth showing where some have no edge. */
static void print_label(FILE *file, const duet_graph_node *node, const mark *marks) {
    bool worth = false;
    for (int32_t j = 0; j < node->n_in; j++)
        worth |= marks[node->in[j]].scalar || duet_node_writes(node, j);
    fprintf(file, "<b>%s</b>", node->op->name);
    for (int32_t j = 0; worth && j < node->n_in; j++) {
        const duet_tensor *scalar = marks[node->in[j]].scalar;
        fputs(j ? ", " : "(", file);
        if (scalar)
            fprintf(file, "%.6g", duet_item(scalar, 0));
        else
            print_escaped(file, duet_node_writes(node, j) ? marks[node->in[j]].variable : "·");
    }
    if (worth) fputc(')', file);
    print_attrs(file, node);
}

/* ---- boxes and edges ---------------------------------------------------------------------------
 */

static const char *colour_of(const duet_op *op) {
    if (op->writes || (op->traits & DUET_OP_STATEFUL)) return "#f8d7d4";
    if (op->traits & DUET_OP_CONTRACTION) return "#c9dcf5";
    if (op->traits & DUET_OP_REDUCTION) return "#dfd3ee";
    if (op->traits & DUET_OP_VIEW) return "#ffffff";
    return op->elementwise ? "#e6eef9" : "#ececec";
}

static int draw_box(drawing *d, const duet_graph_node *node, const mark *marks) {
    fprintf(d->file, "  n%d [fillcolor=\"%s\", label=<", d->boxes, colour_of(node->op));
    print_label(d->file, node, marks);
    fputs(">];\n", d->file);
    return d->boxes++;
}

static int draw_value(drawing *d, const char *shape, const char *colour, const char *text,
                      const duet_spec *spec) {
    fprintf(d->file, "  n%d [shape=%s, style=filled, fillcolor=\"%s\", label=<", d->boxes, shape,
            colour);
    print_escaped(d->file, text);
    fprintf(d->file, "<br/><font point-size=\"9\">%s</font>>];\n", DUET_SPEC_TEXT(spec));
    return d->boxes++;
}

/* `spec` NULL: no label. */
static void draw_edge(drawing *d, int from, int to, const duet_spec *spec, const char *more) {
    fprintf(d->edges, "  n%d -> n%d [", from, to);
    if (spec) fprintf(d->edges, "label=\" %s\"", DUET_SPEC_TEXT(spec));
    fprintf(d->edges, "%s%s];\n", spec && *more ? ", " : "", more);
}

static void draw_edges(drawing *d, const duet_graph *graph, const duet_graph_node *node,
                       const mark *marks, int box, bool inside) {
    for (int32_t j = 0; j < node->n_in; j++) {
        const duet_graph_value *v = &graph->values[node->in[j]];
        if (marks[node->in[j]].scalar || duet_node_writes(node, j)) continue;
        bool labelled = !(inside && v->kind == DUET_VALUE_RESULT);
        bool shape_only = j > 0 && (node->op->traits & DUET_OP_SHAPE_ONLY);
        draw_edge(d, marks[node->in[j]].box, box, labelled && !shape_only ? &v->spec : NULL,
                  shape_only ? "style=dotted" : "");
    }
}

static void open_cluster(drawing *d, const char *label, const char *colour) {
    fprintf(d->file, "  subgraph cluster_%d {\n  label=\"%s\"; bgcolor=\"%s\";\n", d->clusters++,
            label, colour);
}

/* ---- a chain that repeats itself ---------------------------------------------------------------
 */

/* The one input that is no scalar constant; -1 where there are more, or none. */
static int32_t chain_input(const duet_graph *graph, const duet_graph_node *node) {
    int32_t found = -1;
    for (int32_t j = 0; j < node->n_in; j++) {
        const duet_graph_value *v = &graph->values[node->in[j]];
        bool constant =
            v->kind == DUET_VALUE_RESULT && graph->nodes[v->node].op == &duet_op_constant;
        if (constant && v->spec.shape.rank == 0) continue;
        if (found >= 0) return -1;
        found = j;
    }
    return found;
}

static bool same_link(const duet_graph *graph, const duet_graph_node *a, const duet_graph_node *b) {
    int32_t chain = chain_input(graph, a);
    if (a->op != b->op || a->n_in != b->n_in || chain != chain_input(graph, b)) return false;
    for (int i = 0; i < duet_op_attr_count(a->op); i++)
        if (!duet_attr_equal(a->op->attrs[i].kind, &a->attrs[i], &b->attrs[i])) return false;
    for (int32_t j = 0; j < a->n_in; j++) {
        if (j == chain) continue;
        const duet_graph_node *x = &graph->nodes[graph->values[a->in[j]].node];
        const duet_graph_node *y = &graph->nodes[graph->values[b->in[j]].node];
        if (!duet_attr_equal(DUET_ATTR_TENSOR, &x->attrs[0], &y->attrs[0])) return false;
    }
    return true;
}

/* Fills `links` with the nodes of a graph that is one chain; their number, else 0. */
static int32_t find_chain(int32_t *links, const duet_graph *graph) {
    int32_t count = 0, value = -1;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const duet_graph_node *node = &graph->nodes[i];
        if (node->op == &duet_op_constant && graph->values[node->out].spec.shape.rank == 0)
            continue;
        int32_t j = chain_input(graph, node);
        if (j < 0 || node->n_out != 1 || (count && node->in[j] != value)) return 0;
        value = node->out;
        links[count++] = i;
    }
    return graph->n_results == 1 && graph->results[0] == value ? count : 0;
}

/* Links after which the chain begins anew, three times or more; 0 where it does not. */
static int32_t find_period(const duet_graph *graph, const int32_t *links, int32_t count) {
    for (int32_t period = 1; 3 * period <= count; period++) {
        if (count % period) continue;
        int32_t i = period;
        while (i < count &&
               same_link(graph, &graph->nodes[links[i]], &graph->nodes[links[i - period]]))
            i++;
        if (i == count) return period;
    }
    return 0;
}

/* Draws one period, and marks the graph's result with the last box; false where nothing repeats. */
static bool draw_repeated(drawing *d, const duet_graph *graph, mark *marks) {
    int32_t *links = malloc(((size_t)graph->n_nodes + 1) * sizeof *links);
    int32_t count = links ? find_chain(links, graph) : 0;
    int32_t period = count ? find_period(graph, links, count) : 0;
    if (period) {
        char label[32];
        snprintf(label, sizeof label, "%d times", count / period);
        open_cluster(d, label, "#fdf6e0");
        int first = d->boxes;
        for (int32_t i = 0; i < period; i++) {
            const duet_graph_node *node = &graph->nodes[links[i]];
            marks[node->out].box = draw_box(d, node, marks);
            draw_edges(d, graph, node, marks, marks[node->out].box, true);
        }
        fputs("  }\n", d->file);
        draw_edge(d, d->boxes - 1, first, NULL, "color=\"#b8860b\", constraint=false");
        marks[graph->results[0]].box = d->boxes - 1;
    }
    free(links);
    return period > 0;
}

/* ---- sub-graphs --------------------------------------------------------------------------------
 */

/* The sub-graph that may be drawn in the node's place, or NULL. */
static const duet_graph *own_body(const duet_graph_node *node) {
    const duet_graph *body = NULL;
    for (int i = 0; i < duet_op_attr_count(node->op); i++) {
        if (node->op->attrs[i].kind != DUET_ATTR_BODY) continue;
        if (body || !node->attrs[i].body) return NULL;
        body = duet_graph_of_body(node->attrs[i].body);
    }
    return body && body->n_inputs == node->n_in && body->n_results == node->n_out ? body : NULL;
}

static void mark_constants(const duet_graph *graph, mark *marks) {
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const duet_graph_node *node = &graph->nodes[i];
        if (node->op == &duet_op_constant && graph->values[node->out].spec.shape.rank == 0)
            marks[node->out].scalar = node->attrs[0].tensor;
    }
}

static void draw_variables(drawing *d, const duet_graph *graph, mark *marks) {
    for (int32_t i = 0; i < graph->n_variables; i++) {
        const duet_tensor *v = graph->variables[i];
        const char *name = v->name ? v->name : "variable";
        int box = draw_value(d, "cylinder", "#fbe8b8", name, &v->spec);
        marks[graph->variable_values[i]] = (mark){.box = box, .variable = name};
    }
}

static void draw_inputs(drawing *d, const duet_graph *graph, mark *marks) {
    for (int32_t i = 0; i < graph->n_inputs; i++) {
        char text[32];
        snprintf(text, sizeof text, "input %d", i);
        marks[graph->inputs[i]].box =
            draw_value(d, "ellipse", "#d8ecd6", text, &graph->values[graph->inputs[i]].spec);
    }
}

static void draw_results(drawing *d, const duet_graph *graph, const mark *marks) {
    for (int32_t i = 0; i < graph->n_results; i++) {
        char text[32];
        const duet_spec *spec = &graph->values[graph->results[i]].spec;
        snprintf(text, sizeof text, "result %d", i);
        int box = draw_value(d, "ellipse", "#d8ecd6", text, spec);
        const mark *made = &marks[graph->results[i]];
        if (made->scalar)
            fprintf(d->file, "  n%d [xlabel=\"%.6g\"];\n", box, duet_item(made->scalar, 0));
        else
            draw_edge(d, made->box, box, NULL, "");
    }
}

/* In the node's place: the sub-graph's inputs are the node's. */
static void draw_in_place(drawing *d, const duet_graph *body, const duet_graph_node *node,
                          mark *marks) {
    mark *inner = calloc((size_t)body->n_values + 1, sizeof *inner);
    if (!inner) return;
    for (int32_t j = 0; j < node->n_in; j++) inner[body->inputs[j]] = marks[node->in[j]];
    mark_constants(body, inner);
    open_cluster(d, node->op->name, "#f6f8fb");
    draw_variables(d, body, inner);
    if (!draw_repeated(d, body, inner)) draw_nodes(d, body, inner, true);
    fputs("  }\n", d->file);
    for (int32_t i = 0; i < node->n_out; i++) marks[node->out + i] = inner[body->results[i]];
    free(inner);
}

/* Beside the node, with inputs and results of its own. */
static void draw_beside(drawing *d, const duet_graph *body, const char *name, int box) {
    mark *inner = calloc((size_t)body->n_values + 1, sizeof *inner);
    if (!inner) return;
    int cluster = d->clusters, first = d->boxes;
    mark_constants(body, inner);
    open_cluster(d, name, "#f6f8fb");
    draw_inputs(d, body, inner);
    draw_variables(d, body, inner);
    draw_nodes(d, body, inner, true);
    draw_results(d, body, inner);
    fputs("  }\n", d->file);
    if (d->boxes > first)
        fprintf(d->edges, "  n%d -> n%d [style=dashed, lhead=cluster_%d];\n", box, first, cluster);
    free(inner);
}

static void draw_nodes(drawing *d, const duet_graph *graph, mark *marks, bool inside) {
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const duet_graph_node *node = &graph->nodes[i];
        if (!node->op || (node->n_out && marks[node->out].scalar)) continue;
        const duet_graph *body = own_body(node);
        if (body) {
            draw_in_place(d, body, node, marks);
            continue;
        }
        int box = node->op == &duet_op_constant
                      ? draw_value(d, "note", "#ffffff", "constant", &graph->values[node->out].spec)
                      : draw_box(d, node, marks);
        for (int32_t j = 0; j < node->n_out; j++) marks[node->out + j].box = box;
        draw_edges(d, graph, node, marks, box, inside);
        for (int j = 0; j < duet_op_attr_count(node->op); j++)
            if (node->op->attrs[j].kind == DUET_ATTR_BODY && node->attrs[j].body)
                draw_beside(d, duet_graph_of_body(node->attrs[j].body), node->op->attrs[j].name,
                            box);
    }
}

void duet_graph_print_dot(FILE *file, const duet_graph *graph) {
    char *edges = NULL;
    size_t length = 0;
    drawing d = {.file = file, .edges = open_memstream(&edges, &length)};
    mark *marks = calloc((size_t)graph->n_values + 1, sizeof *marks);
    if (d.edges && marks) {
        fputs("digraph duet {\n"
              "  graph [fontname=\"Helvetica\", fontsize=10, nodesep=0.3, ranksep=0.35, "
              "compound=true, style=rounded, color=\"#b0b8c4\"];\n"
              "  node [fontname=\"Helvetica\", fontsize=11, shape=box, style=\"rounded,filled\", "
              "color=\"#7f8fa6\", height=0.3, margin=\"0.12,0.05\"];\n"
              "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#7f8fa6\", "
              "fontcolor=\"#606060\", arrowsize=0.6];\n",
              file);
        mark_constants(graph, marks);
        draw_inputs(&d, graph, marks);
        draw_variables(&d, graph, marks);
        draw_nodes(&d, graph, marks, false);
        draw_results(&d, graph, marks);
        fflush(d.edges);
        fputs(edges, file);
        fputs("}\n", file);
    }
    free(marks);
    if (d.edges) fclose(d.edges);
    free(edges);
}
