/* The text form of graphs: what it looks like, that it comes back as it was, and what is said where
 * it is wrong. */
#include "expect.h"
#include "function.h"

#include <math.h>

static char *print(const duet_graph *graph) {
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    duet_graph_print(file, graph);
    fclose(file);
    return text;
}

/* Printed, it is `text` again; parsed from there, an equal graph. */
static void expect_round_trip(const char *text) {
    duet_graph *graph = duet_graph_parse(text, "t");
    if (!graph) fail_msg("%s\n%s", duet_error_message(), text);
    char *again = print(graph);
    assert_string_equal(again, text);
    duet_graph *second = duet_graph_parse(again, "t");
    assert_true(duet_graph_equal(graph, second));
    free(again);
    duet_graph_free(graph);
    duet_graph_free(second);
}

/* ---- round trips -------------------------------------------------------------------------------
 */

static void text_comes_back_as_it_was(void **state) {
    (void)state;
    expect_round_trip("graph @nothing(%0: f32[2]) {\n  return %0\n}\n");
    expect_round_trip("graph @step(%0: f32[64,20], %1: f32[20,64]) {\n"
                      "  %2: f32[20,64] = variable \"w\"\n"
                      "  %3: f32[] = variable \"\"\n"
                      "  %4: f32[20,64] = read(%2)\n"
                      "  %5: f32[64,64] = matmul(%0, %4)\n"
                      "  %6: f32[20,20] = matmul(%1, %4) {transpose_b=true}\n"
                      "  %7: f32[1,20] = sum(%6) {axes=[0], keepdims=true}\n"
                      "  %8: f64[1,20] = cast(%7) {dtype=f64}\n"
                      "  %9: f32[] = read(%3)\n"
                      "  sgd(%2, %1, %9)\n"
                      "  return %5, %8, %5\n"
                      "}\n");
    expect_round_trip("graph @free(%0: f32[?,20]) {\n"
                      "  %1: f32[?,20] = relu(%0)\n"
                      "  return %1\n"
                      "}\n");
}

static void every_bit_of_a_constant_comes_back(void **state) {
    (void)state;
    expect_round_trip(
        "graph @c() {\n"
        "  %0: f32[7] = constant() {value=[0.100000001,-0,inf,-inf,nan,-nan,1.40129846e-45]}\n"
        "  %1: f64[3] = constant() {value=[0.10000000000000001,4.9406564584124654e-324,-nan]}\n"
        "  %2: i32[2] = constant() {value=[-2147483648,2147483647]}\n"
        "  %3: bool[2] = constant() {value=[0,1]}\n"
        "  %4: f32[0,3] = constant() {value=[]}\n"
        "  %5: f32[] = constant() {value=[16777216]}\n"
        "  return %0, %1, %2, %3, %4\n"
        "}\n");
}

static void sub_graphs_come_first(void **state) {
    (void)state;
    expect_round_trip("graph @g.1(%0: f32[4]) {\n"
                      "  %1: f32[4] = neg(%0)\n"
                      "  %2: f32[4] = exp(%1)\n"
                      "  return %1, %2\n"
                      "}\n"
                      "graph @g(%0: f32[4]) {\n"
                      "  %1: f32[4], %2: f32[4] = fused(%0) {body=@g.1}\n"
                      "  return %2, %1\n"
                      "}\n");
}

static void comments_blanks_and_numbers_are_the_writer_s(void **state) {
    (void)state;
    duet_graph *graph = duet_graph_parse("# what it is for\n"
                                         "graph @g ( %7 : f32[2] ) {\n\n"
                                         "%3:f32[2]=neg( %7 )#why\n"
                                         "return %3 }\n",
                                         "t");
    assert_non_null(graph);
    char *text = print(graph);
    assert_string_equal(text, "graph @g(%0: f32[2]) {\n  %1: f32[2] = neg(%0)\n  return %1\n}\n");
    free(text);
    duet_graph_free(graph);
}

/* ---- names and texts of every kind
 * ----------------------------------------------------------------- */

static duet_tensor *odd_variable;
static const char *odd_label;
static duet_tensor *with_odd_names(duet_tensor *x) {
    return duet_print(duet_add(x, odd_variable), odd_label, 2);
}

