/* The passes, graph text in and graph text out: what each may do, and what it must leave alone. */
#include "expect.h"
#include "passes.h"

static duet_graph *parse(const char *text) {
    duet_graph *graph = duet_graph_parse(text, "test");
    if (!graph) fail_msg("%s\n%s", duet_error_message(), text);
    return graph;
}

static char *print(const duet_graph *graph) {
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    duet_graph_print(file, graph);
    fclose(file);
    return text;
}

/* The graph `in` becomes the graph `out`, whose numbers are those that a pass gives. */
static void expect_pass(duet_pass_fn pass, const char *in, const char *out) {
    duet_graph *graph = parse(in);
    EXPECT_OK(pass(graph));
    EXPECT_OK(duet_graph_verify(graph));
    char *text = print(graph);
    assert_string_equal(text, out);
    free(text);
    duet_graph_free(graph);
}

/* A graph of two inputs. */
#define HEAD "graph @g(%0: f32[4], %1: f32[4]) {\n"
#define XY(body) HEAD body "}\n"

static duet_status algebra_and_dce(duet_graph *graph) {
    TRY(duet_pass_algebra(graph));
    return duet_pass_dce(graph);
}

/* ---- common subexpressions ----------------------------------------------------------------------
 */

static void equal_nodes_become_one(void **state) {
    (void)state;
    expect_pass(duet_pass_cse,
                XY("  %2: f32[4] = mul(%0, %1)\n"
                   "  %3: f32[4] = mul(%0, %1)\n"
                   "  %4: f32[4] = neg(%3)\n"
                   "  %5: f32[4] = neg(%2)\n"
                   "  %6: f32[4] = add(%4, %5)\n"
                   "  return %6, %5\n"),
                XY("  %2: f32[4] = mul(%0, %1)\n"
                   "  %3: f32[4] = neg(%2)\n"
                   "  %4: f32[4] = add(%3, %3)\n"
                   "  return %4, %3\n"));
}

static void nodes_that_only_look_alike_stay(void **state) {
    (void)state;
    static const char *const graph = XY("  %2: f32[4] = sub(%0, %1)\n"
                                        "  %3: f32[4] = sub(%1, %0)\n"
                                        "  %4: f32[] = sum(%0)\n"
                                        "  %5: f32[] = mean(%0)\n"
                                        "  %6: f32[1] = sum(%0) {keepdims=true}\n"
                                        "  %7: f32[] = constant() {value=[0]}\n"
                                        "  %8: f32[] = constant() {value=[-0]}\n"
                                        "  return %2, %3, %4, %5, %6, %7, %8\n");
    expect_pass(duet_pass_cse, graph, graph);
}

static void equal_constants_become_one(void **state) {
    (void)state;
    expect_pass(duet_pass_cse,
                XY("  %2: f32[2] = constant() {value=[1,2]}\n"
                   "  %3: f32[2] = constant() {value=[1,2]}\n"
                   "  %4: f32[2] = constant() {value=[1,3]}\n"
                   "  return %2, %3, %4\n"),
                XY("  %2: f32[2] = constant() {value=[1,2]}\n"
                   "  %3: f32[2] = constant() {value=[1,3]}\n"
                   "  return %2, %2, %3\n"));
}

static void reads_of_a_variable_are_one_until_it_is_written(void **state) {
    (void)state;
    expect_pass(duet_pass_cse,
                XY("  %2: f32[4] = variable \"v\"\n"
                   "  %3: f32[4] = read(%2)\n"
                   "  %4: f32[4] = read(%2)\n"
                   "  assign_add(%2, %0)\n"
                   "  %5: f32[4] = read(%2)\n"
                   "  %6: f32[4] = read(%2)\n"
                   "  return %3, %4, %5, %6\n"),
                XY("  %2: f32[4] = variable \"v\"\n"
                   "  %3: f32[4] = read(%2)\n"
                   "  assign_add(%2, %0)\n"
                   "  %4: f32[4] = read(%2)\n"
                   "  return %3, %3, %4, %4\n"));
}

