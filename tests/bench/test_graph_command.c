/* `duet graph` and `duet run` as a user starts them: what they print, and their exit statuses.
 * DUET_COMMAND names the program; the working directory is the project's. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "graph_file.h"
#include "lesson.h"
#include "npy.h"
#include "plan.h"
#include "sample.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXAMPLE(name) "docs/examples/" name ".graph"

static char folder[64], at_folder[128];

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/test_graph.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

static int end_test(void **state) {
    (void)state;
    duet_scope_reset();
    duet_error_clear();
    return 0;
}

static const char *scratch(const char *name) {
    snprintf(at_folder, sizeof at_folder, "%s/%s", folder, name);
    return at_folder;
}

/* Runs `duet ARGUMENTS` through the shell with "$D" for the scratch folder; stdout and stderr
 * together, valid until the next call. Returns the exit status. */
static char *said;
static int duet(const char *arguments) {
    const char *program = getenv("DUET_COMMAND");
    char command[1024];
    snprintf(command, sizeof command, "D='%s'; duet() { '%s' \"$@\"; }; %s 2>&1", folder,
             program ? program : "build/duet", arguments);
    FILE *pipe = popen(command, "r");
    size_t room = 0;
    free(said);
    said = NULL;
    if (!pipe || getdelim(&said, &room, '\0', pipe) < 0) {
        free(said); /* getdelim() allocates where it reads nothing, too */
        said = strdup("");
    }
    int status = pipe ? pclose(pipe) : -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect_said(const char *text) {
    if (strstr(said, text)) return;
    print_error("expected \"%s\" in:\n%s\n", text, said);
    fail();
}

static void save(const char *name, duet_shape shape, const float *values) {
    duet_tensor *x = duet_from_data(shape, DUET_F32, values);
    assert_non_null(x);
    const char *path = scratch(name);
    assert_int_equal(npy_write_files(&path, &x, 1), DUET_OK);
}

static const float *load(const char *name) {
    duet_tensor *x = npy_read(scratch(name));
    if (!x) print_error("%s\n", duet_error_message());
    assert_non_null(x);
    return x->data;
}

/* ---- duet graph ------------------------------------------------------------------------------ */

static void many_nodes_become_one_before_the_readers_eyes(void **state) {
    (void)state;
    assert_int_equal(duet("duet graph small_ops --pass all"), 0);
    expect_said("  fuse          150 -> 1 ");
    expect_said("(unchanged)");
    expect_said("  plan        1 step");
    expect_said("= fused(%0)");
}

static void a_loop_has_its_sub_graphs_beside_it(void **state) {
    (void)state;
    assert_int_equal(duet("duet graph small_ops_while"), 0);
    expect_said("graph @small_ops_while.1(%0: f32[10,10], %1: i32[]) {");
    expect_said("= relu(%5)");
    expect_said("= while(%0, %1) {body=@small_ops_while.1, cond=@small_ops_while.2}");
}

static void a_plan_shows_its_forks(void **state) {
    (void)state;
    assert_int_equal(duet("DUET_THREADS=2 duet graph branches --format plan"), 0);
    expect_said(", 1 fork; the largest live set");
    expect_said("     1a result 0 ");
    expect_said("     2b buffer ");
    expect_said("     4  result 0 ");
    assert_int_equal(duet("DUET_THREADS=2 duet graph branches --pass all"), 0);
    expect_said("  fork        1 fork ");
    assert_int_equal(duet("DUET_THREADS=1 duet graph branches --pass all"), 0);
    expect_said("  fork        0 forks ");
    assert_int_equal(duet("DUET_THREADS=2 DUET_PASSES=-fork duet graph branches --pass all"), 0);
    expect_said("  fork        switched off");
}

static void every_lesson_prints_a_graph_that_parses_back(void **state) {
    (void)state;
    for (const lesson *const *l = lessons; *l; l++)
        for (int pass = 0; pass < 2; pass++) {
            char command[256];
            snprintf(command, sizeof command, "duet graph %s %s", (*l)->name,
                     pass ? "" : "--pass none");
            assert_int_equal(duet(command), 0);
            duet_graph *graph = duet_graph_parse(said, "said");
            assert_non_null(graph);
            char *again = NULL;
            size_t length;
            FILE *file = open_memstream(&again, &length);
            duet_graph_print(file, graph);
            fclose(file);
            duet_graph *second = duet_graph_parse(again, "again");
            assert_non_null(second);
            assert_true(duet_graph_equal(graph, second));
            duet_graph *copy = duet_graph_copy(graph);
            assert_non_null(copy);
            assert_true(duet_graph_equal(graph, copy));
            free(again);
            duet_graph_free(graph);
            duet_graph_free(second);
            duet_graph_free(copy);
        }
}

static void the_pipeline_stops_where_it_is_told(void **state) {
    (void)state;
    assert_int_equal(duet("duet graph small_ops --pass cse"), 0);
    assert_null(strstr(said, "fused"));
    assert_int_equal(duet("duet graph small_ops --pass fuse"), 0);
    expect_said("fused");
    assert_int_equal(duet("DUET_PASSES=-fuse duet graph small_ops --pass all"), 0);
    expect_said("fuse        switched off by DUET_PASSES");
    expect_said("plan        150 steps");
}

/* What follows the one warning is what there is without the setting. */
static void a_wrong_setting_is_told_once_and_ignored(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"DUET_PASSES=-fuze,-sce", "DUET_PASSES: no pass \"fuze\"; there are fold, cse,"},
        {"DUET_PASSES=fuze", "DUET_PASSES: no pass \"fuze\""},
        {"DUET_PASSES=,", "DUET_PASSES: no pass \"\""},
        {"DUET_PASSES=fold,-fuse", "expected a - before every pass or before none, got \"fold,-f"},
        {"DUET_THREADS=abc", "DUET_THREADS: expected an integer from 1 to 256, got \"abc\""},
        {"DUET_THREADS=0", "got \"0\"; ignored"},
        {"DUET_THREADS=257", "got \"257\"; ignored"},
        {"DUET_DEBUG=foo", "DUET_DEBUG: expected an integer from 0 to 4, got \"foo\"; ignored"},
        {"DUET_DEBUG=5", "got \"5\""},
        {"DUET_POISON=yes", "DUET_POISON: expected an integer from 0 to 1, got \"yes\""},
        {"DUET_SHUFFLE=99999999999999999999", "DUET_SHUFFLE: expected an integer from 0"},
        {"DUET_FORK=2", "DUET_FORK: expected an integer from 0 to 1"},
        {"DUET_VERIFY=1x", "DUET_VERIFY: expected an integer from 0 to 1"},
    };
    assert_int_equal(duet("duet graph train_step"), 0);
    char *right = strdup(said), command[128];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(command, sizeof command, "%s duet graph train_step", cases[i][0]);
        assert_int_equal(duet(command), 0);
        assert_memory_equal(said, "duet: warning: ", 15);
        expect_said(cases[i][1]);
        assert_string_equal(strchr(said, '\n') + 1, right);
    }
    free(right);
    assert_int_equal(duet("DUET_THREADS=two duet --version"), 0);
    expect_said("DUET_THREADS: ");
    assert_int_equal(duet("DUET_THREADS= DUET_PASSES= DUET_DEBUG= duet --version"), 0);
    assert_null(strstr(said, "warning"));
}

