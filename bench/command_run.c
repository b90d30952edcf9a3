#include "command.h"
#include "graph_file.h"
#include "npy.h"
#include "options.h"

#include "debug.h"
#include "graph_replay.h"
#include "passes.h"
#include "plan.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A graph with what it is to be called with. */
typedef struct job {
    duet_graph *graph; /* as in the file, dimensions as the inputs have them */
    duet_plan *plan;   /* NULL: op by op */
    duet_tensor *in[MAX_WORDS], *out[MAX_WORDS];
} job;

static duet_status check_counts(const duet_graph *g, const char *path, const words *in,
                                const words *out) {
    CHECK(g->n_inputs <= MAX_WORDS && g->n_results <= MAX_WORDS, DUET_STATUS_UNSUPPORTED,
          "%s: expected at most %d inputs and results, got %d and %d", path, MAX_WORDS, g->n_inputs,
          g->n_results);
    CHECK(in->count == g->n_inputs, DUET_STATUS_ARGUMENT, "%s: expected %d --input, got %d", path,
          g->n_inputs, in->count);
    CHECK(out->count == g->n_results || out->count == 0, DUET_STATUS_ARGUMENT,
          "%s: expected %d --output, got %d", path, g->n_results, out->count);
    return DUET_OK;
}

static duet_status take_inputs(job *j, const words *files) {
    const duet_spec *specs[MAX_WORDS];
    for (int i = 0; i < files->count; i++) {
        const duet_spec *expected = &j->graph->values[j->graph->inputs[i]].spec;
        j->in[i] = npy_read(files->at[i]);
        if (!j->in[i]) return duet_error_code();
        specs[i] = &j->in[i]->spec;
        CHECK(duet_spec_fits(expected, specs[i]), DUET_STATUS_SHAPE,
              "%s: expected %s for input %d of @%s, got %s", files->at[i], DUET_SPEC_TEXT(expected),
              i, j->graph->name, DUET_SPEC_TEXT(specs[i]));
    }
    duet_graph *concrete = duet_graph_respecify(j->graph, specs);
    if (!concrete) return duet_error_code();
    duet_graph_free(j->graph);
    j->graph = concrete;
    return DUET_OK;
}

static duet_status make_plan(job *j) {
    duet_graph *copy = duet_graph_copy(j->graph);
    if (!copy) return duet_error_code();
    duet_status status = duet_run_passes(copy);
    if (status == DUET_OK)
        j->plan = duet_plan_new(copy);
    else
        duet_graph_free(copy);
    return j->plan ? DUET_OK : duet_error_code();
}

static duet_status call_plan(job *j) {
    void *in[MAX_WORDS], *out[MAX_WORDS];
    for (int32_t i = 0; i < j->graph->n_inputs; i++) in[i] = j->in[i]->data;
    for (int32_t i = 0; i < j->graph->n_results; i++) {
        duet_tensor *t = duet_tensor_alloc(&j->graph->values[j->graph->results[i]].spec);
        j->out[i] = t ? duet_scope_own(t) : NULL;
        if (!j->out[i]) return duet_error_code();
        out[i] = j->out[i]->data;
    }
    return duet_plan_run(j->plan, in, out);
}

/* The results of the last call stay in the scope that is open. */
static duet_status call_many(job *j, int count) {
    for (int i = 0; i < count; i++) {
        duet_scope_open();
        duet_status status = j->plan ? call_plan(j) : duet_graph_replay(j->graph, j->out, j->in);
        bool keep = status == DUET_OK && i == count - 1;
        duet_scope_close_many(j->out, keep ? j->graph->n_results : 0);
        TRY(status);
    }
    return DUET_OK;
}

static duet_status hand_over(const job *j, const words *files) {
    if (files->count) return npy_write_files(files->at, j->out, files->count);
    for (int32_t i = 0; i < j->graph->n_results; i++) {
        printf("result %d: ", i);
        duet_print_summary(stdout, &(duet_view){j->out[i]->data, &j->out[i]->spec});
        putchar('\n');
    }
    return DUET_OK;
}

static duet_status do_job(job *j, const char *path, const words *in, const words *out, bool eager,
                          int count) {
    j->graph = graph_file_read(path);
    if (!j->graph) return duet_error_code();
    TRY(check_counts(j->graph, path, in, out));
    TRY(take_inputs(j, in));
    if (!eager) TRY(make_plan(j));
    TRY(call_many(j, count));
    return hand_over(j, out);
}

static duet_status run(command_result *result, int argc, char **argv) {
    (void)result;
    words rest = {0}, in = {0}, out = {0};
    const char *executor = "graph";
    int count = 1;
    const option options[] = {
        {"--input", OPTION_TEXTS, &in, 0, 0},
        {"--output", OPTION_TEXTS, &out, 0, 0},
        {"--executor", OPTION_TEXT, &executor, 0, 0},
        {"--count", OPTION_INTEGER, &count, 1, 1000000000},
        {0},
    };
    TRY(options_parse(options, &rest, "run", argc, argv));
    CHECK(rest.count == 1, DUET_STATUS_ARGUMENT, "run: expected one FILE.graph, got %d words",
          rest.count);
    bool eager = strcmp(executor, "eager") == 0;
    CHECK(eager || strcmp(executor, "graph") == 0, DUET_STATUS_ARGUMENT,
          "run: --executor: expected eager or graph, got \"%s\"", executor);
    CHECK(is_graph_file(rest.at[0]) || access(rest.at[0], F_OK) == 0, DUET_STATUS_NOT_FOUND,
          "run: expected a FILE.graph, got \"%s\"; `duet graph LESSON` prints one", rest.at[0]);
    job j = {0};
    duet_scope_open();
    duet_status status = do_job(&j, rest.at[0], &in, &out, eager, count);
    duet_scope_close(NULL);
    duet_plan_free(j.plan);
    duet_graph_free(j.graph);
    return status;
}

const command command_run = {
    .name = "run",
    .usage = "FILE.graph --input x.npy ... [--output y.npy ...] [--executor graph|eager] "
             "[--count N]",
    .summary = "Run a graph that is written as text on .npy files",
    .help = "  --input FILE     an input, in the graph's order\n"
            "  --output FILE    a result, in order; without any, a summary of each is printed\n"
            "  --executor NAME  graph (default): passes, plan, replay; eager: node by node\n"
            "  --count N        calls it N times; the results are the last call's\n"
            "\n"
            "Variables of the graph begin at zero. `duet graph NAME` prints what this reads; a\n"
            "fault in the text is told as FILE:LINE:COLUMN. A dimension written ? takes any size.\n"
            "\n"
            "  duet graph small_ops > small_ops.graph\n"
            "  duet run small_ops.graph --input x.npy --output y.npy\n",
    .run = run,
};