static void random_draws_and_effects_are_never_one(void **state) {
    (void)state;
    static const char *const graph = XY("  %2: i32[4] = variable \"rng\"\n"
                                        "  %3: f32[4] = random_uniform(%2) {shape=[4]}\n"
                                        "  %4: f32[4] = random_uniform(%2) {shape=[4]}\n"
                                        "  %5: f32[4] = print(%0)\n"
                                        "  %6: f32[4] = print(%0)\n"
                                        "  return %3, %4, %5, %6\n");
    expect_pass(duet_pass_cse, graph, graph);
}

/* ---- dead code ---------------------------------------------------------------------------------
 */

static void what_nothing_uses_goes(void **state) {
    (void)state;
    expect_pass(duet_pass_dce,
                XY("  %2: f32[4] = neg(%0)\n"
                   "  %3: f32[4] = exp(%2)\n"
                   "  %4: f32[4] = add(%0, %1)\n"
                   "  %5: f32[] = sum(%3)\n"
                   "  return %4\n"),
                XY("  %2: f32[4] = add(%0, %1)\n"
                   "  return %2\n"));
}

static void effects_stay_with_all_they_need(void **state) {
    (void)state;
    expect_pass(duet_pass_dce,
                XY("  %2: f32[4] = variable \"v\"\n"
                   "  %3: f32[4] = neg(%0)\n"
                   "  %4: f32[4] = read(%2)\n"
                   "  assign(%2, %3)\n"
                   "  %5: f32[4] = print(%1)\n"
                   "  return %0\n"),
                XY("  %2: f32[4] = variable \"v\"\n"
                   "  %3: f32[4] = neg(%0)\n"
                   "  assign(%2, %3)\n"
                   "  %4: f32[4] = print(%1)\n"
                   "  return %0\n"));
}

/* ---- constants
 * ----------------------------------------------------------------------------------- */

static void nodes_of_constants_are_computed(void **state) {
    (void)state;
    expect_pass(duet_pass_fold,
                XY("  %2: f32[3] = constant() {value=[1,2,3]}\n"
                   "  %3: f32[] = constant() {value=[0.5]}\n"
                   "  %4: f32[3] = mul(%2, %3)\n"
                   "  %5: f32[] = sum(%4)\n"
                   "  %6: f32[4] = mul(%0, %5)\n"
                   "  return %6\n"),
                XY("  %2: f32[3] = constant() {value=[1,2,3]}\n"
                   "  %3: f32[] = constant() {value=[0.5]}\n"
                   "  %4: f32[3] = constant() {value=[0.5,1,1.5]}\n"
                   "  %5: f32[] = constant() {value=[3]}\n"
                   "  %6: f32[4] = mul(%0, %5)\n"
                   "  return %6\n"));
}

static void special_values_fold_as_they_compute(void **state) {
    (void)state;
    expect_pass(
        duet_pass_fold,
        XY("  %2: f32[3] = constant() {value=[inf,-0,1]}\n"
           "  %3: f32[] = constant() {value=[0]}\n"
           "  %4: f32[3] = add(%2, %3)\n"
           "  %5: f32[3] = div(%2, %3)\n"
           "  return %4, %5\n"),
        XY("  %2: f32[3] = constant() {value=[inf,-0,1]}\n"
           "  %3: f32[] = constant() {value=[0]}\n"
           "  %4: f32[3] = constant() {value=[inf,0,1]}\n"
           "  %5: f32[3] = constant() {value=[inf,-nan,inf]}\n" /* as the processor has it */
           "  return %4, %5\n"));
}