typedef struct chart {
    int64_t arena, largest;
    duet_lifetime lives[32];
    int64_t offsets[32];
    int count;
} chart;

/* What the plan's text says of its buffers. */
static void read_chart(chart *c) {
    const char *head = strstr(said, "arena "), *live = strstr(said, "live set is ");
    const char *line = strstr(said, "  buffer     offset");
    assert_true(head && live && line);
    c->arena = strtoll(head + 6, NULL, 10);
    c->largest = strtoll(live + 12, NULL, 10);
    c->count = 0;
    for (line = strchr(line, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
        long number, offset, bytes;
        int first, last;
        assert_int_equal(sscanf(line, "%ld %ld %ld %d %d", &number, &offset, &bytes, &first, &last),
                         5);
        c->offsets[c->count] = offset;
        c->lives[c->count++] = (duet_lifetime){bytes, first, last, 0, 0};
    }
}

static void the_plan_shows_every_buffer_and_none_overlaps(void **state) {
    (void)state;
    chart c;
    assert_int_equal(duet("DUET_SHUFFLE= duet graph train_step --format plan"), 0);
    read_chart(&c);
    assert_true(c.count > 1);
    assert_true((double)c.arena <= 1.05 * (double)c.largest);
    expect_said(", over %");
    expect_said("variable 0     matmul_sgd(");
    for (int i = 0; i < c.count; i++)
        for (int j = 0; j < i; j++) {
            bool meet = c.lives[i].first <= c.lives[j].last && c.lives[j].first <= c.lives[i].last;
            bool apart = c.offsets[i] + c.lives[i].bytes <= c.offsets[j] ||
                         c.offsets[j] + c.lives[j].bytes <= c.offsets[i];
            assert_true(!meet || apart);
        }
}

static void the_drawing_has_clusters_and_closes_its_braces(void **state) {
    (void)state;
    const char *names[] = {"small_ops", "train_step", EXAMPLE("sgd_step")};
    for (int i = 0; i < 3; i++) {
        char command[128];
        int depth = 0;
        snprintf(command, sizeof command, "duet graph %s --format dot", names[i]);
        assert_int_equal(duet(command), 0);
        assert_memory_equal(said, "digraph", 7);
        for (const char *c = said; *c; c++) depth += (*c == '{') - (*c == '}');
        assert_int_equal(depth, 0);
    }
    assert_int_equal(duet("duet graph small_ops --format dot"), 0);
    expect_said("label=\"fused\"");
    expect_said("label=\"50 times\"");
    expect_said("<b>mul</b>(·, 0.99)");
}

/* ---- duet run -------------------------------------------------------------------------------- */

static void save_affine(void) {
    save("x.npy", DUET_SHAPE(4, 3), (float[]){-6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5});
    save("s.npy", DUET_SHAPE(3), (float[]){2, .5f, -1});
    save("b.npy", DUET_SHAPE(3), (float[]){.25f, 1, 0});
}

static void a_text_graph_computes_what_it_says(void **state) {
    (void)state;
    const float expected[] = {0, 0, 4, 0, 0, 1, .25f, 1.5f, 0, 6.25f, 3, 0};
    save_affine();
    const char *const names[] = {"eager", "graph"};
    for (int i = 0; i < 2; i++) {
        char command[256];
        snprintf(command, sizeof command,
                 "duet run " EXAMPLE(
                     "affine_relu") " --executor %s --input $D/x.npy "
                                    "--input $D/s.npy --input $D/b.npy --output $D/%s.npy",
                 names[i], names[i]);
        assert_int_equal(duet(command), 0);
        assert_string_equal(said, "");
    }
    assert_memory_equal(load("eager.npy"), expected, sizeof expected);
    assert_memory_equal(load("graph.npy"), expected, sizeof expected);
}

static void save_line(void) {
    float x[32], t[16];
    uint64_t seed = 7;
    for (int i = 0; i < 32; i++) x[i] = (float)(4 * sample_uniform(&seed) - 2);
    for (int i = 0; i < 16; i++) t[i] = 2 * x[2 * i] - 3 * x[2 * i + 1];
    save("lx.npy", DUET_SHAPE(16, 2), x);
    save("lt.npy", DUET_SHAPE(16, 1), t);
}

static void a_hundred_steps_find_the_line_with_either_executor(void **state) {
    (void)state;
    save_line();
    const char *const names[] = {"eager", "graph"};
    for (int i = 0; i < 2; i++) {
        char command[256];
        snprintf(command, sizeof command,
                 "duet run " EXAMPLE(
                     "sgd_step") " --executor %s --count 100 --input $D/lx.npy "
                                 "--input $D/lt.npy --output $D/loss_%s.npy --output $D/w_%s.npy",
                 names[i], names[i], names[i]);
        assert_int_equal(duet(command), 0);
    }
    const float *w = load("w_graph.npy");
    assert_float_equal(w[0], 2, 1e-3);
    assert_float_equal(w[1], -3, 1e-3);
    assert_memory_equal(load("w_eager.npy"), w, 2 * sizeof *w);
    assert_memory_equal(load("loss_eager.npy"), load("loss_graph.npy"), sizeof *w);
}

static void without_outputs_it_summarises(void **state) {
    (void)state;
    save_affine();
    assert_int_equal(duet("duet run " EXAMPLE(
                         "affine_relu") " --input $D/x.npy --input $D/s.npy --input $D/b.npy"),
                     0);
    assert_string_equal(said, "result 0: f32[4,3] min 0 mean 1.333333 max 6.25\n");
}

static void outputs_appear_together_or_not_at_all(void **state) {
    (void)state;
    save_line();
    save("kept.npy", DUET_SHAPE(1), (float[]){42});
    const char *run = "duet run " EXAMPLE("sgd_step") " --input $D/lx.npy --input $D/lt.npy";
    char command[256];
    snprintf(command, sizeof command, "%s --output $D/kept.npy --output /dev/full", run);
    assert_int_equal(duet(command), 2);
    expect_said("/dev/full: expected to write all of it");
    assert_float_equal(load("kept.npy")[0], 42, 0);
    snprintf(command, sizeof command, "%s --output $D/o.npy --output $D/o.npy", run);
    assert_int_equal(duet(command), 2);
    expect_said("o.npy: expected a file for each output, got it twice");
    assert_int_not_equal(access(scratch("o.npy"), F_OK), 0);
}

static void a_lesson_that_was_printed_runs(void **state) {
    (void)state;
    float ones[100];
    for (int i = 0; i < 100; i++) ones[i] = 1;
    save("ones.npy", DUET_SHAPE(10, 10), ones);
    assert_int_equal(duet("duet graph small_ops > $D/s.graph && duet run $D/s.graph "
                          "--input $D/ones.npy --output $D/fused.npy && duet graph small_ops "
                          "--pass none > $D/n.graph && duet run $D/n.graph --executor eager "
                          "--input $D/ones.npy --output $D/plain.npy"),
                     0);
    float x = 1;
    for (int i = 0; i < 50; i++) x = x * 0.99f + 0.01f;
    assert_float_equal(load("fused.npy")[0], x, 1e-6);
    assert_memory_equal(load("fused.npy"), load("plain.npy"), sizeof ones);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void faults_in_the_text_have_a_place(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", ":1:1: expected \"graph\""},
        {"graph f() {", ":1:7: expected \"@\""},
        {"graph @f(%0: f32[2) { return %0 }", ":1:14: expected a type such as f32[2,3]"},
        {"graph @f(%0: f32[2]) {\n  %1: f32[2] = rellu(%0)\n  return %1\n}", ":2:16: "},
        {"graph @f(%0: f32[2]) {\n  %1: f32[3] = relu(%0)\n  return %1\n}",
         ":2:3: expected %1 to be f32[2], got f32[3]"},
        {"graph @f(%0: f32[2]) {\n  %1: f32[2] = relu(%7)\n  return %1\n}",
         ":2:21: expected a value defined above, got %7"},
        {"graph @f(%0: f32[2]) {\n  %0: f32[2] = relu(%0)\n  return %0\n}",
         ":2:3: expected a new value, got %0 again"},
        {"graph @f(%0: f32[2]) {\n  %1: f32[2] = add(%0)\n  return %1\n}", ":2:3: add: expected"},
        {"graph @f(%0: f32[2]) {\n  %1: f32[2] = constant() {value=[1,x]}\n  return %1\n}",
         ":2:37: expected a number, got \"x"},
        {"graph @f(%0: f32[2,2]) {\n  %1: f32[2,2] = matmul(%0, %0) {transpose=true}\n",
         ":2:34: matmul: no attribute \"transpose\""},
        {"graph @f(%0: f32[2]) {\n  %1: f32[2] = fused(%0) {body=@g}\n  return %1\n}",
         ":2:33: expected a graph defined above, got @g"},
        {"graph @f() {\n  %0: f32[2] = variable \"v\"\n  return %0\n}", ":3:12: expected a value"},
        {"graph @f(%0: f32[2]) {\n  return %0",
         ":2:12: expected \",\" or \"}\", got the end of the text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *file = fopen(scratch("bad.graph"), "w");
        fputs(cases[i].text, file);
        fclose(file);
        assert_int_equal(duet("duet graph $D/bad.graph"), 2);
        expect_said(cases[i].message);
        expect_said("bad.graph:");
        assert_int_equal(duet("duet run $D/bad.graph"), 2);
        assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); /* one line */
    }
}

