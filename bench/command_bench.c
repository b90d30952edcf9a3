#include "command.h"
#include "options.h"
#include "output.h"
#include "report.h"

#include "pool.h"

#include <stdlib.h>
#include <string.h>

typedef struct choices {
    words lessons, executors;
    bool quick, full, lesson, sweep, scaling;
    int threads;
    const char *json, *compare;
} choices;

static duet_status choose_executors(report *r, const words *names) {
    int count = 0;
    for (const executor *x = executors; x->name; x++) { /* in the table's order, each once */
        bool wanted = names->count == 0;
        for (int i = 0; i < names->count; i++) wanted |= strcmp(names->at[i], x->name) == 0;
        if (wanted) r->chosen[count++] = x;
    }
    r->chosen[count] = NULL;
    return DUET_OK;
}

static duet_status check_choices(const choices *c) {
    CHECK(c->quick + c->full + c->lesson <= 1, DUET_STATUS_ARGUMENT,
          "bench: expected one of --quick, --full and --lesson, got several");
    for (int i = 0; i < c->lessons.count; i++) {
        if (!lesson_find(c->lessons.at[i])) return duet_error_code();
        for (int j = 0; j < i; j++) /* rows are found by name */
            CHECK(strcmp(c->lessons.at[i], c->lessons.at[j]) != 0, DUET_STATUS_ARGUMENT,
                  "bench: expected each lesson once, got %s twice", c->lessons.at[i]);
    }
    for (int i = 0; i < c->executors.count; i++)
        if (!executor_find(c->executors.at[i])) return duet_error_code();
    CHECK(!c->executors.count || !(c->sweep || c->scaling), DUET_STATUS_ARGUMENT,
          "bench: --%s has rows of its own: expected no --executor beside it",
          c->sweep ? "sweep" : "scaling");
    CHECK(!c->compare || !c->scaling || c->lessons.count || c->sweep, DUET_STATUS_ARGUMENT,
          "bench: --scaling has no rows to compare: expected a lesson or --sweep beside --compare");
    if (c->json) TRY(output_check(c->json));
    return DUET_OK;
}

static duet_status write_json(const report *r, const char *path) {
    output out;
    TRY(output_open(&out, path));
    duet_status status = report_write_json(r, out.file, path);
    if (status == DUET_OK) status = output_commit(&out, 1);
    output_discard(&out);
    return status;
}

static duet_status bench(report *r, const choices *c) {
    if (c->compare) TRY(report_read_older(r, c->compare));
    if (c->threads) duet_pool_set_threads(c->threads);
    r->host = host_describe();
    r->mode = c->quick ? MODE_QUICK : c->full ? MODE_FULL : c->lesson ? MODE_LESSON : MODE_NORMAL;
    TRY(choose_executors(r, &c->executors));
    host_print(&r->host);
    for (int i = 0; i < c->lessons.count; i++) TRY(report_lesson(r, lesson_find(c->lessons.at[i])));
    if (!c->lessons.count && !c->sweep && !c->scaling)
        for (const lesson *const *l = lessons; *l; l++) TRY(report_lesson(r, *l));
    if (c->full) TRY(report_contractions(r));
    if (c->full) report_limits(r);
    if (c->sweep) TRY(report_sweep(r));
    if (c->scaling) TRY(report_scaling(r));
    if (c->json) TRY(write_json(r, c->json)); /* whatever the comparison says */
    return c->compare ? report_compare(r, c->compare) : DUET_OK;
}

static duet_status run(command_result *result, int argc, char **argv) {
    choices c = {0};
    const option options[] = {
        {"--executor", OPTION_LIST, &c.executors, 0, 0},
        {"--threads", OPTION_INTEGER, &c.threads, 1, 256},
        {"--quick", OPTION_FLAG, &c.quick, 0, 0},
        {"--full", OPTION_FLAG, &c.full, 0, 0},
        {"--lesson", OPTION_FLAG, &c.lesson, 0, 0},
        {"--sweep", OPTION_FLAG, &c.sweep, 0, 0},
        {"--scaling", OPTION_FLAG, &c.scaling, 0, 0},
        {"--json", OPTION_TEXT, &c.json, 0, 0},
        {"--compare", OPTION_TEXT, &c.compare, 0, 0},
        {0},
    };
    TRY(options_parse(options, &c.lessons, "bench", argc, argv));
    TRY(check_choices(&c));
    report *r = calloc(1, sizeof *r);
    CHECK(r, DUET_STATUS_MEMORY, "bench: no memory");
    duet_status status = bench(r, &c);
    result->check_failed = r->check_failed;
    report_forget_older(r);
    free(r->rows);
    free(r);
    return status;
}

const command command_bench = {
    .name = "bench",
    .usage = "[LESSON ...] [--executor eager,graph,hand] [--threads N] [--quick|--full|--lesson]\n"
             "           [--sweep] [--scaling] [--json FILE] [--compare FILE]",
    .summary = "The lessons: the executors side by side, and the limit by hand",
    .help = "Lessons: small_ops, small_ops_while, big_matmul, train_step, tracing_cost, branches\n"
            "(default: all).\n"
            "\n"
            "  --executor LIST  which of eager, graph and hand to measure\n"
            "  --threads N      threads of the pool, and of OpenBLAS by hand\n"
            "  --quick          a second in all, for a first look\n"
            "  --full           many repeats, for figures to keep; products against the peak\n"
            "  --lesson         calls and repeats as in the lesson's own text\n"
            "  --sweep          how cost grows with the number of ops and of elements\n"
            "  --scaling        from which size on a second core pays\n"
            "  --json FILE      the figures, every sample among them\n"
            "  --compare FILE   names what has become slower than in FILE by more than its noise\n"
            "\n"
            "Results are compared before anything is timed. `best` and `median` are of one call;\n"
            "MAD is the median distance from the median; `first` and `second` are the calls that\n"
            "trace and touch new memory; a call is normal when two in a row neither trace nor ask\n"
            "the system for memory (warm-up: how many calls it took). Repeats of the executors\n"
            "take turns. Exit status 1: results differ, a row was traced while it was timed, or\n"
            "--compare found something.\n",
    .run = run,
};