static void odd_names_come_back(void **state) {
    (void)state;
    static const char *const names[] = {"plain",
                                        "two words",
                                        "a \"quoted\" one",
                                        "back\\slash",
                                        "line\nbreak",
                                        "brace } and , comma",
                                        "",
                                        "%3 # no comment",
                                        "\xc3\xa4"};
    for (int i = 0; i < LENGTH(names); i++) {
        odd_label = names[i];
        odd_variable = duet_variable_new(names[i], duet_f32(1));
        duet_function *f = duet_function_unary(names[i], with_odd_names);
        duet_tensor *x = duet_f32(0);
        duet_arg_key key = duet_arg_key_of(x);
        duet_graph *graph = duet_function_trace(f, &x, &key);
        assert_non_null(graph);
        char *text = print(graph);
        duet_graph *parsed = duet_graph_parse(text, "t");
        if (!parsed) fail_msg("%s\n%s", duet_error_message(), text);
        char *again = print(parsed);
        if (!duet_graph_equal(graph, parsed)) fail_msg("%s\nis not\n%s", again, text);
        free(text);
        free(again);
        duet_graph_free(graph);
        duet_graph_free(parsed);
        duet_function_free(f);
        duet_release(odd_variable);
    }
}

/* ---- equality
 * ------------------------------------------------------------------------------------ */

static void equality_is_of_meaning(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool equal; /* to the first */
    } graphs[] = {
        {"graph @a(%0: f32[2]) { %1: f32[1] = sum(%0) {keepdims=true} return %1 }", true},
        {"graph @b(%5: f32[2]) { %9: f32[1] = sum(%5) {axes=[], keepdims=1} return %9 }", true},
        {"graph @a(%0: f32[2]) { %1: f32[] = sum(%0) return %1 }", false},
        {"graph @a(%0: f32[2]) { %1: f32[1] = max(%0) {keepdims=true} return %1 }", false},
        {"graph @a(%0: f64[2]) { %1: f64[1] = sum(%0) {keepdims=true} return %1 }", false},
        {"graph @a(%0: f32[2]) { %1: f32[1] = sum(%0) {keepdims=true} return %1, %1 }", false},
        {"graph @a(%0: f32[2]) { %1: f32[1] = sum(%0) {keepdims=true} return %0 }", false},
        {"graph @a(%0: f32[2], %2: f32[2]) { %1: f32[1] = sum(%0) {keepdims=true} return %1 }",
         false},
    };
    duet_graph *first = duet_graph_parse(graphs[0].text, "first");
    for (int i = 0; i < LENGTH(graphs); i++) {
        duet_graph *graph = duet_graph_parse(graphs[i].text, "other");
        if (!graph) fail_msg("graph %d: %s", i, duet_error_message());
        assert_int_equal(duet_graph_equal(first, graph), graphs[i].equal);
        duet_graph_free(graph);
    }
    duet_graph_free(first);
}

/* ---- faults
 * ---------------------------------------------------------------------------------------- */

/* A loop over f32[2] and its gradient; the gradient's body is @g, the line 4. */
#define LOOP(gradient, call)                                                                       \
    "graph @b(%0: f32[2]) { %1: f32[2] = neg(%0) return %1 }\n"                                    \
    "graph @c(%0: f32[2]) { %1: bool[] = constant() {value=[0]} return %1 }\n"                     \
    "graph @g(%0: f32[2], %1: f32[2]" gradient " }\n"                                              \
    "graph @m(%0: f32[2], %1: f32[2], %2: f32[3]) { %3: f32[2] = while_grad(" call                 \
    ") {body=@b, cond=@c, gradient=@g} return %3 }\n"
#define G "graph @g(%0: f32[2,3]) {\n" /* what follows is on line 2 */

static void expect_fault(const char *text, const char *message) {
    duet_error_clear();
    duet_graph *graph = duet_graph_parse(text, "t");
    if (graph || duet_error_code() == DUET_OK) fail_msg("was taken: %s", text);
    if (!strstr(duet_error_message(), message))
        fail_msg("expected \"%s\", got \"%s\" for: %s", message, duet_error_message(), text);
}

typedef struct text_fault {
    const char *text, *message;
} text_fault;

static void expect_faults(const text_fault *faults, int count) {
    for (int i = 0; i < count; i++) expect_fault(faults[i].text, faults[i].message);
}