static void wrong_usage_is_status_2_and_one_line(void **state) {
    (void)state;
    static const struct {
        const char *arguments, *message;
    } cases[] = {
        {"graph", "expected one lesson or FILE.graph"},
        {"graph smal_ops", "did you mean \"small_ops\"?"},
        {"graph small_ops --pass fuze", "did you mean \"fuse\"?"},
        {"graph small_ops --pass everything", "got \"everything\"; --pass all lists them"},
        {"graph small_ops --format png", "expected text, dot or plan"},
        {"graph small_ops --format dot --pass all", "which is no dot"},
        {"graph nothing.graph", "nothing.graph: expected to read it"},
        {"graph ./docs", "./docs: expected to read it"},
        {"graph " EXAMPLE("sgd_step") " --format plan", "a plan needs every dimension"},
        {"run", "expected one FILE.graph"},
        {"run " EXAMPLE("affine_relu"), "expected 3 --input, got 0"},
        {"run " EXAMPLE("affine_relu") " --executor gpu", "expected eager or graph"},
        {"run " EXAMPLE("affine_relu") " --count 0", "expected an integer from 1"},
        {"run " EXAMPLE("affine_relu") " --input $D/s.npy --input $D/s.npy --input $D/s.npy",
         "expected f32[4,3] for input 0 of @affine_relu, got f32[3]"},
    };
    save_affine();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[256];
        snprintf(command, sizeof command, "duet %s", cases[i].arguments);
        assert_int_equal(duet(command), 2);
        expect_said(cases[i].message);
        assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
    }
}

