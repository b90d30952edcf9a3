#include "command.h"
#include "graph_file.h"
#include "lesson.h"
#include "options.h"

#include "near.h"
#include "passes.h"
#include "plan.h"
#include "settings.h"

#include <inttypes.h>
#include <stdio.h>

static duet_graph *load(const char *word) {
    if (is_graph_file(word)) return graph_file_read(word);
    const lesson *l = lesson_find(word);
    return l ? lesson_trace(l) : NULL;
}

/* ---- the pipeline ------------------------------------------------------------------------------
 */

static const duet_pass *find_pass(const char *name) {
    duet_near near = {.name = name};
    for (const duet_pass *pass = duet_passes; pass->name; pass++) {
        if (strcmp(pass->name, name) == 0) return pass;
        duet_near_offer(&near, pass->name);
    }
    static const char expected[] = "graph: --pass: expected none, all or a pass, got";
    if (near.nearest)
        duet_fail(DUET_STATUS_NOT_FOUND, "%s \"%s\"; did you mean \"%s\"?", expected, name,
                  near.nearest);
    else
        duet_fail(DUET_STATUS_NOT_FOUND, "%s \"%s\"; --pass all lists them", expected, name);
    return NULL;
}

static bool until(const duet_pass_report *row, void *last) { return row->pass != last; }

static const char *bits_text(const duet_pass *pass) {
    return pass->value_changing ? "changed" : "kept";
}

static bool print_row(const duet_pass_report *row, void *unused) {
    (void)unused;
    printf("  %-11s", row->pass->name);
    if (row->on)
        printf(" %5d -> %-5d %5d -> %-5d %9.1f  %-8s %-12s %s\n", row->nodes_before,
               row->nodes_after, row->constants_before, row->constants_after, row->us,
               bits_text(row->pass), row->changed ? "" : "(unchanged)", row->pass->doc);
    else
        printf(" %-59s %s\n", "switched off by DUET_PASSES", row->pass->doc);
    return true;
}

/* What the planner makes of it: the rows of passes that are its own, then the plan's totals. */
static void print_planner_rows(const duet_plan *plan) {
    const struct {
        const char *name, *one, *many;
        int32_t count;
    } rows[] = {
        {"fork", "fork", "forks", duet_plan_count_forks(plan)},
        {"inplace", "result over an input", "results over an input",
         duet_plan_count_in_place(plan)},
    };
    char what[64];
    for (const duet_pass *pass = duet_passes; pass->name; pass++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            if (strcmp(rows[i].name, pass->name) != 0) continue;
            snprintf(what, sizeof what, "%d %s", rows[i].count,
                     rows[i].count == 1 ? rows[i].one : rows[i].many);
            printf("  %-11s %-39s  %-8s %12s %s\n", pass->name,
                   duet_setting_pass_on(pass->name) ? what : "switched off by DUET_PASSES",
                   bits_text(pass), "", pass->doc);
        }
    snprintf(what, sizeof what, "%d step%s", plan->n_steps, plan->n_steps == 1 ? "" : "s");
    printf("  %-11s %-39s  %-8s %12s arena %" PRId64 " bytes, the largest live set %" PRId64 "\n",
           "plan", what, "kept", "", plan->arena_bytes, plan->lower_bound);
}

static duet_plan *plan_of(const duet_graph *graph) {
    for (int32_t i = 0; i < graph->n_inputs; i++) {
        const duet_spec *spec = &graph->values[graph->inputs[i]].spec;
        if (!duet_shape_is_free(&spec->shape)) continue;
        duet_fail(DUET_STATUS_SHAPE, "graph: a plan needs every dimension; input %d is %s", i,
                  DUET_SPEC_TEXT(spec));
        return NULL;
    }
    duet_graph *copy = duet_graph_copy(graph);
    return copy ? duet_plan_new(copy) : NULL;
}