static void faults_say_where_and_what_was_expected(void **state) {
    (void)state;
    static const text_fault faults[] = {
        {"", "t:1:1: expected \"graph\", got the end of the text"},
        {"\n # nothing\n", "t:3:1: expected \"graph\", got the end of the text"},
        {"grph @g() { return }", "t:1:1: expected \"graph\", got \"grph\""},
        {"graph g() { return }", "t:1:7: expected \"@\", got \"g\""},
        {"graph @g(%0: f32[2) { return %0 }", "t:1:14: expected a type such as f32[2,3]"},
        {"graph @g(%0: f32[2], %0: f32[2]) { return %0 }",
         "t:1:22: expected a new value, got %0 again"},
        {"graph @g(%x: f32[2]) { return }",
         "t:1:11: expected a value's number from 0 to 10000000, got \"x:\""},
        {"graph @g(%99999999999: f32[2]) { return }", "t:1:11: expected a value's number"},
        {G "  return %1\n}", "t:2:10: expected a value defined above, got %1"},
        {G "  %1: f32[2,3] = frobnicate(%0)\n  return %1\n}", "t:2:18: no op \"frobnicate\""},
        {G "  %1: f32[2,3] = rleu(%0)\n  return %1\n}", "relu"},
        {G "  %1: f32[3,2] = neg(%0)\n  return %1\n}",
         "t:2:3: expected %1 to be f32[2,3], got f32[3,2]"},
        {G "  %1: f32[2,3] = add(%0)\n  return %1\n}", "t:2:3: add: expected 2 inputs, got 1"},
        {G "  %1: f32[2,2] = matmul(%0, %0)\n  return %1\n}",
         "t:2:3: matmul: inner dimensions differ"},
        {G "  %1: f32[] = sum(%0) {axis=[0]}\n  return %1\n}",
         "t:2:24: sum: no attribute \"axis\"; it has axes, keepdims"},
        {G "  %1: f32[] = sum(%0) {keepdims=maybe}\n  return %1\n}",
         "t:2:33: sum: attribute keepdims: expected true or false"},
        {G "  %1: f32[] = sum(%0) {axes=[0], axes=[1]}\n  return %1\n}",
         "t:2:34: sum: \"axes\" is given twice"},
        {G "  %1: f64[2,3] = cast(%0)\n  return %1\n}",
         "t:2:26: cast: expected the attribute \"dtype\""},
        {G "  %1: f32[2] = constant() {value=[1]}\n  return %1\n}",
         "t:2:36: expected 2 numbers for f32[2], got 1"},
        {G "  %1: f32[2] = constant() {value=[1,x]}\n  return %1\n}",
         "t:2:37: expected a number, got \"x"},
        {G "  %1: f32[2,3] = fused(%0) {body=@h}\n  return %1\n}",
         "t:2:35: expected a graph defined above, got @h"},
        {G "  %1: f32[2] = variable \"v\"\n  return %1\n}",
         "expected a value, got a variable: read it first"},
        {G "  %1: f32[2,3] = variable \"v\"\n  %2: f32[2,3] = neg(%1)\n  return %2\n}",
         "t:3:22: neg: x: expected a value, got a variable: read it first"},
        {G "  assign(%0, %0)\n  return %0\n}",
         "t:2:10: assign: variable: expected a variable, got a value"},
        {LOOP(") { %2: f32[9] = constant() {value=[1,2,3,4,5,6,7,8,9]} return %2", "%0, %1"),
         "while_grad: state 0 is f32[2], its gradient f32[9]"},
        {LOOP(") { return %0, %1", "%0, %1"), "while_grad: expected 1 result of gradient, got 2"},
        {LOOP(", %2: f32[3]) { return %1", "%0, %1, %2"),
         "while_grad: expected a gradient for each state"},
        {LOOP(") { return %1", "%0, %2"), "while_grad: state 0 is f32[2], its gradient f32[3]"},
    };
    expect_faults(faults, LENGTH(faults));
}

/* What ends too early, goes on too long, or is no type, number or text. */
static void faults_of_tokens_say_what_came(void **state) {
    (void)state;
    static const text_fault faults[] = {
        {G "  return %0\n", "t:3:1: expected \",\" or \"}\", got the end of the text"},
        {G "  %1: f32[2,3] = neg(%0\n  return %1\n}",
         "t:3:3: expected \",\" or \")\", got \"return\""},
        {G "}\n", "t:2:1: expected an op's name or \"return\", got \"}\""},
        {G "  return %0\n  %1: f32[2,3] = neg(%0)\n}",
         "t:3:3: expected \",\" or \"}\", got \"%1:\""},
        {G "  return %0\n}\njunk", "t:4:1: expected \"graph\", got \"junk\""},
        {G "  return %0\n}\n" G "  return %0\n}",
         "t:4:8: expected a new graph's name, got @g again"},
        {"graph @g(%0: f32[-2]) { return %0 }", "t:1:14: expected a type such as f32[2,3] (f32, "
                                                "f64, i32 or bool; up to 6 dimensions), got "
                                                "\"f32[-2]\""},
        {"graph @g(%0: f32[1,1,1,1,1,1,1]) { return %0 }", "got \"f32[1,1,1,1,1,1,1]\""},
        {G "  %1: f32[] = sum(%0) {axes=[99999999999999999999]}\n  return %1\n}",
         "t:2:29: sum: attribute axes: expected up to 6 integers like [0,1], got \"[9999999999"},
        {G "  %1: f32[] = sum(%0) {axes=[0\n  return %1\n}",
         "t:2:29: sum: attribute axes: expected"},
        {G "  %1: f32[2] = constant() {value=[1,2,3]}\n  return %1\n}",
         "t:2:38: expected \"]\" behind 2 numbers for f32[2], got \",\""},
        {G "  %1: f32[9999999999,9999999999] = constant() {value=[1]}\n  return %1\n}",
         "has more bytes than a program can address"},
        {G "  %1: f32[?] = variable \"v\"\n  return %0\n}", "t:2:24: expected every dimension"},
        {G "  %1: f32[2] = variable v\n  return %0\n}",
         "t:2:25: expected a text in quotes, got \"v"},
        {G "  %1: f32[2] = variable \"v\n  return %0\n}",
         "t:2:27: expected \" behind the text, got the end of the line"},
    };
    expect_faults(faults, LENGTH(faults));
}

