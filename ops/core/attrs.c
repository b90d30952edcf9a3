#include "core/attrs.h"

#include "core/body.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const char *duet_attr_kind_name(duet_attr_kind kind) {
    static const char *const names[] = {"none",     "true or false", "an integer",
                                        "a number", "a dtype",       "up to 6 integers like [0,1]",
                                        "text",     "a tensor",      "a sub-graph"};
    return names[kind];
}

void duet_attrs_init(duet_attr *attrs, const duet_op *op) {
    for (int i = 0; i < duet_op_attr_count(op); i++) attrs[i] = op->attrs[i].initial;
}

void duet_attrs_copy(duet_attr *to, const duet_op *op, const duet_attr *from) {
    for (int i = 0; i < duet_op_attr_count(op); i++) {
        to[i] = from[i];
        switch (op->attrs[i].kind) {
        case DUET_ATTR_TEXT: to[i].text = from[i].text ? strdup(from[i].text) : NULL; break;
        case DUET_ATTR_TENSOR: duet_keep(to[i].tensor); break;
        case DUET_ATTR_BODY: duet_body_keep(to[i].body); break;
        default: break;
        }
    }
}

void duet_attrs_release(duet_attr *attrs, const duet_op *op) {
    for (int i = 0; i < duet_op_attr_count(op); i++) {
        switch (op->attrs[i].kind) {
        case DUET_ATTR_TEXT: free((char *)attrs[i].text); break;
        case DUET_ATTR_TENSOR: duet_release(attrs[i].tensor); break;
        case DUET_ATTR_BODY: duet_body_release(attrs[i].body); break;
        default: break;
        }
    }
}

static bool parse_int(int64_t *out, const char *text, char **end) {
    errno = 0;
    *out = strtoll(text, end, 10);
    return *end != text && errno == 0;
}

static bool parse_ints(duet_ints *out, const char *text) {
    duet_ints ints = {0};
    bool listed = *text == '[';
    const char *at = text + listed;
    while (listed && isspace((unsigned char)*at)) at++;
    if (listed && *at == ']') return *out = ints, at[1] == '\0';
    for (;;) {
        char *end;
        if (ints.count == DUET_MAX_RANK) return false;
        if (!parse_int(&ints.at[ints.count++], at, &end)) return false;
        for (at = end; isspace((unsigned char)*at); at++) {
        }
        if (!listed) break;
        if (*at == ']') {
            at++;
            break;
        }
        if (*at++ != ',') return false;
    }
    *out = ints;
    return *at == '\0';
}

static bool parse_value(duet_attr *out, duet_attr_kind kind, const char *text) {
    char *end = NULL;
    switch (kind) {
    case DUET_ATTR_BOOL:
        out->b = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
        return out->b || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
    case DUET_ATTR_INT: return parse_int(&out->i, text, &end) && *end == '\0';
    case DUET_ATTR_FLOAT: out->f = strtod(text, &end); return end != text && *end == '\0';
    case DUET_ATTR_DTYPE: return duet_dtype_parse(&out->dtype, text);
    case DUET_ATTR_INTS: return parse_ints(&out->ints, text);
    case DUET_ATTR_TEXT: out->text = text; return true;
    default: return false;
    }
}

duet_status duet_attr_parse(duet_attr *attrs, const duet_op *op, const char *name, int length,
                            const char *text) {
    char known[256] = "";
    size_t used = 0;
    for (int i = 0; i < duet_op_attr_count(op); i++) {
        const duet_attr_spec *spec = &op->attrs[i];
        if ((int)strlen(spec->name) == length && strncmp(spec->name, name, (size_t)length) == 0) {
            duet_attr value = {0};
            CHECK(parse_value(&value, spec->kind, text), DUET_STATUS_ARGUMENT,
                  "%s: attribute %s: expected %s, got \"%.80s\"", op->name, spec->name,
                  duet_attr_kind_name(spec->kind), text);
            attrs[i] = value;
            return DUET_OK;
        }
        if (used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                                     spec->name);
    }
    return duet_fail(DUET_STATUS_NOT_FOUND, "%s: no attribute \"%.*s\"; it has %s", op->name,
                     length, name, *known ? known : "none");
}

static int ints_text(char *buffer, size_t room, const duet_ints *ints) {
    char text[DUET_MAX_RANK * 22 + 3] = "[";
    int used = 1;
    for (int64_t i = 0; i < ints->count; i++)
        used += sprintf(text + used, "%s%" PRId64, i ? "," : "", ints->at[i]);
    return snprintf(buffer, room, "%s]", text);
}

int duet_attr_text(char *buffer, size_t room, duet_attr_kind kind, const duet_attr *value) {
    switch (kind) {
    case DUET_ATTR_BOOL: return snprintf(buffer, room, "%s", value->b ? "true" : "false");
    case DUET_ATTR_INT: return snprintf(buffer, room, "%" PRId64, value->i);
    case DUET_ATTR_FLOAT: return snprintf(buffer, room, "%.17g", value->f);
    case DUET_ATTR_DTYPE: return snprintf(buffer, room, "%s", duet_dtype_name(value->dtype));
    case DUET_ATTR_INTS: return ints_text(buffer, room, &value->ints);
    case DUET_ATTR_TEXT: return snprintf(buffer, room, "\"%s\"", value->text ? value->text : "");
    default: return snprintf(buffer, room, "?");
    }
}

bool duet_attr_equal(duet_attr_kind kind, const duet_attr *a, const duet_attr *b) {
    switch (kind) {
    case DUET_ATTR_BOOL: return a->b == b->b;
    case DUET_ATTR_INT: return a->i == b->i;
    case DUET_ATTR_FLOAT: return memcmp(&a->f, &b->f, sizeof a->f) == 0; /* by bits */
    case DUET_ATTR_DTYPE: return a->dtype == b->dtype;
    case DUET_ATTR_INTS:
        return a->ints.count == b->ints.count &&
               memcmp(a->ints.at, b->ints.at, (size_t)a->ints.count * sizeof *a->ints.at) == 0;
    case DUET_ATTR_TEXT: return strcmp(a->text ? a->text : "", b->text ? b->text : "") == 0;
    case DUET_ATTR_TENSOR:
        return a->tensor == b->tensor ||
               (duet_spec_equal(&a->tensor->spec, &b->tensor->spec) &&
                memcmp(a->tensor->data, b->tensor->data, duet_spec_bytes(&a->tensor->spec)) == 0);
    case DUET_ATTR_BODY: return a->body == b->body;
    case DUET_ATTR_NONE: return true;
    }
    return false;
}
