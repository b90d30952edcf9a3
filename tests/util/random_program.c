#define _GNU_SOURCE /* asprintf */
#include "random_program.h"

#include "function.h"
#include "random_ops.h"
#include "sample.h"
#include "settings.h"

#include <stdlib.h>

/* A program and what it works on. The inner program shares the outer one's variables. */
typedef struct program {
    uint64_t seed;
    int steps;
    duet_tensor *variables[PROGRAM_VARIABLES + 1];
    duet_function *inner;
    struct program *inner_program;
} program;

static duet_status body(duet_tensor **out, duet_tensor *const *in, void *user) {
    const program *p = user;
    random_run run = {.random = p->seed, .variables = p->variables, .inner = p->inner};
    for (int i = 0; i < PROGRAM_INPUTS; i++) random_push(&run, in[i]);
    for (int i = 0; i < p->steps; i++) random_step(&run);
    duet_error_clear();
    for (int i = 0; i < PROGRAM_RESULTS; i++) /* the last value first */
        out[i] = run.pool[i < run.count ? run.count - 1 - i : 0];
    return DUET_OK;
}

static void make_variables(program *p) {
    uint64_t random = p->seed ^ 0x5DEECE66D;
    for (int i = 0; i < PROGRAM_VARIABLES; i++) {
        duet_spec spec = random_spec(&random, true);
        p->variables[i] = duet_variable_new(i == 1 ? "w" : NULL,
                                            sample_tensor(&spec, FILL_DOMAIN, -1, 1, &random));
    }
    p->variables[PROGRAM_VARIABLES] = duet_rng_new(p->seed);
}

static void make_program(program *p, program *inner, uint64_t seed, int steps) {
    *p = (program){.seed = seed, .steps = steps};
    make_variables(p);
    *inner = (program){.seed = seed + 77, .steps = 6};
    memcpy(inner->variables, p->variables, sizeof p->variables);
    p->inner = duet_function_new("inner", body, PROGRAM_INPUTS, PROGRAM_RESULTS, inner);
}

static void free_program(program *p) {
    duet_function_free(p->inner);
    for (int i = 0; i <= PROGRAM_VARIABLES; i++) duet_release(p->variables[i]);
}

/* The inputs' types depend on the seed alone, their data on `call` too. */
static void make_inputs(duet_tensor **in, uint64_t seed, int call) {
    uint64_t types = seed * 31 + 1, data = seed * 1000 + (uint64_t)call;
    for (int i = 0; i < PROGRAM_INPUTS; i++) {
        duet_spec spec = random_spec(&types, i == 0);
        bool special = call == 2 && seed % 4 == 0;
        in[i] = sample_tensor(&spec, special ? FILL_SPECIAL : FILL_DOMAIN, -2, 2, &data);
    }
}

/* ---- comparing ---------------------------------------------------------------------------------
 */

static bool complain(char **why, const char *what, int call, int index) {
    char text[200];
    snprintf(text, sizeof text, "call %d: %s %d", call, what, index);
    return *why = strdup(text), false;
}

static bool calls_agree(program *eager, program *graph, duet_function *f, int call, char **why) {
    duet_tensor *in[PROGRAM_INPUTS], *e[PROGRAM_RESULTS], *g[PROGRAM_RESULTS];
    make_inputs(in, eager->seed, call);
    bool before = duet_run_eagerly(true);
    duet_status status = body(e, in, eager);
    duet_run_eagerly(before);
    duet_status other = duet_call(f, g, in);
    if (status != other) return complain(why, duet_error_message(), call, (int)other);
    for (int i = 0; i < PROGRAM_RESULTS; i++)
        if (!same_bits(e[i], g[i])) return complain(why, "result", call, i);
    for (int i = 0; i <= PROGRAM_VARIABLES; i++)
        if (!same_bits(eager->variables[i], graph->variables[i]))
            return complain(why, "variable", call, i);
    return true;
}

static char *text_of(const duet_graph *graph) {
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    duet_graph_print(file, graph);
    fclose(file);
    return text;
}

static bool text_comes_back(const duet_graph *graph, char **why) {
    char *text = text_of(graph);
    duet_graph *parsed = duet_graph_parse(text, "program");
    char *again = parsed ? text_of(parsed) : strdup(duet_error_message());
    bool equal = parsed && duet_graph_equal(graph, parsed);
    if (!equal)
        *why = again, again = NULL; /* lines are no part of a graph: only its meaning counts */
    free(again);
    duet_graph_free(parsed);
    free(text);
    return equal;
}

/* Adds the graph's text to what was said. */
static void show_graph(const program *p, duet_function *f, char **why) {
    duet_arg_key keys[PROGRAM_INPUTS];
    duet_tensor *in[PROGRAM_INPUTS];
    make_inputs(in, p->seed, 0);
    for (int i = 0; i < PROGRAM_INPUTS; i++) keys[i] = duet_arg_key_of(in[i]);
    duet_graph *graph = duet_function_trace(f, in, keys);
    char *text = graph ? text_of(graph) : strdup("no graph\n"), *both = NULL;
    duet_graph_free(graph);
    if (asprintf(&both, "%s\n%s", *why, text) < 0) both = NULL;
    free(text);
    free(*why);
    *why = both;
}

bool random_program_agrees(uint64_t seed, int steps, char **why) {
    static const char *const passes[] = {NULL, NULL, NULL, "-fuse", "-inplace", "-cse,-algebra"};
    program eager, graph, inner_eager, inner_graph;
    duet_scope_open();
    duet_error_clear();
    duet_setting_passes(passes[seed % 6]);
    make_program(&eager, &inner_eager, seed, steps);
    make_program(&graph, &inner_graph, seed, steps);
    duet_function *f = duet_function_new("program", body, PROGRAM_INPUTS, PROGRAM_RESULTS, &graph);
    bool agrees = true;
    for (int call = 0; call < 3 && agrees; call++)
        agrees = calls_agree(&eager, &graph, f, call, why);
    if (agrees) agrees = text_comes_back(f->entries->plan->graph, why);
    if (!agrees) show_graph(&graph, f, why);
    duet_function_free(f);
    free_program(&eager);
    free_program(&graph);
    duet_setting_passes(NULL);
    duet_scope_close(NULL);
    return agrees;
}

static void report(uint64_t seed, int steps) {
    char *why = NULL;
    int fewest = 1;
    while (fewest < steps && random_program_agrees(seed, fewest, &why)) fewest++;
    free(why);
    why = NULL;
    random_program_agrees(seed, fewest, &why);
    fprintf(stderr, "seed %llu, %d steps: %s\n", (unsigned long long)seed, fewest,
            why ? why : "agrees when run again");
    free(why);
}

int random_programs_check(uint64_t first, int count, int steps) {
    int failed = 0;
    for (int i = 0; i < count && failed < 5; i++) {
        char *why = NULL;
        uint64_t seed = first + (uint64_t)i;
        if (random_program_agrees(seed, 1 + (int)(seed * 7 % (uint64_t)steps), &why)) continue;
        free(why);
        report(seed, 1 + (int)(seed * 7 % (uint64_t)steps));
        failed++;
    }
    return failed;
}