/* A constant of `type` with those elements, the first of which is at t:1:%d. */
static void expect_wrong_number(const char *type, const char *elements, const char *message) {
    char text[256], where[256];
    int at = snprintf(text, sizeof text, "graph @g() { %%0: %s = constant() {value=[", type) + 1;
    snprintf(text + at - 1, sizeof text - (size_t)at, "%s]} return %%0 }", elements);
    snprintf(where, sizeof where, "t:1:%d: expected %s", at, message);
    expect_fault(text, where);
}

static void a_number_is_one_that_its_type_has(void **state) {
    (void)state;
    expect_wrong_number("bool[1]", "7", "true or false, 1 or 0, got \"7\"");
    expect_wrong_number("bool[1]", "nan", "true or false, 1 or 0, got \"nan\"");
    expect_wrong_number("bool[1]", "truely", "true or false, 1 or 0, got \"truely\"");
    expect_wrong_number("f32[1]", "1e39", "a number that f32 can hold, or inf, got \"1e39\"");
    expect_wrong_number("f64[1]", "-1e309", "a number that f64 can hold, or inf, got \"-1e309\"");
    expect_wrong_number("f32[1]", "\1\xff", "a number, got \"??\"");
    expect_fault("graph @g() { %0: f32[?] = constant() {value=[1]} return %0 }",
                 "t:1:45: expected every dimension to be a number here, got f32[?]");
    duet_graph *graph =
        duet_graph_parse("graph @g() { %0: bool[4] = constant() {value=[true, false,1,0]}\n"
                         "%1: f32[3] = constant() {value=[inf, -INF, nan]} return %0, %1 }",
                         "t");
    assert_non_null(graph);
    const duet_tensor *flags = graph->nodes[0].attrs[0].tensor;
    const float *numbers = duet_data(graph->nodes[1].attrs[0].tensor);
    assert_memory_equal(flags->data, ((uint8_t[]){1, 0, 1, 0}), 4);
    assert_true(numbers[0] > 0 && isinf(numbers[0]) && numbers[1] < 0 && isinf(numbers[1]));
    assert_true(isnan(numbers[2]));
    duet_graph_free(graph);
}

/* Line ends of any editor, blanks between any two tokens, and a mark at the begin of the file. */
static void blanks_mean_nothing(void **state) {
    (void)state;
    duet_graph *plain = duet_graph_parse(
        "graph @g(%0: f32[2,3]) {\n  %1: f32[1,3] = sum(%0) {axes=[0], keepdims=true}\n"
        "  return %1\n}\n",
        "t");
    duet_graph *spaced = duet_graph_parse("\xef\xbb\xbfgraph @g ( %0 : f32[2,3] ) {\r\n%1 : "
                                          "f32[1,3]\r\n= sum ( %0 ) { axes = [ 0\r\n] ,"
                                          " keepdims = true\r\n}\r\nreturn\r\n%1 }",
                                          "t");
    if (!plain || !spaced) fail_msg("%s", duet_error_message());
    assert_true(duet_graph_equal(plain, spaced));
    duet_graph_free(plain);
    duet_graph_free(spaced);
}