/* ---- DUET_DEBUG ------------------------------------------------------------------------------ */

static void each_level_of_the_ladder_tells_more(void **state) {
    (void)state;
    save_line();
    const char *run = "duet run " EXAMPLE("sgd_step") " --input $D/lx.npy --input $D/lt.npy";
    char command[256];
    for (int level = 0; level <= 4; level++) {
        snprintf(command, sizeof command, "DUET_DEBUG=%d %s", level, run);
        assert_int_equal(duet(command), 0);
        assert_int_equal(strstr(said, "@sgd_step fold        (unchanged)") != NULL, level >= 2);
        assert_int_equal(strstr(said, "plan @sgd_step: 4 steps") != NULL, level >= 3);
        assert_int_equal(strstr(said, "@sgd_step step 3: matmul_sgd(%0, %7, %2, %8)") != NULL,
                         level >= 4);
        assert_int_equal(strstr(said, "%2 is now f32[2,1] min ") != NULL, level >= 4);
    }
    assert_int_equal(duet("DUET_DEBUG=1 duet bench small_ops --quick"), 0);
    expect_said("duet: small_ops(f32[10,10]) traced: the first call\n"
                "duet:   froze 50 x f32[] 0.99000001  # small_ops.c:");
    expect_said("duet: small_ops(f32[10,10]) replayed\n");
    expect_said("duet: small_ops(f32[10,10]) run op by op\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(many_nodes_become_one_before_the_readers_eyes, end_test),
        cmocka_unit_test_teardown(a_loop_has_its_sub_graphs_beside_it, end_test),
        cmocka_unit_test_teardown(a_plan_shows_its_forks, end_test),
        cmocka_unit_test_teardown(every_lesson_prints_a_graph_that_parses_back, end_test),
        cmocka_unit_test_teardown(the_pipeline_stops_where_it_is_told, end_test),
        cmocka_unit_test_teardown(a_wrong_setting_is_told_once_and_ignored, end_test),
        cmocka_unit_test_teardown(the_plan_shows_every_buffer_and_none_overlaps, end_test),
        cmocka_unit_test_teardown(the_drawing_has_clusters_and_closes_its_braces, end_test),
        cmocka_unit_test_teardown(a_text_graph_computes_what_it_says, end_test),
        cmocka_unit_test_teardown(a_hundred_steps_find_the_line_with_either_executor, end_test),
        cmocka_unit_test_teardown(without_outputs_it_summarises, end_test),
        cmocka_unit_test_teardown(outputs_appear_together_or_not_at_all, end_test),
        cmocka_unit_test_teardown(a_lesson_that_was_printed_runs, end_test),
        cmocka_unit_test_teardown(faults_in_the_text_have_a_place, end_test),
        cmocka_unit_test_teardown(wrong_usage_is_status_2_and_one_line, end_test),
        cmocka_unit_test_teardown(each_level_of_the_ladder_tells_more, end_test),
    };
    return cmocka_run_group_tests_name("graph and run", tests, make_folder, remove_folder);
}
