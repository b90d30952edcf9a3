/* A plan as text:
 *
 *     plan @f: 3 steps, arena 512 bytes in 2 buffers; the largest live set is 512
 *
 *       step  result in      node
 *          0  buffer 0       %2: f32[8,8] = exp(%0)
 *          1  buffer 0       %3: f32[8,8] = neg(%2), over %2
 *          2  result 0       %4: f32[8] = sum(%3) ...
 *
 *       buffer     offset      bytes  first   last  0..2
 *            0          0        256      0      2  ###  %2 %3
 *
 * Letters behind steps are branches of a fork: 3a and 5b may run at the same time.
 */
#include "plan.h"

#include <inttypes.h>
#include <stdlib.h>

enum { CHART_COLUMNS = 48 };

static bool same_place(duet_place a, duet_place b) { return a.kind == b.kind && a.at == b.at; }

/* Both are needed at the node, so an equal place means that they share it. */
int32_t duet_plan_in_place_of(const duet_plan *plan, int32_t id) {
    const duet_graph_node *node = &plan->graph->nodes[id];
    if (!(node->op->traits & DUET_OP_INPLACE) || node->n_out != 1) return -1;
    for (int32_t j = 0; j < node->n_in; j++)
        if (same_place(plan->places[node->in[j]], plan->places[node->out])) return node->in[j];
    return -1;
}

int32_t duet_plan_count_in_place(const duet_plan *plan) {
    int32_t count = 0;
    for (int32_t i = 0; i < plan->n_steps; i++)
        count += duet_plan_in_place_of(plan, plan->steps[i]) >= 0;
    return count;
}

int32_t duet_plan_count_forks(const duet_plan *plan) {
    int32_t count = 0;
    for (int32_t k = 0; k < plan->n_branches; k++)
        count += plan->branches[k].begin == plan->branches[k].fork_begin;
    return count;
}

/* ---- steps ------------------------------------------------------------------------------------
 */

static int place_text(char *to, size_t room, const duet_plan *plan, int32_t value) {
    duet_place place = plan->places[value];
    switch (place.kind) {
    case DUET_PLACE_ARENA: return snprintf(to, room, "buffer %d", plan->buffer_of[value]);
    case DUET_PLACE_INPUT: return snprintf(to, room, "input %d", (int)place.at);
    case DUET_PLACE_RESULT: return snprintf(to, room, "result %d", (int)place.at);
    case DUET_PLACE_VARIABLE: return snprintf(to, room, "variable %d", (int)place.at);
    case DUET_PLACE_CONSTANT: return snprintf(to, room, "constant");
    case DUET_PLACE_NONE: break;
    }
    return snprintf(to, room, "-");
}

/* Where the results go; for a node without results, the variable that it writes. */
static void places_text(char *to, size_t room, const duet_plan *plan, const duet_graph_node *node) {
    size_t used = 0;
    *to = '\0';
    for (int32_t i = 0; i < node->n_out && used + 1 < room; i++) {
        used += (size_t)snprintf(to + used, room - used, "%s", i ? ", " : "");
        if (used < room) used += (size_t)place_text(to + used, room - used, plan, node->out + i);
    }
    for (int32_t j = 0; j < node->n_in && !used; j++)
        if (duet_node_writes(node, j)) used += (size_t)place_text(to, room, plan, node->in[j]);
}

/* 'a' for a step of a fork's first branch, 'b' for one of its second; ' ' outside forks. */
static char branch_letter(const duet_plan *plan, int32_t step) {
    char letter = 'a';
    for (int32_t k = 0; k < plan->n_branches; k++) {
        const duet_branch *branch = &plan->branches[k];
        letter = branch->begin == branch->fork_begin ? 'a' : (char)(letter + 1);
        if (step >= branch->begin && step < branch->end) return letter;
    }
    return ' ';
}

static void print_steps(FILE *file, const duet_plan *plan) {
    fprintf(file, "  step  %-13s  node\n", "result in");
    for (int32_t i = 0; i < plan->n_steps; i++) {
        char places[64];
        const duet_graph_node *node = &plan->graph->nodes[plan->steps[i]];
        places_text(places, sizeof places, plan, node);
        fprintf(file, "  %4d%c %-13s  ", i, branch_letter(plan, i), places);
        duet_graph_print_call(file, plan->graph, node);
        int32_t over = duet_plan_in_place_of(plan, plan->steps[i]);
        if (over >= 0) fprintf(file, ", over %%%d", over);
        fputc('\n', file);
    }
    for (int32_t i = 0; i < plan->n_copies; i++)
        fprintf(file, "   end  result %-6d  a copy of %%%d\n", plan->copies[i].result,
                plan->copies[i].value);
}

/* ---- buffers ----------------------------------------------------------------------------------
 */

/* A column stands for one step, or in long plans for several, and is marked if any needs it. */
static void print_lifetime(FILE *file, const duet_plan *plan, int32_t buffer, int32_t columns) {
    int64_t steps = plan->n_steps;
    int32_t first = duet_plan_step_at(plan, plan->lifetimes[buffer].first),
            last = duet_plan_last_step(plan, buffer);
    for (int32_t c = 0; c < columns; c++) {
        int64_t begin = c * steps / columns, end = (c + 1) * steps / columns - 1;
        fputc(first <= end && last >= begin ? '#' : '.', file);
    }
}

static void print_buffers(FILE *file, const duet_plan *plan) {
    int32_t columns = plan->n_steps < CHART_COLUMNS ? plan->n_steps : CHART_COLUMNS;
    char range[32];
    snprintf(range, sizeof range, "0..%d", plan->n_steps - 1);
    fprintf(file, "\n  buffer     offset      bytes  first   last  %-*s  values\n", (int)columns,
            range);
    for (int32_t i = 0; i < plan->n_buffers; i++) {
        fprintf(file, "  %6d %10" PRId64 " %10" PRId64 " %6d %6d  ", i, plan->offsets[i],
                plan->lifetimes[i].bytes, duet_plan_step_at(plan, plan->lifetimes[i].first),
                duet_plan_last_step(plan, i));
        print_lifetime(file, plan, i, columns);
        for (int32_t pad = columns; pad < (int32_t)strlen(range); pad++) fputc(' ', file);
        fputc(' ', file);
        for (int32_t v = 0; v < plan->graph->n_values; v++)
            if (plan->buffer_of[v] == i) fprintf(file, " %%%d", v);
        fputc('\n', file);
    }
}

void duet_plan_print(FILE *file, const duet_plan *plan) {
    fprintf(file, "plan @%s: %d step%s, arena %" PRId64 " bytes in %d buffer%s", plan->graph->name,
            plan->n_steps, plan->n_steps == 1 ? "" : "s", plan->arena_bytes, plan->n_buffers,
            plan->n_buffers == 1 ? "" : "s");
    int32_t forks = duet_plan_count_forks(plan);
    if (forks) fprintf(file, ", %d fork%s", forks, forks == 1 ? "" : "s");
    fprintf(file, "; the largest live set is %" PRId64 "\n\n", plan->lower_bound);
    print_steps(file, plan);
    if (plan->n_buffers) print_buffers(file, plan);
}