static void an_i32_is_told_exactly(void **state) {
    (void)state;
    static const char start[] = "graph @g() { %1: i32[2] = constant() {value=[";
    static const char range[] = "expected an integer from -2147483648 to 2147483647, got";
    static const struct {
        const char *values, *got;
        int column; /* within the values */
    } faults[] = {
        {"-2147483648, 2147483648", "2147483648", 13}, {"1, nan", "nan", 3}, {"1.5, 2", "1.5", 0}};
    for (int i = 0; i < LENGTH(faults); i++) {
        char text[128], message[128];
        snprintf(text, sizeof text, "%s%s]} return %%1 }", start, faults[i].values);
        snprintf(message, sizeof message, "t:1:%d: %s \"%s\"", (int)sizeof start + faults[i].column,
                 range, faults[i].got);
        expect_fault(text, message);
    }
}

/* @s0, and each graph after it with the one before as its body. */
static duet_graph *parse_nested(int depth) {
    char *text;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    fputs("graph @s0(%0: f32[2]) { %1: f32[2] = neg(%0) return %1 }\n", file);
    for (int i = 1; i <= depth; i++)
        fprintf(file,
                "graph @s%d(%%0: f32[2]) { %%1: f32[2] = invoke(%%0) {body=@s%d} return %%1 }\n", i,
                i - 1);
    fclose(file);
    duet_graph *graph = duet_graph_parse(text, "t");
    free(text);
    return graph;
}

static void bodies_nest_so_deep_and_no_deeper(void **state) {
    (void)state;
    duet_graph *graph = parse_nested(64);
    if (!graph) fail_msg("%s", duet_error_message());
    duet_graph_free(graph);
    assert_null(parse_nested(10000));
    assert_string_equal(duet_error_message(),
                        "t:66:57: expected bodies nested at most 64 deep, got 65: @s64");
}

static void full_converts_to_integers_as_cast_does(void **state) {
    (void)state;
    const double values[] = {1e30, -1e30, NAN, 2147483647.5, -2.75, INFINITY};
    const int32_t expected[] = {INT32_MAX, INT32_MIN, 0, INT32_MAX, -2, INT32_MAX};
    for (int i = 0; i < LENGTH(values); i++) {
        duet_tensor *x = duet_full(DUET_SHAPE(3), DUET_I32, values[i]);
        duet_tensor *y = duet_cast(duet_full(DUET_SHAPE(3), DUET_F64, values[i]), DUET_I32);
        for (int j = 0; j < 3; j++) {
            assert_int_equal(((const int32_t *)duet_data(x))[j], expected[i]);
            assert_int_equal(((const int32_t *)duet_data(y))[j], expected[i]);
        }
    }
}

/* Cut anywhere, a text is refused or read, but never more. Under the sanitizers this is worth most.
 */
static void any_part_of_a_text_is_taken_or_refused(void **state) {
    (void)state;
    static const char text[] = "graph @g.1(%0: f32[4]) {\n"
                               "  %1: f32[4] = exp(%0)\n  return %1\n}\n"
                               "graph @g(%0: f32[4]) {\n"
                               "  %1: f32[4] = variable \"v\"\n"
                               "  %2: f32[2] = constant() {value=[1,-nan]}\n"
                               "  %3: f32[4] = fused(%0) {body=@g.1}\n"
                               "  %4: f32[4] = print(%3) {label=\"x\"}\n"
                               "  assign(%1, %4)\n  return %2, %3\n}\n";
    for (size_t length = 0; length < sizeof text - 2; length++) {
        char *part = strndup(text, length);
        duet_graph *graph = duet_graph_parse(part, "part");
        if (length > 60) assert_true(graph == NULL || length < 80); /* @g.1 alone is a graph */
        duet_graph_free(graph);
        for (size_t i = 0; i < 8 && length; i++) { /* and with a character changed */
            char kept = part[(length * 7 + i * 13) % length];
            part[(length * 7 + i * 13) % length] = "%{}[]=,\""[i];
            duet_graph_free(duet_graph_parse(part, "part"));
            part[(length * 7 + i * 13) % length] = kept;
        }
        free(part);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(text_comes_back_as_it_was),
        TEST(every_bit_of_a_constant_comes_back),
        TEST(sub_graphs_come_first),
        TEST(comments_blanks_and_numbers_are_the_writer_s),
        TEST(odd_names_come_back),
        TEST(equality_is_of_meaning),
        TEST(faults_say_where_and_what_was_expected),
        TEST(faults_of_tokens_say_what_came),
        TEST(a_number_is_one_that_its_type_has),
        TEST(blanks_mean_nothing),
        TEST(an_i32_is_told_exactly),
        TEST(bodies_nest_so_deep_and_no_deeper),
        TEST(full_converts_to_integers_as_cast_does),
        TEST(any_part_of_a_text_is_taken_or_refused),
    };
    return cmocka_run_group_tests_name("graph_text", tests, NULL, NULL);
}
