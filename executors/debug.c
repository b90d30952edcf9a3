#include "debug.h"

#include "frozen.h"
#include "settings.h"

#include <inttypes.h>
#include <math.h>

_Atomic int duet_debug_level = -1;

int duet_debug_read_level(void) {
    int level = duet_settings()->debug;
    atomic_store_explicit(&duet_debug_level, level > 0 ? level : 0, memory_order_relaxed);
    return level;
}

/* ---- 1: calls ---------------------------------------------------------------------------------
 */

static void print_call(const duet_function *f, const duet_arg_key *keys) {
    fprintf(stderr, "duet: %s(", f->name);
    for (int i = 0; i < f->n_in; i++)
        fprintf(stderr, "%s%s", i ? ", " : "", duet_arg_key_text(&(duet_text){{0}}, &keys[i]));
    fputs(") ", stderr);
}

void duet_debug_call(const duet_function *f, duet_tensor *const *in, const char *how) {
    duet_arg_key keys[DUET_MAX_INPUTS];
    for (int i = 0; i < f->n_in; i++) keys[i] = duet_arg_key_of(in[i]);
    print_call(f, keys);
    fprintf(stderr, "%s\n", how);
}

void duet_debug_new_plan(const duet_function *f, const duet_arg_key *keys, bool only_planned) {
    print_call(f, keys);
    fputs(only_planned ? "planned for these dimensions: " : "traced: ", stderr);
    const duet_entry *before = f->entries; /* the most recently used one */
    int i = 0;
    while (before && i < f->n_in && memcmp(&keys[i], &before->keys[i], sizeof *keys) == 0) i++;
    if (!before)
        fputs(f->stats.traces ? "nothing is cached\n" : "the first call\n", stderr);
    else if (i < f->n_in)
        fprintf(stderr, "argument %d: %s -> %s\n", i,
                duet_arg_key_text(&(duet_text){{0}}, &before->keys[i]),
                duet_arg_key_text(&(duet_text){{0}}, &keys[i]));
    else
        fputs("no plan serves\n", stderr);
}

static bool same_value(const duet_tensor *a, const duet_tensor *b) {
    return duet_spec_equal(&a->spec, &b->spec) &&
           memcmp(a->data, b->data, duet_spec_bytes(&a->spec)) == 0;
}

/* Equal ones are told once, with their number and the first place. */
void duet_debug_frozen(const duet_graph *trace) {
    duet_frozen frozen;
    if (duet_frozen_of(&frozen, trace) != DUET_OK) return;
    for (int32_t i = 0; i < frozen.count; i++) {
        int32_t before = 0, times = 0;
        for (int32_t j = 0; j < frozen.count; j++) {
            bool same = same_value(frozen.values[i].value, frozen.values[j].value);
            times += same;
            before += same && j < i;
        }
        if (before) continue;
        fputs("duet:   froze ", stderr);
        if (times > 1) fprintf(stderr, "%d x ", times);
        duet_frozen_print(stderr, &frozen.values[i]);
    }
    duet_frozen_release(&frozen);
}

/* ---- 2: passes --------------------------------------------------------------------------------
 */

bool duet_debug_pass(const duet_pass_report *report, void *graph) {
    fprintf(stderr, "duet:   @%s %-11s", ((const duet_graph *)graph)->name, report->pass->name);
    if (!report->on)
        fputs(" switched off\n", stderr);
    else if (!report->changed)
        fprintf(stderr, " (unchanged), %.1f us\n", report->us);
    else
        fprintf(stderr, " %d -> %d nodes, %d -> %d constants, %.1f us\n", report->nodes_before,
                report->nodes_after, report->constants_before, report->constants_after, report->us);
    return true;
}

/* ---- 4: steps ---------------------------------------------------------------------------------
 */

void duet_debug_step(const duet_graph *graph, int32_t step, const duet_graph_node *node,
                     const duet_kernel *kernel) {
    fprintf(stderr, "duet:   @%s step %d: ", graph->name, step);
    duet_graph_print_call(stderr, graph, node);
    fputc('\n', stderr);
    for (int i = 0; i < kernel->n_out; i++) {
        fprintf(stderr, "duet:     %%%d = ", node->out + i);
        duet_print_summary(stderr, &kernel->out[i]);
        fputc('\n', stderr);
    }
    for (int i = 0; i < kernel->n_in; i++) {
        if (!duet_node_writes(node, i)) continue;
        fprintf(stderr, "duet:     %%%d is now ", node->in[i]);
        duet_print_summary(stderr, &kernel->in[i]);
        fputc('\n', stderr);
    }
}

static double element(const duet_view *value, int64_t i) {
    switch (value->spec->dtype) {
    case DUET_F32: return (double)((const float *)value->data)[i];
    case DUET_F64: return ((const double *)value->data)[i];
    case DUET_I32: return ((const int32_t *)value->data)[i];
    default: return ((const uint8_t *)value->data)[i];
    }
}

/* A NaN has no sign to speak of, whatever printf makes of it. */
static double plain(double x) { return isnan(x) ? (double)NAN : x; }

void duet_print_summary(FILE *file, const duet_view *value) {
    int64_t count = duet_shape_count(&value->spec->shape), nans = 0;
    double least = INFINITY, most = -INFINITY, sum = 0;
    fputs(DUET_SPEC_TEXT(value->spec), file);
    if (count == 1) {
        fprintf(file, " %.7g", plain(element(value, 0)));
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        double x = element(value, i);
        if (isnan(x)) {
            nans++;
            continue;
        }
        if (x < least) least = x;
        if (x > most) most = x;
        sum += x;
    }
    if (count > nans)
        fprintf(file, " min %.7g mean %.7g max %.7g", least, plain(sum / (double)(count - nans)),
                most);
    if (count > nans && nans) fputc(',', file);
    if (nans) fprintf(file, " %" PRId64 " NaN", nans);
    if (count == 0) fputs(" empty", file);
}
