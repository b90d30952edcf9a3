#include "command.h"
#include "options.h"

#include "core/attrs.h"

#include <stdio.h>

typedef struct line {
    char chars[512];
} line;

/* "x, y" or "x, x, ..." as they stand in a call. */
static const char *inputs_text(line *out, const duet_op *op) {
    int used = 0;
    out->chars[0] = '\0';
    for (int i = 0; i < op->n_in && i < 8; i++)
        used += snprintf(out->chars + used, sizeof out->chars - (size_t)used, "%s%s", i ? ", " : "",
                         duet_op_input_name(op, i));
    if (op->n_in_max > op->n_in)
        snprintf(out->chars + used, sizeof out->chars - (size_t)used, "%s",
                 op->n_in ? ", ..." : "...");
    return out->chars;
}

static int value_text(char *to, size_t room, const duet_attr_spec *spec) {
    if (spec->kind == DUET_ATTR_FLOAT) return snprintf(to, room, "%g", spec->initial.f);
    return duet_attr_text(to, room, spec->kind, &spec->initial);
}

/* "axes=[], keepdims=false"; an attribute that must be given stands without a value. */
static const char *attrs_text(line *out, const duet_op *op) {
    int used = 0;
    out->chars[0] = '\0';
    for (int i = 0; i < duet_op_attr_count(op); i++) {
        const duet_attr_spec *spec = &op->attrs[i];
        char value[160] = "";
        if (!spec->required) value_text(value, sizeof value, spec);
        used += snprintf(out->chars + used, sizeof out->chars - (size_t)used, "%s%s%s%s",
                         i ? ", " : "", spec->name, spec->required ? "" : "=", value);
        if (used >= (int)sizeof out->chars) break;
    }
    return out->chars;
}

static void list_all(void) {
    printf("  %-15s %-18s %-36s %s\n", "op", "inputs", "attributes", "what it computes");
    for (int i = 0; i < duet_op_count(); i++) {
        const duet_op *op = duet_op_at(i);
        printf("  %-15s %-18s %-36s %s\n", op->name, inputs_text(&(line){0}, op),
               attrs_text(&(line){0}, op), op->doc);
    }
}

static void print_traits(const duet_op *op) {
    static const struct {
        uint32_t bit;
        const char *text;
    } traits[] = {
        {DUET_OP_INPLACE, "in place"},         {DUET_OP_VIEW, "shares storage"},
        {DUET_OP_REDUCTION, "reduction"},      {DUET_OP_CONTRACTION, "contraction"},
        {DUET_OP_STATEFUL, "has state"},       {DUET_OP_BY_REFERENCE, "variables by reference"},
        {DUET_OP_SHAPE_ONLY, "reads a shape"}, {DUET_OP_IDENTITY, "keeps an input of equal spec"},
        {DUET_OP_INVOLUTION, "undoes itself"}, {DUET_OP_IDEMPOTENT, "twice is once"},
    };
    printf("  traits      %s", op->elementwise ? "elementwise, " : "");
    for (size_t i = 0; i < sizeof traits / sizeof *traits; i++)
        if (op->traits & traits[i].bit) printf("%s, ", traits[i].text);
    printf("%s\n", op->grad ? "differentiable" : "without gradient");
}

static void show(const duet_op *op) {
    const char *attrs = attrs_text(&(line){0}, op);
    printf("%s(%s%s%s)\n  %s\n\n", op->name, inputs_text(&(line){0}, op), *attrs ? "; " : "", attrs,
           op->doc);
    if (op->n_in_max > op->n_in)
        printf("  inputs      %d to %d\n", op->n_in, op->n_in_max);
    else
        printf("  inputs      %d\n", op->n_in);
    if (op->n_out >= 0)
        printf("  outputs     %d\n", op->n_out);
    else
        printf("  outputs     as many as its sub-graph has\n");
    print_traits(op);
    for (int i = 0; i < duet_op_attr_count(op); i++) {
        const duet_attr_spec *spec = &op->attrs[i];
        char value[160] = "to be given";
        if (!spec->required) value_text(value, sizeof value, spec);
        printf("  attribute   %s: %s (%s)\n", spec->name, duet_attr_kind_name(spec->kind), value);
    }
    for (int i = 0; i < op->n_in && i < DUET_MAX_INPUTS; i++)
        if (op->writes >> i & 1)
            printf("  writes      %s, a variable\n", duet_op_input_name(op, i));
    for (int i = 0; i < DUET_MAX_SAMPLES && op->samples[i]; i++)
        printf("  for example %s\n", op->samples[i]);
}

static duet_status run(command_result *result, int argc, char **argv) {
    (void)result;
    words names = {0};
    TRY(options_parse((option[]){{0}}, &names, "ops", argc, argv));
    for (int i = 0; i < names.count; i++)
        if (!duet_op_find(names.at[i])) return duet_error_code();
    for (int i = 0; i < names.count; i++) {
        if (i) putchar('\n');
        show(duet_op_find(names.at[i]));
    }
    if (!names.count) list_all();
    return DUET_OK;
}

const command command_ops = {
    .name = "ops",
    .usage = "[NAME ...]",
    .summary = "The ops there are; with names: all about these",
    .help = "Attributes are shown as `duet op` takes them, with the value they have when nothing\n"
            "is said; those without a value must be given.\n",
    .run = run,
};