/* Every pass with a row of its own; the graph is left as they made it. */
static duet_status tabulate(duet_graph *graph) {
    printf("  %-11s %-14s %-14s %9s  %-8s %-12s %s\n", "pass", "nodes", "constants", "us", "bits",
           "", "what it does");
    TRY(duet_run_passes_watched(graph, print_row, NULL));
    bool known = true;
    for (int32_t i = 0; i < graph->n_inputs; i++)
        known &= !duet_shape_is_free(&graph->values[graph->inputs[i]].spec.shape);
    duet_plan *plan = known ? plan_of(graph) : NULL;
    if (known && !plan) return duet_error_code();
    if (plan) print_planner_rows(plan);
    duet_plan_free(plan);
    putchar('\n');
    return DUET_OK;
}

static duet_status transform(duet_graph *graph, const char *pass) {
    if (!pass) return duet_run_passes(graph);
    if (strcmp(pass, "none") == 0) return DUET_OK;
    if (strcmp(pass, "all") == 0) return tabulate(graph);
    const duet_pass *last = find_pass(pass);
    if (!last) return duet_error_code();
    return duet_run_passes_watched(graph, until, (void *)last);
}

/* ---- formats -----------------------------------------------------------------------------------
 */

static duet_status show_text(const duet_graph *graph) {
    duet_graph_print(stdout, graph);
    return DUET_OK;
}

static duet_status show_dot(const duet_graph *graph) {
    duet_graph_print_dot(stdout, graph);
    return DUET_OK;
}

static duet_status show_plan(const duet_graph *graph) {
    duet_plan *plan = plan_of(graph);
    if (!plan) return duet_error_code();
    duet_plan_print(stdout, plan);
    duet_plan_free(plan);
    return DUET_OK;
}

static const struct format {
    const char *name;
    duet_status (*show)(const duet_graph *graph);
} formats[] = {{"text", show_text}, {"dot", show_dot}, {"plan", show_plan}, {0}};

static duet_status run(command_result *result, int argc, char **argv) {
    (void)result;
    words rest = {0};
    const char *pass = NULL, *format = "text";
    const option options[] = {
        {"--pass", OPTION_TEXT, &pass, 0, 0},
        {"--format", OPTION_TEXT, &format, 0, 0},
        {0},
    };
    TRY(options_parse(options, &rest, "graph", argc, argv));
    CHECK(rest.count == 1, DUET_STATUS_ARGUMENT,
          "graph: expected one lesson or FILE.graph, got %d words", rest.count);
    const struct format *f = formats;
    while (f->name && strcmp(f->name, format) != 0) f++;
    CHECK(f->name, DUET_STATUS_ARGUMENT, "graph: --format: expected text, dot or plan, got \"%s\"",
          format);
    CHECK(f->show != show_dot || !pass || strcmp(pass, "all") != 0, DUET_STATUS_ARGUMENT,
          "graph: --pass all prints a table, which is no dot: expected a pass's name");
    duet_graph *graph = load(rest.at[0]);
    if (!graph) return duet_error_code();
    duet_status status = transform(graph, pass);
    if (status == DUET_OK) status = f->show(graph);
    duet_graph_free(graph);
    return status;
}

const command command_graph = {
    .name = "graph",
    .usage = "LESSON|FILE.graph [--pass NAME|none|all] [--format text|dot|plan]",
    .summary = "The graph that a lesson is traced to, before and after each pass",
    .help = "  --pass NAME    stop after that pass; none: as traced; all: a row for each pass\n"
            "  --format NAME  text (default), which parses back: `duet run` takes it;\n"
            "                 dot for Graphviz; plan: steps, buffers and their lifetimes\n"
            "\n"
            "DUET_PASSES=-fuse,-cse switches passes off; DUET_PASSES=fold,dce runs only those.\n"
            "\n"
            "  duet graph small_ops --pass all\n"
            "  duet graph train_step --format dot | dot -Tsvg > train_step.svg\n",
    .run = run,
};
