/* The command `duet` as a user meets it: DUET_COMMAND is its path. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <cjson/cJSON.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NPY "tests/bench/npy/"

static char folder[64]; /* of this run's own */
static char out[200000], err[10000];

static void read_file(char *to, size_t room, const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(to, 1, room - 1, file);
    to[length] = '\0';
    fclose(file);
}

/* Runs `duet ARGUMENTS` (a shell's line; %s is the folder), fills out[] and err[]. */
static int duet(const char *environment, const char *arguments) {
    char line[2048], whole[1024];
    snprintf(whole, sizeof whole, arguments, folder, folder, folder, folder);
    snprintf(line, sizeof line, "env -u OPENBLAS_CORETYPE %s \"$DUET_COMMAND\" %s >%s/out 2>%s/err",
             environment, whole, folder, folder);
    int status = system(line);
    read_file(out, sizeof out, "out");
    read_file(err, sizeof err, "err");
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void assert_contains(const char *text, const char *piece) {
    if (!strstr(text, piece)) fail_msg("expected \"%s\" in \"%s\"", piece, text);
}

static void assert_fine(const char *arguments) {
    if (duet("", arguments) != 0) fail_msg("duet %s: %s", arguments, err);
    assert_string_equal(err, "");
}

/* A busy machine may make a row faster than the peak that was measured a moment before: the report
 * says so and counts it as a failed check. Nothing else may be wrong. */
static void assert_measured(const char *environment, const char *arguments) {
    int status = duet(environment, arguments);
    bool unsteady = strstr(out, "the machine is not steady") != NULL;
    if (status != (unsteady ? 1 : 0)) fail_msg("status %d: %s%s", status, out, err);
    assert_string_equal(err, "");
    assert_null(strstr(out, "differ"));
}

/* Exit status 2, nothing on stdout, one line on stderr with `message` in it. */
static void assert_refused(const char *arguments, const char *message) {
    int status = duet("", arguments);
    if (status != 2) fail_msg("duet %s: expected exit status 2, got %d", arguments, status);
    assert_contains(err, message);
    assert_memory_equal(err, "duet: ", 6);
    assert_ptr_equal(strchr(err, '\n'), err + strlen(err) - 1);
}

static bool exists(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static int make_folder(void **state) {
    (void)state;
    if (!getenv("DUET_COMMAND")) return -1;
    strcpy(folder, "/tmp/test_cli.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char line[128];
    snprintf(line, sizeof line, "rm -r %s", folder);
    return system(line);
}

static void tells_about_itself(void **state) {
    (void)state;
    assert_fine("--version");
    assert_memory_equal(out, "duet ", 5);
    assert_fine("");
    assert_contains(out, "duet bench");
    assert_fine("help bench op");
    assert_contains(out, "--json FILE");
    assert_contains(out, "attribute=value");
    static const char *const asked[] = {"bench", "run", "graph", "op", "ops", "info", "help"};
    for (int i = 0; i < 7; i++) {
        char arguments[32], first[32];
        snprintf(arguments, sizeof arguments, "%s %s", asked[i], i % 2 ? "--help" : "-h");
        snprintf(first, sizeof first, "duet %s ", asked[i]);
        assert_fine(arguments);
        assert_memory_equal(out, first, strlen(first));
    }
    assert_fine("info");
    assert_contains(out, "OpenBLAS");
    assert_fine("ops");
    assert_contains(out, "relu ");
    assert_fine("ops matmul softmax");
    assert_contains(out, "transpose_a: true or false");
    assert_contains(out, "axis: an integer (-1)");
}

static void refuses_unknown_words_with_a_near_one(void **state) {
    (void)state;
    assert_refused("benhc", "no command \"benhc\"; did you mean \"bench\"?");
    assert_refused("frobnicate", "`duet help` lists them");
    assert_refused("help opps", "did you mean \"ops\"?");
    assert_refused("ops reulu", "no op \"reulu\"; did you mean \"relu\"?");
    assert_refused("info now", "info: expected no further words, got \"now\"");
    assert_refused("bench smal_ops", "did you mean \"small_ops\"?");
    assert_refused("bench --jsn x", "unknown option \"--jsn\"; did you mean \"--json\"?");
    assert_refused("bench --nonsense", "unknown option \"--nonsense\"; see `duet help bench`");
    assert_refused("bench --threads 2 --threads=3", "--threads: expected it once, got it twice");
    assert_refused("bench small_ops branches small_ops", "each lesson once, got small_ops twice");
    assert_refused("run small_ops",
                   "expected a FILE.graph, got \"small_ops\"; `duet graph LESSON`");
    assert_refused("bench --json", "--json: expected a value after it");
    assert_refused("bench --quick=yes", "--quick: expected no value, got \"yes\"");
    assert_refused("bench --quick --full", "expected one of --quick, --full and --lesson");
    assert_refused("bench --threads 0", "--threads: expected an integer from 1 to 256, got \"0\"");
    assert_refused("bench --threads two", "got \"two\"");
    assert_refused("bench --executor eager,fast", "got \"fast\"");
    assert_refused("bench --executor eager,,hand", "expected names with commas between");
    assert_refused("bench --executor graph --sweep", "--sweep has rows of its own: expected no");
    assert_refused("bench --scaling --executor=eager,graph", "--scaling has rows of its own");
    assert_refused("bench --json /nowhere/x.json", "/nowhere/x.json: expected to write there");
    assert_refused("bench small_ops --quick --compare %s/missing.json", "missing.json: expected");
}

static void runs_ops_on_files(void **state) {
    (void)state;
    assert_fine("op sum axes=[0] keepdims=true --in " NPY "f4.npy --out %s/eager.npy");
    assert_fine("op sum axes=[0] keepdims=true --in " NPY "f4.npy --out=%s/graph.npy "
                "--executor graph");
    char eager[300], graph[300];
    read_file(eager, sizeof eager, "eager.npy");
    read_file(graph, sizeof graph, "graph.npy");
    assert_memory_equal(eager, graph, 128 + 12);
    assert_contains(eager + 10, "'shape': (1, 3)");
    assert_memory_equal(eager + 128, ((float[]){0.75f, 1.25f, 1.75f}), 12);
    for (int i = 0; i < 2; i++) { /* what it writes is a variable, and its new value a result */
        assert_fine(i ? "op assign_add --in " NPY "f4.npy --in " NPY "f4.npy --out %s/v.npy"
                      : "op assign_add --in " NPY "f4.npy --in " NPY "f4.npy --out %s/v.npy "
                        "--executor graph");
        read_file(eager, sizeof eager, "v.npy");
        assert_memory_equal(eager + 128, ((float[]){0, 0.5f, 1, 1.5f, 2, 2.5f}), 24);
    }
}

static void refuses_bad_ops_and_writes_nothing(void **state) {
    (void)state;
    assert_refused("op", "expected the name of an op");
    assert_refused("op rellu --in " NPY "f4.npy --out %s/y.npy", "did you mean \"relu\"?");
    assert_refused("op relu --in " NPY "f4.npy", "relu: expected 1 --out, got 0");
    assert_refused("op relu --out %s/y.npy", "relu: ");
    assert_refused("op relu x=1 --in " NPY "f4.npy --out %s/y.npy", "no attribute \"x\"");
    assert_refused("op relu x --in " NPY "f4.npy --out %s/y.npy", "expected attribute=value");
    assert_refused("op sum axes=[9] --in " NPY "f4.npy --out %s/y.npy", "expected an axis");
    assert_refused("op sum axes=[0] axes=[1] --in " NPY "f4.npy --out %s/y.npy",
                   "sum: attribute axes: expected it once, got it twice");
    assert_refused("op sum axes=one --in " NPY "f4.npy --out %s/y.npy", "integers like [0,1]");
    assert_refused("op reshape --in " NPY "f4.npy --out %s/y.npy", "attribute shape: expected");
    assert_refused("op matmul --in " NPY "f4.npy --in " NPY "f4.npy --out %s/y.npy",
                   "matmul: inner dimensions differ: x is f32[2,3], w is f32[2,3]");
    assert_refused("op add --in " NPY "f4.npy --in " NPY "f8.npy --out %s/y.npy", "dtypes differ");
    assert_refused("op relu --in " NPY "f2.npy --out %s/y.npy", "got <f2");
    assert_refused("op relu --in %s/missing.npy --out %s/y.npy", "got: No such file");
    assert_refused("op relu --in \"$(printf 'a\\nb')\" --out %s/y.npy", "a?b: expected");
    assert_refused("op relu --in " NPY "f4.npy --out %s/y.npy --executor jti", "eager or graph");
    assert_false(exists("y.npy"));
    assert_refused("op relu --in " NPY "f4.npy --out %s/no/y.npy", "expected to write there");
    assert_fine("op neg --in " NPY "f4.npy --out %s/old.npy");
    assert_refused("op exp --in " NPY "i4.npy --out %s/old.npy", "exp: x: expected");
    char old[300];
    read_file(old, sizeof old, "old.npy");
    assert_memory_equal(old + 128, ((float[]){-0.0f, -0.25f}), 8);
}

/* The state of a generator: i32[4]. */
static void write_seed(void) {
    char path[128];
    snprintf(path, sizeof path, "%s/seed.npy", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite("\x93NUMPY\x01\0\x76\0", 10, 1, file);
    fprintf(file, "%-117s\n", "{'descr': '<i4', 'fortran_order': False, 'shape': (4,), }");
    fwrite((int[]){1, 2, 3, 4}, 16, 1, file);
    fclose(file);
}

/* A device is written where it is: what it refuses must be known before any file is replaced. */
static void outputs_appear_together_or_not_at_all(void **state) {
    (void)state;
    write_seed();
    assert_fine("op neg --in " NPY "f4.npy --out %s/kept.npy");
    char before[300], after[300];
    read_file(before, sizeof before, "kept.npy");
    assert_refused("op assign_add --in " NPY "f4.npy --in " NPY "f4.npy --out /dev/full",
                   "/dev/full: expected to write all of it");
    assert_refused("op random_normal shape=[3] --in %s/seed.npy --out %s/kept.npy --out /dev/full",
                   "/dev/full: expected to write all of it");
    read_file(after, sizeof after, "kept.npy");
    assert_memory_equal(before, after, 128 + 24);
    assert_refused("op random_normal shape=[3] --in %s/seed.npy --out %s/z.npy --out %s/z.npy",
                   "z.npy: expected a file for each output, got it twice");
    assert_refused("op random_normal shape=[3] --in %s/seed.npy --out %s/z.npy --out %s/./z.npy",
                   "z.npy: expected a file for each output, got it twice");
    assert_false(exists("z.npy"));
    assert_fine("op random_normal shape=[3] --in %s/seed.npy --out /dev/null --out /dev/null");
    char line[128];
    snprintf(line, sizeof line, "ls %s | grep -q 'npy[.]'", folder);
    assert_int_not_equal(system(line), 0); /* no temporary is left */
}

/* A line for the shell, in the folder of this run. */
static void shell(const char *line) {
    char whole[512];
    snprintf(whole, sizeof whole, "cd %s && %s", folder, line);
    if (system(whole) != 0) fail_msg("%s", whole);
}

#define NEG "op neg --in " NPY "f4.npy --out "

static void replaces_no_file_that_may_not_be_written(void **state) {
    (void)state;
    shell("echo old > locked && chmod 444 locked && mkdir inner");
    assert_refused(NEG "%s/locked", "locked: expected a file that may be written, got a read-only");
    assert_refused("bench --json %s/locked", "locked: expected a file that may be written");
    assert_refused(NEG "%s/inner", "inner: expected a file to write, got a directory");
    assert_refused(NEG "%s/none/", "expected the name of a file to write, got");
    assert_refused(NEG "''", "expected the name of a file to write, got \"\"");
    shell("grep -q old locked");
}

static void writes_behind_links(void **state) {
    (void)state;
    shell("mkdir deep && ln -s ../there.npy deep/link && ln -s deep/link far && ln -s ring ring");
    for (int i = 0; i < 2; i++) { /* where there is nothing yet, and then a file */
        assert_fine(NEG "%s/far");
        shell("test -L far && test -L deep/link && test -f there.npy && test ! -L there.npy");
    }
    assert_refused(NEG "%s/ring", "ring: expected to write there, got: Too many levels");
}

/* What was printed before stays; a pipe's reader sees one writer, who comes when all is done. */
static void writes_pipes_and_its_own_output_where_they_are(void **state) {
    (void)state;
    shell("rm -f pipe && mkfifo pipe && (timeout 60 cat pipe > piped &)");
    assert_int_equal(duet("timeout 60", "bench small_ops --quick --json %s/pipe"), 0);
    shell("test -p pipe && timeout 60 sh -c 'until grep -q ^} piped; do sleep 0.01; done'");
    assert_fine("bench small_ops --quick --executor hand --json /dev/stdout");
    assert_contains(out, "Test 1");
    assert_contains(out, "\"schema\"");
    assert_int_equal(duet("", "bench small_ops --quick --executor hand --json /dev/stderr"), 0);
    assert_contains(err, "\"schema\"");
    assert_fine(NEG "/dev/stdout | cat > %s/through.npy; cat %s/through.npy");
    assert_memory_equal(out, "\x93NUMPY", 6);
}

static double number(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsNumber(item)) fail_msg("expected the number %s", name);
    return item->valuedouble;
}

static const char *text(const cJSON *object, const char *name) {
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    if (!value) fail_msg("expected the text %s", name);
    return value;
}

/* The schema that others read. */
static void check_row(const cJSON *row) {
    const cJSON *samples = cJSON_GetObjectItemCaseSensitive(row, "samples");
    assert_true(cJSON_IsArray(samples) && cJSON_GetArraySize(samples) >= 3);
    assert_string_equal(text(row, "unit"), "us");
    assert_true(number(row, "best") > 0 && number(row, "median") >= number(row, "best"));
    assert_true(number(row, "mad") >= 0 && number(row, "number") >= 1);
    assert_true(number(row, "first_call") > 0 && number(row, "second_call") > 0);
    assert_true(number(row, "warmup") >= 2 && number(row, "threads") == 1);
    bool hand = strcmp(text(row, "executor"), "hand") == 0;
    bool graph = strcmp(text(row, "executor"), "graph") == 0;
    assert_true(number(row, "trace_count") == graph);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "checksum_equal")));
    assert_true(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "valid")));
    if (!hand) assert_true(number(row, "dispatches") == (graph ? 1 : 150));
}