/* tvm #7530 */
static void effects_and_large_results_are_not_folded(void **state) {
    (void)state;
    static const char *const graph = XY("  %2: f32[] = constant() {value=[1]}\n"
                                        "  %3: f32[] = print(%2)\n"
                                        "  %4: f32[20000] = broadcast_to(%2) {shape=[20000]}\n"
                                        "  return %3, %4\n");
    expect_pass(duet_pass_fold, graph, graph);
}

/* ---- algebra
 * ------------------------------------------------------------------------------------- */

/* `lines` define %9 from %0 and constants; all of it is %0. */
static void expect_neutral(const char *lines) {
    char in[1024];
    snprintf(in, sizeof in, "%s%s  return %%9\n}\n", HEAD, lines);
    expect_pass(algebra_and_dce, in, XY("  return %0\n"));
}

static void what_changes_no_bit_is_dropped(void **state) {
    (void)state;
    expect_neutral("  %2: f32[] = constant() {value=[1]}\n  %9: f32[4] = mul(%0, %2)\n");
    expect_neutral("  %2: f32[] = constant() {value=[1]}\n  %9: f32[4] = mul(%2, %0)\n");
    expect_neutral("  %2: f32[] = constant() {value=[1]}\n  %9: f32[4] = div(%0, %2)\n");
    expect_neutral("  %2: f32[] = constant() {value=[0]}\n  %9: f32[4] = sub(%0, %2)\n");
    expect_neutral("  %2: f32[] = constant() {value=[-0]}\n  %9: f32[4] = add(%0, %2)\n");
    expect_neutral("  %2: f32[4] = neg(%0)\n  %9: f32[4] = neg(%2)\n");
    expect_neutral("  %9: f32[4] = reshape(%0) {shape=[4]}\n");
    expect_neutral("  %9: f32[4] = broadcast_to(%0) {shape=[4]}\n");
    expect_neutral("  %9: f32[4] = cast(%0) {dtype=f32}\n");
}

static void what_is_done_twice_is_done_once(void **state) {
    (void)state;
    expect_pass(algebra_and_dce,
                XY("  %2: f32[4] = relu(%0)\n"
                   "  %3: f32[4] = relu(%2)\n"
                   "  %4: f32[4] = abs(%1)\n"
                   "  %5: f32[4] = abs(%4)\n"
                   "  %6: f32[4] = abs(%5)\n"
                   "  return %3, %6\n"),
                XY("  %2: f32[4] = relu(%0)\n"
                   "  %3: f32[4] = abs(%1)\n"
                   "  return %2, %3\n"));
}

/* `lines` define %9, and stay as they are. tensorflow #119428, #119429, #123169. */
static void expect_untouched(const char *lines) {
    char in[1024];
    snprintf(in, sizeof in, "%s%s}\n", HEAD, lines);
    expect_pass(algebra_and_dce, in, in);
}

static void what_may_change_a_bit_stays(void **state) {
    (void)state;
    expect_untouched("  %2: f32[] = constant() {value=[0]}\n"
                     "  %3: f32[4] = mul(%0, %2)\n  return %3\n"); /* 0 * Inf is NaN */
    expect_untouched("  %2: f32[] = constant() {value=[0]}\n"
                     "  %3: f32[4] = add(%0, %2)\n  return %3\n"); /* -0 + 0 is 0 */
    expect_untouched("  %2: f32[] = constant() {value=[-0]}\n"
                     "  %3: f32[4] = sub(%0, %2)\n  return %3\n");
    expect_untouched("  %2: f32[4] = sub(%0, %0)\n  return %2\n");
    expect_untouched("  %2: f32[4] = div(%0, %0)\n  return %2\n");
    expect_untouched("  %2: f32[] = constant() {value=[0]}\n"
                     "  %3: f32[4] = div(%2, %0)\n  return %3\n");
    expect_untouched("  %2: f32[] = constant() {value=[1]}\n"
                     "  %3: f32[4] = div(%2, %0)\n"
                     "  %4: f32[4] = div(%2, %3)\n  return %4\n");
    expect_untouched("  %2: f32[4] = exp(%0)\n  %3: f32[4] = exp(%1)\n"
                     "  %4: f32[4] = mul(%2, %3)\n  return %4\n");
    expect_untouched("  %2: f32[4] = square(%0)\n  %3: f32[4] = sqrt(%2)\n  return %3\n");
    expect_untouched("  %2: f32[4] = exp(%0)\n  %3: f32[4] = log(%2)\n  return %3\n");
}

