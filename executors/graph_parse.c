/* Reads the text form (graph_print.c shows it). A fault is told as file:line:column: what was
 * expected. Value numbers in the text may be any; they are resolved by definition. */
#include "graph.h"

#include "core/attrs.h"
#include "graph_body.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>

extern const duet_op duet_op_constant;

enum { MAX_NESTING = 64 }; /* bodies inside bodies; what walks them does so by recursion */

typedef struct parser {
    const char *file, *text, *at;
    duet_graph *graph;
    int depth;    /* of the bodies in `graph`: 0 without any, 1 when those have none ... */
    int32_t *ids; /* per number in the text: value id + 1, 0 when not defined */
    int32_t n_ids;
    struct known {
        char *name;
        duet_graph *graph; /* owned until a node takes it as a body */
        int depth;
    } * graphs;
    int n_graphs;
} parser;

/* ---- faults and tokens -------------------------------------------------------------------------
 */

static duet_status fault(const parser *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static duet_status fault(const parser *p, const char *format, ...) {
    int line = 1, column = 1;
    for (const char *c = p->text; c < p->at; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return duet_fail(DUET_STATUS_FORMAT, "%s:%d:%d: %s", p->file, line, column, what);
}

/* Skips blanks and comments. */
static void skip(parser *p) {
    for (;; p->at++) {
        if (*p->at == '#') p->at += strcspn(p->at, "\n");
        if (!*p->at || !isspace((unsigned char)*p->at)) return;
    }
}

static const char *shown(const parser *p) { /* what came, for messages */
    static _Thread_local char text[24];
    size_t length = strcspn(p->at, " \n\t,(){}");
    if (length == 0 && *p->at && *p->at != '\n') length = 1;
    snprintf(text, sizeof text, "%.*s", (int)(length < 20 ? length : 20), p->at);
    return *text ? text : "the end of the line";
}

static bool accept(parser *p, const char *token) {
    skip(p);
    size_t length = strlen(token);
    if (strncmp(p->at, token, length) != 0) return false;
    p->at += length;
    return true;
}

static duet_status expect(parser *p, const char *token) {
    return accept(p, token) ? DUET_OK : fault(p, "expected \"%s\", got \"%s\"", token, shown(p));
}

/* A name: letters, digits, and any of "_.-". */
static duet_status name(parser *p, char *buffer, size_t room, const char *what) {
    skip(p);
    size_t length = 0;
    while (isalnum((unsigned char)p->at[length]) || (p->at[length] && strchr("_.-", p->at[length])))
        length++;
    if (length == 0 || length >= room) return fault(p, "expected %s, got \"%s\"", what, shown(p));
    memcpy(buffer, p->at, length);
    buffer[length] = '\0';
    p->at += length;
    return DUET_OK;
}

/* "%12": the number. */
static duet_status number(parser *p, int32_t *out) {
    TRY(expect(p, "%"));
    char *end;
    long value = isdigit((unsigned char)*p->at) ? strtol(p->at, &end, 10) : -1;
    if (value < 0 || value > 10000000)
        return fault(p, "expected a value's number, got \"%s\"", shown(p));
    p->at = end;
    *out = (int32_t)value;
    return DUET_OK;
}

/* "%12" where it must be defined: its id in the graph. */
static duet_status use(parser *p, int32_t *id) {
    skip(p);
    const char *begin = p->at;
    int32_t n;
    TRY(number(p, &n));
    if (n < p->n_ids && p->ids[n]) return *id = p->ids[n] - 1, DUET_OK;
    p->at = begin;
    return fault(p, "expected a value defined above, got %%%d", n);
}

/* "%12: f32[2]": a value that is being defined. */
static duet_status definition(parser *p, int32_t *n, duet_spec *spec) {
    skip(p);
    const char *begin = p->at;
    TRY(number(p, n));
    if (*n < p->n_ids && p->ids[*n]) {
        p->at = begin;
        return fault(p, "expected a new value, got %%%d again", *n);
    }
    TRY(expect(p, ":"));
    skip(p);
    if (!duet_spec_parse(spec, p->at, &p->at))
        return fault(p, "expected a type such as f32[2,3], got \"%s\"", shown(p));
    return DUET_OK;
}

static duet_status define(parser *p, int32_t n, int32_t id) {
    if (n >= p->n_ids) {
        int32_t room = 2 * n + 64;
        int32_t *larger = realloc(p->ids, (size_t)room * sizeof *larger);
        CHECK(larger, DUET_STATUS_MEMORY, "%s: no memory", p->file);
        memset(larger + p->n_ids, 0, (size_t)(room - p->n_ids) * sizeof *larger);
        p->ids = larger;
        p->n_ids = room;
    }
    p->ids[n] = id + 1;
    return DUET_OK;
}

/* ---- attributes --------------------------------------------------------------------------------
 */

/* An integer is told exactly or not at all: a value that i32 has not is a mistake in the text. */
static duet_status check_i32(const parser *p, double value, const char *end) {
    if (value >= INT32_MIN && value <= INT32_MAX && value == (int32_t)value) return DUET_OK;
    int length = end - p->at < 40 ? (int)(end - p->at) : 40;
    return fault(p, "expected an integer from %d to %d, got %.*s", INT32_MIN, INT32_MAX, length,
                 p->at);
}

static duet_status tensor_value(parser *p, duet_attr *out, const duet_spec *spec) {
    duet_tensor *t = duet_tensor_alloc(spec);
    if (!t) return duet_error_code();
    out->tensor = t;
    TRY(expect(p, "["));
    for (int64_t i = 0, count = duet_tensor_count(t); i < count; i++) {
        if (i) TRY(expect(p, ","));
        skip(p);
        char *end;
        double value = strtod(p->at, &end);
        if (end == p->at) return fault(p, "expected a number, got \"%s\"", shown(p));
        if (spec->dtype == DUET_I32) TRY(check_i32(p, value, end));
        if (spec->dtype == DUET_F32)
            ((float *)t->data)[i] = strtof(p->at, &end);
        else if (spec->dtype == DUET_F64)
            ((double *)t->data)[i] = value;
        else if (spec->dtype == DUET_I32)
            ((int32_t *)t->data)[i] = (int32_t)value;
        else
            ((uint8_t *)t->data)[i] = value != 0;
        p->at = end;
    }
    return expect(p, "]");
}

static duet_status body_value(parser *p, duet_attr *out) {
    char text[256];
    TRY(expect(p, "@"));
    const char *begin = p->at;
    TRY(name(p, text, sizeof text, "a graph's name"));
    for (int i = 0; i < p->n_graphs; i++) {
        if (strcmp(p->graphs[i].name, text) != 0) continue;
        int depth = p->graphs[i].depth + 1;
        if (depth > MAX_NESTING) {
            p->at = begin;
            return fault(p, "expected bodies nested at most %d deep, got %d: @%s", MAX_NESTING,
                         depth, text);
        }
        if (depth > p->depth) p->depth = depth;
        duet_graph *copy = duet_graph_copy(p->graphs[i].graph);
        out->body = copy ? duet_graph_body_new(copy) : NULL;
        return out->body ? DUET_OK : duet_error_code();
    }
    p->at = begin;
    return fault(p, "expected a graph defined above, got @%s", text);
}

/* A text in quotes, as print_quoted writes it; the caller frees it. */
static duet_status quoted(parser *p, char **text) {
    TRY(expect(p, "\""));
    char *to = *text = malloc(strcspn(p->at, "\n") + 1);
    CHECK(to, DUET_STATUS_MEMORY, "%s: no memory", p->file);
    for (; *p->at && *p->at != '"' && *p->at != '\n'; p->at++) {
        bool escaped = p->at[0] == '\\' && p->at[1] && p->at[1] != '\n';
        p->at += escaped;
        *to++ = escaped && *p->at == 'n' ? '\n' : *p->at;
    }
    *to = '\0';
    return expect(p, "\"");
}

/* Everything up to the , or } that ends the value, brackets respected. */
static duet_status bare(parser *p, char **text) {
    const char *end = p->at;
    for (int depth = 0; *end && *end != '\n'; end++) {
        if (depth == 0 && strchr(",}", *end)) break;
        depth += (*end == '[') - (*end == ']');
    }
    *text = strndup(p->at, (size_t)(end - p->at));
    CHECK(*text, DUET_STATUS_MEMORY, "%s: no memory", p->file);
    p->at = end;
    return DUET_OK;
}

static duet_status plain_value(parser *p, duet_attr *attrs, const duet_op *op, const char *key,
                               char **held) {
    skip(p);
    const char *begin = p->at;
    TRY(*begin == '"' ? quoted(p, held) : bare(p, held));
    if (duet_attr_parse(attrs, op, key, (int)strlen(key), *held) == DUET_OK) return DUET_OK;
    p->at = begin;
    return fault(p, "%s", duet_error_message());
}

static duet_status attribute(parser *p, duet_attr *attrs, const duet_op *op,
                             const duet_spec *result, unsigned *given, char **held) {
    char key[64];
    skip(p);
    const char *begin = p->at;
    TRY(name(p, key, sizeof key, "an attribute's name"));
    int index = 0, count = duet_op_attr_count(op);
    while (index < count && strcmp(op->attrs[index].name, key) != 0) index++;
    if (index == count || (*given >> index & 1)) {
        p->at = begin;
        return fault(p, index == count ? "%s has no attribute \"%s\"" : "%s: \"%s\" is given twice",
                     op->name, key);
    }
    TRY(expect(p, "="));
    duet_attr_kind kind = op->attrs[index].kind;
    if (kind == DUET_ATTR_TENSOR || kind == DUET_ATTR_BODY) *given |= 1u << index;
    if (kind == DUET_ATTR_TENSOR) return tensor_value(p, &attrs[index], result);
    if (kind == DUET_ATTR_BODY) return body_value(p, &attrs[index]);
    *given |= 1u << index;
    return plain_value(p, attrs, op, key, &held[index]);
}

static duet_status attributes(parser *p, duet_attr *attrs, const duet_op *op,
                              const duet_spec *result, unsigned *given, char **held) {
    if (accept(p, "{") && !accept(p, "}")) {
        do TRY(attribute(p, attrs, op, result, given, held));
        while (accept(p, ","));
        TRY(expect(p, "}"));
    }
    for (int i = 0; i < duet_op_attr_count(op); i++)
        if ((op->attrs[i].required || op->attrs[i].kind >= DUET_ATTR_TENSOR) && !(*given >> i & 1))
            return fault(p, "%s: expected the attribute \"%s\"", op->name, op->attrs[i].name);
    return DUET_OK;
}

/* ---- nodes and graphs ---------------------------------------------------------------------------
 */

typedef struct line {
    const char *begin;
    int32_t numbers[DUET_MAX_OUTPUTS];
    duet_spec specs[DUET_MAX_OUTPUTS];
    int n_out;
    const duet_op *op;
    int32_t in[DUET_MAX_INPUTS];
    int n_in;
    duet_attr attrs[DUET_MAX_ATTRS];
    char *held[DUET_MAX_ATTRS]; /* texts that attrs point to */
} line;

static duet_status inputs(parser *p, line *l) {
    TRY(expect(p, "("));
    if (accept(p, ")")) return DUET_OK;
    do {
        if (l->n_in == DUET_MAX_INPUTS)
            return fault(p, "expected at most %d inputs", DUET_MAX_INPUTS);
        TRY(use(p, &l->in[l->n_in++]));
    } while (accept(p, ","));
    return expect(p, ")");
}

/* The types in the text must be what the op infers. */
static duet_status add_line(parser *p, const line *l) {
    const duet_spec *specs[DUET_MAX_INPUTS];
    duet_spec inferred[DUET_MAX_OUTPUTS];
    int most = l->op->n_in_max ? l->op->n_in_max : l->op->n_in;
    p->at = l->begin;
    if (l->n_in < l->op->n_in || l->n_in > most)
        return fault(p, "%s: expected %d to %d inputs, got %d", l->op->name, l->op->n_in, most,
                     l->n_in);
    int n_out = duet_op_n_out(l->op, l->attrs);
    if (l->n_out != n_out)
        return fault(p, "%s: expected %d result%s, got %d", l->op->name, n_out,
                     n_out == 1 ? "" : "s", l->n_out);
    for (int i = 0; i < l->n_in; i++) specs[i] = &p->graph->values[l->in[i]].spec;
    if (l->op->infer(inferred, &(duet_op_call){l->op, l->attrs, specs, l->n_in}) != DUET_OK)
        return fault(p, "%s", duet_error_message());
    for (int i = 0; i < l->n_out; i++)
        if (!duet_spec_equal(&inferred[i], &l->specs[i]))
            return fault(p, "expected %%%d to be %s, got %s", l->numbers[i],
                         DUET_SPEC_TEXT(&inferred[i]), DUET_SPEC_TEXT(&l->specs[i]));
    int32_t node =
        duet_graph_add_node(p->graph, l->op, l->attrs, l->in, l->n_in, inferred, l->n_out);
    TRY(duet_graph_ok(p->graph));
    for (int i = 0; i < l->n_out; i++) TRY(define(p, l->numbers[i], p->graph->nodes[node].out + i));
    return DUET_OK;
}

static duet_status variable(parser *p, line *l) {
    char **text = &l->held[0]; /* freed with the line */
    TRY(quoted(p, text));
    duet_scope_open();
    duet_tensor *zeros = duet_zeros(l->specs[0].shape, (duet_dtype)l->specs[0].dtype);
    duet_tensor *fresh = zeros ? duet_variable_new(**text ? *text : NULL, zeros) : NULL;
    duet_scope_close(NULL);
    if (!fresh) return duet_error_code();
    int32_t id = duet_graph_add_variable(p->graph, fresh);
    duet_release(fresh); /* the graph holds it */
    TRY(duet_graph_ok(p->graph));
    return define(p, l->numbers[0], id);
}

static duet_status node_line(parser *p, line *l) {
    char text[64];
    unsigned given = 0;
    skip(p);
    l->begin = p->at;
    if (*p->at == '%') {
        do {
            if (l->n_out == DUET_MAX_OUTPUTS)
                return fault(p, "expected at most %d results", l->n_out);
            TRY(definition(p, &l->numbers[l->n_out], &l->specs[l->n_out]));
            l->n_out++;
        } while (accept(p, ","));
        TRY(expect(p, "="));
    }
    skip(p);
    const char *op_begin = p->at;
    TRY(name(p, text, sizeof text, "an op's name"));
    if (strcmp(text, "variable") == 0 && l->n_out == 1) return variable(p, l);
    l->op = duet_op_find(text);
    if (!l->op) {
        p->at = op_begin;
        return fault(p, "%s", duet_error_message());
    }
    duet_attrs_init(l->attrs, l->op);
    TRY(inputs(p, l));
    TRY(attributes(p, l->attrs, l->op, &l->specs[0], &given, l->held));
    const char *end = p->at;
    TRY(add_line(p, l));
    p->at = end;
    return DUET_OK;
}

static duet_status node(parser *p) {
    line l = {0};
    duet_status status = node_line(p, &l);
    for (int i = 0; i < DUET_MAX_ATTRS; i++) {
        free(l.held[i]);
        if (!l.op || i >= duet_op_attr_count(l.op)) continue;
        if (l.op->attrs[i].kind == DUET_ATTR_TENSOR) duet_release(l.attrs[i].tensor);
        if (l.op->attrs[i].kind == DUET_ATTR_BODY) duet_body_release(l.attrs[i].body);
    }
    return status;
}

static duet_status graph_head(parser *p, char *text, size_t room) {
    TRY(expect(p, "graph"));
    TRY(expect(p, "@"));
    TRY(name(p, text, room, "the graph's name"));
    p->graph = duet_graph_new(text);
    if (!p->graph) return DUET_STATUS_MEMORY;
    if (p->n_ids) memset(p->ids, 0, (size_t)p->n_ids * sizeof *p->ids);
    TRY(expect(p, "("));
    if (accept(p, ")")) return expect(p, "{");
    do {
        int32_t n;
        duet_spec spec;
        TRY(definition(p, &n, &spec));
        TRY(define(p, n, duet_graph_add_input(p->graph, &spec)));
    } while (accept(p, ","));
    TRY(expect(p, ")"));
    return expect(p, "{");
}

static duet_status one_graph(parser *p, char *text, size_t room) {
    TRY(graph_head(p, text, room));
    while (!accept(p, "return")) TRY(node(p));
    if (!accept(p, "}")) {
        do {
            int32_t id = 0;
            TRY(use(p, &id));
            if (p->graph->values[id].kind == DUET_VALUE_VARIABLE)
                return fault(p, "expected a value, got a variable: read it first");
            duet_graph_add_result(p->graph, id);
        } while (accept(p, ","));
        TRY(expect(p, "}"));
    }
    TRY(duet_graph_compact(p->graph));
    if (duet_graph_verify(p->graph) != DUET_OK) return fault(p, "%s", duet_error_message());
    return DUET_OK;
}

static duet_status keep_graph(parser *p, const char *text) {
    struct known *larger = realloc(p->graphs, ((size_t)p->n_graphs + 1) * sizeof *larger);
    CHECK(larger, DUET_STATUS_MEMORY, "%s: no memory", p->file);
    p->graphs = larger;
    char *copy = strdup(text);
    CHECK(copy, DUET_STATUS_MEMORY, "%s: no memory", p->file);
    p->graphs[p->n_graphs++] = (struct known){copy, p->graph, p->depth};
    p->graph = NULL;
    p->depth = 0;
    return DUET_OK;
}

static duet_status all_graphs(parser *p) {
    char text[256];
    do {
        if (p->graph) TRY(keep_graph(p, text));
        TRY(one_graph(p, text, sizeof text));
        skip(p);
    } while (*p->at);
    return DUET_OK;
}

duet_graph *duet_graph_parse(const char *text, const char *file_name) {
    if (!text) {
        duet_fail(DUET_STATUS_ARGUMENT, "graph_parse: text is NULL");
        return NULL;
    }
    parser p = {.file = file_name ? file_name : "graph", .text = text, .at = text};
    duet_status status = all_graphs(&p);
    for (int i = 0; i < p.n_graphs; i++) {
        free(p.graphs[i].name);
        duet_graph_free(p.graphs[i].graph);
    }
    free(p.graphs);
    free(p.ids);
    if (status == DUET_OK) return p.graph;
    duet_graph_free(p.graph);
    return NULL;
}