static void writes_its_figures_as_json(void **state) {
    (void)state;
    static char json[200000];
    assert_fine("bench small_ops --quick --threads 1 --json %s/figures.json");
    assert_contains(out, "ns an op");
    read_file(json, sizeof json, "figures.json");
    cJSON *root = cJSON_Parse(json);
    assert_non_null(root);
    assert_string_equal(text(root, "schema"), "duet.bench/1");
    const cJSON *host = cJSON_GetObjectItemCaseSensitive(root, "host");
    assert_true(number(host, "threads") == 1);
    text(host, "cpu");
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(root, "rows"), *row;
    assert_int_equal(cJSON_GetArraySize(rows), 3);
    cJSON_ArrayForEach(row, rows) check_row(row);
    const cJSON *figures = cJSON_GetObjectItemCaseSensitive(root, "derived");
    assert_true(number(figures, "small_ops.graph.speedup") > 0);
    assert_true(number(figures, "small_ops.eager.ns_per_op") > 0);
    cJSON_Delete(root);
}

static void write_baseline(double us, const char *schema) {
    char path[128];
    snprintf(path, sizeof path, "%s/baseline.json", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fprintf(file,
            "{\"schema\":\"%s\",\"host\":{},\"rows\":[{\"lesson\":\"small_ops\","
            "\"executor\":\"hand\",\"threads\":1,\"best\":%g,\"median\":%g,\"mad\":0.001}]}\n",
            schema, us, us);
    fclose(file);
}

static void compares_with_older_figures(void **state) {
    (void)state;
    static const char arguments[] =
        "bench small_ops --executor hand --quick --threads 1 --compare %s/baseline.json";
    write_baseline(1e6, "duet.bench/1");
    assert_fine(arguments);
    write_baseline(1e-6, "duet.bench/1");
    int status = duet("", arguments);
    for (int tries = 0; status == 0 && tries < 5; tries++) /* a busy machine's noise may hide it */
        status = duet("", arguments);
    assert_int_equal(status, 1);
    assert_contains(out, "small_ops hand has become slower");
    write_baseline(1, "duet.bench/9");
    assert_refused(arguments, "expected schema duet.bench/1, got duet.bench/9");
    assert_string_equal(out, ""); /* told before anything is measured */
    write_baseline(1, "\"");
    assert_refused(arguments, "expected JSON");
    assert_string_equal(out, "");
    write_baseline(-1, "duet.bench/1");
    assert_refused(arguments, "expected a time in every row's \"best\", got -1");
    assert_string_equal(out, "");
    assert_refused("bench --scaling --compare %s/baseline.json", "--scaling has no rows");
    write_baseline(1, "duet.bench/1\",\"rows\":[]}]\"");
    assert_refused(arguments, "expected JSON"); /* and nothing behind it */
    write_baseline(1e6, "duet.bench/1");
    assert_fine("bench small_ops --executor graph,hand --quick --threads 1 "
                "--compare %s/baseline.json");
    assert_contains(out, "not in the file");
    write_baseline(1, "duet.bench/1"); /* has no row of eager's; the figures are kept */
    assert_refused("bench small_ops --executor eager --quick --threads 1 --json %s/new.json "
                   "--compare %s/baseline.json",
                   "baseline.json: expected rows with the same lesson, executor and threads");
    assert_true(exists("new.json"));
}

/* A row that traced while it was timed is not valid; eager never traces. */
static void every_row_of_the_sweep_is_valid(void **state) {
    (void)state;
    static char json[1 << 18];
    assert_measured("", "bench --sweep --quick --threads 1 --json %s/sweep.json");
    read_file(json, sizeof json, "sweep.json");
    assert_contains(json, "\"valid\":\ttrue");
    assert_null(strstr(json, "\"valid\":\tfalse"));
}

/* All lessons, in the fewest calls that there are: nothing differs between executors. */
static void runs_all_lessons(void **state) {
    (void)state;
    assert_measured("", "bench --quick");
    assert_contains(out, "Test 1");
    assert_contains(out, "The graph does not help here");
    assert_contains(out, "of the measured peak");
    assert_contains(out, "warm-up");
    assert_contains(out, "the first call costs");
    assert_contains(out, "a new literal");
    assert_null(strstr(out, "differ"));
}

static void the_cost_of_tracing_is_of_the_chosen_executors(void **state) {
    (void)state;
    assert_fine("bench tracing_cost --quick --executor graph");
    assert_contains(out, "\n  graph ");
    assert_contains(out, "a new literal");
    assert_null(strstr(out, "\n  eager "));
    assert_null(strstr(out, "paid for itself"));
    assert_fine("bench tracing_cost --quick --executor eager");
    assert_contains(out, "\n  eager ");
    assert_contains(out, "only the graph executor traces");
    assert_null(strstr(out, "\n  graph "));
    assert_fine("bench tracing_cost --quick --executor hand");
    assert_contains(out, "only the graph executor traces");
}

/* OpenBLAS takes new processors for old ones; the command starts again with what fits. */
static void says_which_kernels_blas_runs(void **state) {
    (void)state;
    assert_int_equal(duet("", "info"), 0);
    assert_null(strstr(out, "notice"));
    assert_measured("OPENBLAS_CORETYPE=Prescott", "bench big_matmul --executor hand --quick");
#ifdef __x86_64__
    assert_contains(out, "Prescott kernels");
    if (__builtin_cpu_supports("avx2")) assert_contains(out, "slower than they could be");
#endif
    assert_null(strstr(out, "differ"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_about_itself),
        cmocka_unit_test(refuses_unknown_words_with_a_near_one),
        cmocka_unit_test(runs_ops_on_files),
        cmocka_unit_test(refuses_bad_ops_and_writes_nothing),
        cmocka_unit_test(outputs_appear_together_or_not_at_all),
        cmocka_unit_test(replaces_no_file_that_may_not_be_written),
        cmocka_unit_test(writes_behind_links),
        cmocka_unit_test(writes_pipes_and_its_own_output_where_they_are),
        cmocka_unit_test(writes_its_figures_as_json),
        cmocka_unit_test(compares_with_older_figures),
        cmocka_unit_test(every_row_of_the_sweep_is_valid),
        cmocka_unit_test(runs_all_lessons),
        cmocka_unit_test(the_cost_of_tracing_is_of_the_chosen_executors),
        cmocka_unit_test(says_which_kernels_blas_runs),
    };
    return cmocka_run_group_tests_name("cli", tests, make_folder, remove_folder);
}