static void a_neutral_operand_that_widens_stays(void **state) {
    (void)state;
    expect_untouched("  %2: f32[1] = constant() {value=[1]}\n"
                     "  %3: f32[] = sum(%0)\n"
                     "  %4: f32[1] = mul(%3, %2)\n  return %4\n");
    expect_untouched("  %2: f32[1,4] = reshape(%0) {shape=[1,4]}\n  return %2\n");
    expect_untouched("  %2: i32[4] = cast(%0) {dtype=i32}\n"
                     "  %3: f32[4] = cast(%2) {dtype=f32}\n  return %3\n");
}

/* ---- fusion
 * ---------------------------------------------------------------------------------------- */

static void a_chain_becomes_one_node(void **state) {
    (void)state;
    expect_pass(duet_pass_fuse,
                XY("  %2: f32[] = constant() {value=[0.5]}\n"
                   "  %3: f32[4] = mul(%0, %2)\n"
                   "  %4: f32[4] = add(%3, %1)\n"
                   "  %5: f32[4] = relu(%4)\n"
                   "  return %5\n"),
                "graph @g.1(%0: f32[4], %1: f32[4]) {\n"
                "  %2: f32[] = constant() {value=[0.5]}\n"
                "  %3: f32[4] = mul(%0, %2)\n"
                "  %4: f32[4] = add(%3, %1)\n"
                "  %5: f32[4] = relu(%4)\n"
                "  return %5\n"
                "}\n" XY("  %2: f32[] = constant() {value=[0.5]}\n"
                         "  %3: f32[4] = fused(%0, %1) {body=@g.1}\n"
                         "  return %3\n"));
}

static void a_value_that_is_used_outside_leaves_the_group_too(void **state) {
    (void)state;
    expect_pass(duet_pass_fuse,
                XY("  %2: f32[4] = mul(%0, %1)\n"
                   "  %3: f32[4] = relu(%2)\n"
                   "  %4: f32[] = sum(%2)\n"
                   "  return %3, %4\n"),
                "graph @g.1(%0: f32[4], %1: f32[4]) {\n"
                "  %2: f32[4] = mul(%0, %1)\n"
                "  %3: f32[4] = relu(%2)\n"
                "  return %2, %3\n"
                "}\n" XY("  %2: f32[4], %3: f32[4] = fused(%0, %1) {body=@g.1}\n"
                         "  %4: f32[] = sum(%2)\n"
                         "  return %3, %4\n"));
}

static void a_reduction_between_parts_the_groups(void **state) {
    (void)state;
    static const char *const graph =
        XY("  %2: f32[4] = exp(%0)\n" /* its sum is needed before ... */
           "  %3: f32[] = sum(%2)\n"
           "  %4: f32[4] = div(%2, %3)\n" /* ... this */
           "  return %4\n");
    expect_pass(duet_pass_fuse, graph, graph);
}

static void other_shapes_and_types_do_not_join(void **state) {
    (void)state;
    static const char *const graph = XY("  %2: f32[4] = neg(%0)\n"
                                        "  %3: f64[4] = cast(%2) {dtype=f64}\n"
                                        "  %4: f32[1,4] = reshape(%1) {shape=[1,4]}\n"
                                        "  %5: f32[1,4] = relu(%4)\n"
                                        "  return %3, %5\n");
    expect_pass(duet_pass_fuse, graph, graph);
}

