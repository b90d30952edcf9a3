#include "core/sample.h"

#include "core/attrs.h"

static const char *skip(const char *at, const char *these) { return at + strspn(at, these); }

static duet_status parse_inputs(duet_sample *out, const duet_op *op, const char *at) {
    for (at = skip(at, " "); *at; at = skip(at, " ,")) {
        bool variable = strncmp(at, "var ", 4) == 0;
        CHECK(out->n_in < DUET_MAX_INPUTS &&
                  duet_spec_parse(&out->specs[out->n_in], at + (variable ? 4 : 0), &at),
              DUET_STATUS_FORMAT, "%s: sample: expected an input like f32[3,4], got \"%s\"",
              op->name, at);
        out->variables |= (uint64_t)variable << out->n_in++;
    }
    return DUET_OK;
}

/* Ends the attribute at `at` with a 0; returns where the next one begins. */
static char *cut(char *at) {
    for (int depth = 0; *at; at++) {
        depth += (*at == '[') - (*at == ']');
        if (*at == ',' && depth == 0) {
            *at = '\0';
            return at + 1;
        }
    }
    return at;
}

static duet_status parse_attrs(duet_sample *out, const duet_op *op, char *at) {
    for (char *next; *(at = (char *)skip(at, " ")); at = next) {
        next = cut(at);
        char *equals = strchr(at, '=');
        CHECK(equals, DUET_STATUS_FORMAT, "%s: sample: expected name=value, got \"%s\"", op->name,
              at);
        TRY(duet_attr_parse(out->attrs, op, at, (int)(equals - at), equals + 1));
    }
    return DUET_OK;
}

duet_status duet_sample_parse(duet_sample *out, const duet_op *op, const char *text) {
    CHECK(strlen(text) < sizeof out->text, DUET_STATUS_FORMAT,
          "%s: sample: expected at most %zu characters", op->name, sizeof out->text - 1);
    out->n_in = 0;
    out->variables = 0;
    strcpy(out->text, text);
    duet_attrs_init(out->attrs, op);
    char *attrs = strchr(out->text, ';');
    if (attrs) *attrs++ = '\0';
    TRY(parse_inputs(out, op, out->text));
    return attrs ? parse_attrs(out, op, attrs) : DUET_OK;
}
