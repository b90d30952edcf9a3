/* Reads the text form (graph_print.c shows it). A fault is told as file:line:column: what was
 * expected. Value numbers in the text may be any; they are resolved by definition. */
#include "graph.h"

#include "core/attrs.h"
#include "graph_body.h"
#include "graph_lex.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

extern const duet_op duet_op_constant;

#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* some editors begin a file with it */

enum {
    MAX_NESTING = 64,      /* bodies inside bodies; what walks them does so by recursion */
    MAX_NUMBER = 10000000, /* of a value: there is a table with a place for each */
};

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

static duet_status fail_here(const parser *p, duet_status code, const char *what) {
    int line = 1, column = 1;
    for (const char *c = p->text; c < p->at; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    return duet_fail(code, "%s:%d:%d: %s", p->file, line, column, what);
}

static duet_status fault(const parser *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static duet_status fault(const parser *p, const char *format, ...) {
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return fail_here(p, DUET_STATUS_FORMAT, what);
}

/* What has failed elsewhere, and keeps its code, failed for what the text says here. */
static duet_status failed_for_this(const parser *p) {
    duet_error why;
    duet_error_save(&why);
    return fail_here(p, why.code, why.message);
}

/* Skips blanks and comments. */
static void skip(parser *p) {
    for (;; p->at++) {
        if (*p->at == '#') p->at += strcspn(p->at, "\n");
        if (!*p->at || !isspace((unsigned char)*p->at)) return;
    }
}

/* What came, for messages. */
static const char *shown(const parser *p) { return duet_lex_shown(p->at, " \r\n\t,(){}", 20); }

static bool accept(parser *p, const char *token) {
    skip(p);
    size_t length = strlen(token);
    if (strncmp(p->at, token, length) != 0) return false;
    p->at += length;
    return true;
}

static duet_status expect(parser *p, const char *token) {
    return accept(p, token) ? DUET_OK : fault(p, "expected \"%s\", got %s", token, shown(p));
}

/* Behind an item of a list, none of which follows. */
static duet_status expect_end(parser *p, const char *token) {
    if (accept(p, token)) return DUET_OK;
    return fault(p, "expected \",\" or \"%s\", got %s", token, shown(p));
}

/* A name: letters, digits, and any of "_.-". */
static duet_status name(parser *p, char *buffer, size_t room, const char *what) {
    skip(p);
    size_t length = 0;
    while (isalnum((unsigned char)p->at[length]) || (p->at[length] && strchr("_.-", p->at[length])))
        length++;
    if (length == 0 || length >= room) return fault(p, "expected %s, got %s", what, shown(p));
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
    if (value < 0 || value > MAX_NUMBER)
        return fault(p, "expected a value's number from 0 to %d, got %s", MAX_NUMBER, shown(p));
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
    if (duet_spec_parse(spec, p->at, &p->at)) return DUET_OK;
    return fault(p,
                 "expected a type such as f32[2,3] (f32, f64, i32 or bool; up to %d dimensions), "
                 "got %s",
                 DUET_MAX_RANK, duet_lex_shown(p->at, " \r\n\t(){}:=", 40));
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

/* What has elements while the text is read. */
static duet_status expect_known(const parser *p, const duet_spec *spec) {
    if (!duet_shape_is_free(&spec->shape)) return DUET_OK;
    return fault(p, "expected every dimension to be a number here, got %s", DUET_SPEC_TEXT(spec));
}

static duet_status tensor_value(parser *p, duet_attr *out, const duet_spec *spec) {
    TRY(expect_known(p, spec));
    duet_tensor *t = duet_tensor_alloc(spec);
    if (!t) return failed_for_this(p);
    out->tensor = t;
    TRY(expect(p, "["));
    int64_t count = duet_tensor_count(t);
    size_t size = duet_dtype_size(duet_tensor_dtype(t));
    for (int64_t i = 0; i < count; i++) {
        if (i && !accept(p, ","))
            return fault(p, "expected %" PRId64 " numbers for %s, got %" PRId64, count,
                         DUET_SPEC_TEXT(spec), i);
        skip(p);
        char *to = (char *)t->data + (size_t)i * size;
        const char *expected = duet_lex_number(to, duet_tensor_dtype(t), &p->at);
        if (expected)
            return fault(p, "expected %s, got %s", expected,
                         duet_lex_shown(p->at, " \r\n\t,[]{}", 40));
    }
    if (accept(p, "]")) return DUET_OK;
    return fault(p, "expected \"]\" behind %" PRId64 " numbers for %s, got %s", count,
                 DUET_SPEC_TEXT(spec), shown(p));
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

/* A text in quotes; the caller frees it. */
static duet_status quoted(parser *p, char **text) {
    skip(p);
    const char *expected = duet_lex_quoted(text, &p->at);
    if (expected) return fault(p, "expected %s, got %s", expected, shown(p));
    CHECK(*text, DUET_STATUS_MEMORY, "%s: no memory", p->file);
    return DUET_OK;
}

static duet_status plain_value(parser *p, duet_attr *attrs, const duet_op *op, const char *key,
                               char **held) {
    skip(p);
    const char *begin = p->at;
    if (*begin == '"') {
        TRY(quoted(p, held));
    } else {
        *held = strndup(begin, duet_lex_bare(begin));
        CHECK(*held, DUET_STATUS_MEMORY, "%s: no memory", p->file);
        p->at += strlen(*held);
    }
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
        if (index < count) return fault(p, "%s: \"%s\" is given twice", op->name, key);
        (void)duet_attr_parse(attrs, op, key, (int)strlen(key), ""); /* tells those that it has */
        return fault(p, "%s", duet_error_message());
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
    const char *begin = p->at;
    if (accept(p, "{") && !accept(p, "}")) {
        do TRY(attribute(p, attrs, op, result, given, held));
        while (accept(p, ","));
        TRY(expect_end(p, "}"));
    }
    for (int i = 0; i < duet_op_attr_count(op); i++) {
        bool required = op->attrs[i].required || op->attrs[i].kind >= DUET_ATTR_TENSOR;
        if (!required || (*given >> i & 1)) continue;
        p->at = begin;
        return fault(p, "%s: expected the attribute \"%s\"", op->name, op->attrs[i].name);
    }
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

/* An input: a variable itself where the op reads or writes it, else a value. */
static duet_status input(parser *p, line *l) {
    skip(p);
    const char *begin = p->at;
    if (l->n_in == DUET_MAX_INPUTS) return fault(p, "expected at most %d inputs", DUET_MAX_INPUTS);
    int i = l->n_in++;
    TRY(use(p, &l->in[i]));
    bool wanted = (l->op->writes >> i & 1) || (l->op->traits & DUET_OP_BY_REFERENCE);
    bool variable = p->graph->values[l->in[i]].kind == DUET_VALUE_VARIABLE;
    if (variable == wanted) return DUET_OK;
    p->at = begin;
    return fault(p,
                 wanted ? "%s: %s: expected a variable, got a value"
                        : "%s: %s: expected a value, got a variable: read it first",
                 l->op->name, duet_op_input_name(l->op, i));
}

static duet_status inputs(parser *p, line *l) {
    TRY(expect(p, "("));
    if (accept(p, ")")) return DUET_OK;
    do TRY(input(p, l));
    while (accept(p, ","));
    return expect_end(p, ")");
}

static duet_status check_arity(const parser *p, const line *l) {
    const duet_op *op = l->op;
    int most = op->n_in_max ? op->n_in_max : op->n_in;
    int n_out = duet_op_n_out(op, l->attrs);
    char range[16] = "";
    if (most > op->n_in) snprintf(range, sizeof range, " to %d", most);
    if (l->n_in < op->n_in || l->n_in > most)
        return fault(p, "%s: expected %d%s input%s, got %d", op->name, op->n_in, range,
                     most == 1 ? "" : "s", l->n_in);
    if (l->n_out != n_out)
        return fault(p, "%s: expected %d result%s, got %d", op->name, n_out, n_out == 1 ? "" : "s",
                     l->n_out);
    return DUET_OK;
}

/* The types in the text must be what the op infers. */
static duet_status add_line(parser *p, const line *l) {
    const duet_spec *specs[DUET_MAX_INPUTS];
    duet_spec inferred[DUET_MAX_OUTPUTS];
    p->at = l->begin;
    TRY(check_arity(p, l));
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
    TRY(expect_known(p, &l->specs[0]));
    TRY(quoted(p, text));
    duet_scope_open();
    duet_tensor *zeros = duet_zeros(l->specs[0].shape, (duet_dtype)l->specs[0].dtype);
    duet_tensor *fresh = zeros ? duet_variable_new(**text ? *text : NULL, zeros) : NULL;
    duet_scope_close(NULL);
    if (!fresh) return failed_for_this(p);
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
    TRY(name(p, text, sizeof text, l->n_out ? "an op's name" : "an op's name or \"return\""));
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
    const char *begin = p->at;
    TRY(name(p, text, room, "the graph's name"));
    for (int i = 0; i < p->n_graphs; i++) {
        if (strcmp(p->graphs[i].name, text) != 0) continue;
        p->at = begin;
        return fault(p, "expected a new graph's name, got @%s again", text);
    }
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
    TRY(expect_end(p, ")"));
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
        TRY(expect_end(p, "}"));
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
    if (strncmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0)
        p.text = p.at = text + strlen(BYTE_ORDER_MARK);
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