static void reads_and_writes_keep_their_order(void **state) {
    (void)state;
    expect_pass(duet_pass_fuse,
                XY("  %2: f32[4] = variable \"v\"\n"
                   "  %3: f32[4] = read(%2)\n"
                   "  %4: f32[4] = neg(%3)\n"
                   "  assign(%2, %1)\n"
                   "  %5: f32[4] = read(%2)\n"
                   "  %6: f32[4] = mul(%4, %5)\n"
                   "  return %6\n"),
                "graph @g.1(%0: f32[4], %1: f32[4]) {\n"
                "  %2: f32[4] = neg(%0)\n"
                "  %3: f32[4] = mul(%2, %1)\n"
                "  return %3\n"
                "}\n" XY("  %2: f32[4] = variable \"v\"\n"
                         "  %3: f32[4] = read(%2)\n"
                         "  assign(%2, %1)\n"
                         "  %4: f32[4] = read(%2)\n"
                         "  %5: f32[4] = fused(%3, %4) {body=@g.1}\n"
                         "  return %5\n"));
}

/* ---- failures ----------------------------------------------------------------------------------
 */

static void a_refused_pattern_hides_no_failure(void **state) {
    (void)state;
    static const char *const graph = "graph @g(%0: f32[2,3], %1: f32[3,2], %2: f32[2,2]) {\n"
                                     "  %3: f32[2,2] = matmul(%0, %1)\n"
                                     "  %4: f32[2,2] = add(%3, %2)\n" /* no bias: no dense */
                                     "  return %4\n"
                                     "}\n";
    expect_pass(duet_pass_epilogue, graph, graph);
    assert_int_equal(duet_error_code(), DUET_OK);
    duet_fail(DUET_STATUS_IO, "first");
    duet_fail_at("first.c", 1);
    expect_pass(duet_pass_epilogue, graph, graph);
    duet_fail_at("second.c", 2); /* adds nothing: where is known */
    assert_string_equal(duet_error_message(), "first (at first.c:1)");
    EXPECT_ERROR(DUET_STATUS_IO, "first");
}

static void a_graph_without_memory_is_not_renumbered(void **state) {
    (void)state;
    duet_graph *graph = parse(XY("  %2: f32[4] = neg(%0)\n  return %2\n"));
    graph->inputs[1] = -1; /* as duet_graph_add_input leaves it */
    graph->out_of_memory = true;
    assert_int_equal(duet_graph_compact(graph), DUET_STATUS_MEMORY);
    EXPECT_ERROR(DUET_STATUS_MEMORY, "graph g: no memory");
    assert_int_equal(graph->inputs[1], -1);
    duet_graph_free(graph);
}

int main(void) {
    setenv("DUET_VERIFY", "1", 1);
    const struct CMUnitTest tests[] = {
        TEST(equal_nodes_become_one),
        TEST(nodes_that_only_look_alike_stay),
        TEST(equal_constants_become_one),
        TEST(reads_of_a_variable_are_one_until_it_is_written),
        TEST(random_draws_and_effects_are_never_one),
        TEST(what_nothing_uses_goes),
        TEST(effects_stay_with_all_they_need),
        TEST(nodes_of_constants_are_computed),
        TEST(special_values_fold_as_they_compute),
        TEST(effects_and_large_results_are_not_folded),
        TEST(what_changes_no_bit_is_dropped),
        TEST(what_is_done_twice_is_done_once),
        TEST(what_may_change_a_bit_stays),
        TEST(a_neutral_operand_that_widens_stays),
        TEST(a_chain_becomes_one_node),
        TEST(a_value_that_is_used_outside_leaves_the_group_too),
        TEST(a_reduction_between_parts_the_groups),
        TEST(other_shapes_and_types_do_not_join),
        TEST(reads_and_writes_keep_their_order),
        TEST(a_refused_pattern_hides_no_failure),
        TEST(a_graph_without_memory_is_not_renumbered),
    };
    return cmocka_run_group_tests_name("passes", tests, NULL, NULL);
}
