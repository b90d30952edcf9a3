#include "report.h"

#include "function.h"
#include "peak.h"
#include "pool.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

measure_plan report_plan(const report *r, const lesson *l) {
    static const double MS = 1e6;
    switch (r->mode) {
    case MODE_QUICK: return (measure_plan){0, 5, 1 * MS, 50 * MS};
    case MODE_FULL: return (measure_plan){0, MAX_REPEATS, 10 * MS, 4000 * MS};
    case MODE_LESSON: return (measure_plan){l->number, l->repeats, 0, 0};
    case MODE_NORMAL: break;
    }
    return (measure_plan){0, 25, 4 * MS, 500 * MS};
}

bench_row *report_add_row(report *r, const char *of_lesson, const char *by) {
    if (r->n_rows == r->rows_room) {
        int room = r->rows_room ? 2 * r->rows_room : 16;
        bench_row *larger = realloc(r->rows, (size_t)room * sizeof *larger);
        if (!larger) {
            duet_fail(DUET_STATUS_MEMORY, "bench: no memory for another row");
            return NULL;
        }
        r->rows = larger;
        r->rows_room = room;
    }
    bench_row *added = &r->rows[r->n_rows++];
    *added = (bench_row){.lesson = of_lesson, .executor = by, .dispatches = NAN};
    added->threads = duet_pool_threads();
    return added;
}

void report_derive(report *r, double value, const char *format, ...) {
    if (r->n_derived == MAX_DERIVED || !isfinite(value)) return;
    derived *d = &r->derived[r->n_derived++];
    d->value = value;
    va_list args;
    va_start(args, format);
    vsnprintf(d->name, sizeof d->name, format, args);
    va_end(args);
}

double report_figure(const report *r, const char *name) {
    for (int i = 0; i < r->n_derived; i++)
        if (strcmp(r->derived[i].name, name) == 0) return r->derived[i].value;
    return NAN;
}

bool report_chose(const report *r, const char *executor_name) {
    for (const executor *const *x = r->chosen; *x; x++)
        if (strcmp((*x)->name, executor_name) == 0) return true;
    return false;
}

const bench_row *report_find(const report *r, const char *of_lesson, const char *by) {
    for (int i = 0; i < r->n_rows; i++)
        if (strcmp(r->rows[i].lesson, of_lesson) == 0 && strcmp(r->rows[i].executor, by) == 0)
            return &r->rows[i];
    return NULL;
}

void report_complain(report *r, const char *format, ...) {
    r->check_failed = true;
    printf("  ! ");
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

const char *show_us(time_text *buffer, double us) {
    static const struct {
        double factor;
        const char *unit;
    } units[] = {{1e3, "ns"}, {1, "us"}, {1e-3, "ms"}, {1e-6, "s"}};
    if (isnan(us)) return "-";
    int u = us < 0.9995 ? 0 : us < 999.5 ? 1 : us < 999.5e3 ? 2 : 3;
    double value = us * units[u].factor;
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(buffer->chars, sizeof buffer->chars, "%.*f %s", decimals, value, units[u].unit);
    return buffer->chars;
}

/* ---- the table of one lesson
 * --------------------------------------------------------------------- */

static void print_head(void) {
    printf("  %-8s %10s %10s %10s %9s %8s %10s %10s %10s %8s\n", "", "best", "median", "MAD",
           "x eager", "/ hand", "dispatches", "first", "second", "warm-up");
}

static const char *show_ratio(time_text *buffer, double ratio, const char *unit) {
    if (!isfinite(ratio)) return "-";
    snprintf(buffer->chars, sizeof buffer->chars, "%.2f%s", ratio, unit);
    return buffer->chars;
}

static double best_of(const bench_row *r) { return r ? r->m.summary.best : NAN; }

static void print_row(const report *r, const bench_row *row) {
    const measurement *m = &row->m;
    double eager = best_of(report_find(r, row->lesson, "eager"));
    double hand = best_of(report_find(r, row->lesson, "hand"));
    char dispatches[24] = "-", warmup[24];
    if (isfinite(row->dispatches)) snprintf(dispatches, sizeof dispatches, "%.0f", row->dispatches);
    snprintf(warmup, sizeof warmup, "%d%s", m->warmup, m->steady ? "" : "+");
    printf("  %-8s %10s %10s %10s %9s %8s %10s %10s %10s %8s\n", row->executor,
           SHOW_US(m->summary.best), SHOW_US(m->summary.median), SHOW_US(m->summary.mad),
           show_ratio(&(time_text){{0}}, eager / m->summary.best, "x"),
           show_ratio(&(time_text){{0}}, m->summary.best / hand, ""), dispatches,
           SHOW_US(m->first_call), SHOW_US(m->second_call), warmup);
}

static void derive_row(report *r, const bench_row *row, const lesson *l) {
    double best = row->m.summary.best;
    double eager = best_of(report_find(r, l->name, "eager"));
    double hand = best_of(report_find(r, l->name, "hand"));
    report_derive(r, eager / best, "%s.%s.speedup", l->name, row->executor);
    report_derive(r, best / hand, "%s.%s.ratio_to_hand", l->name, row->executor);
    if (l->flops > 0)
        report_derive(r, l->flops / best / 1e3, "%s.%s.gflops", l->name, row->executor);
    else if (strcmp(row->executor, "eager") == 0)
        report_derive(r, best * 1e3 / row->dispatches, "%s.eager.ns_per_op", l->name);
}

/* No row can beat the peak; where one seems to, the machine was slower while the peak was taken. */
static void print_gflops(report *r, const bench_row *row, const lesson *l) {
    double gflops = l->flops / best_of(row) / 1e3;
    for (int tries = 0; tries < 5 && r->peak < gflops; tries++)
        r->peak = fmax(r->peak, peak_gflops(row->threads));
    printf("  %s: %.0f GFLOP/s, %.0f %% of the measured peak of %.0f\n", row->executor, gflops,
           100 * gflops / r->peak, r->peak);
    if (gflops > 1.02 * r->peak)
        report_complain(r, "%s is faster than the measured peak: the machine is not steady",
                        row->executor);
}

static void print_notes(report *r, const lesson *l) {
    const bench_row *eager = report_find(r, l->name, "eager");
    if (eager && l->flops == 0)
        printf("  eager: %.1f ns an op, all in\n", best_of(eager) * 1e3 / eager->dispatches);
    if (l->flops > 1e8) {
        for (int i = 0; i < r->n_rows; i++)
            if (strcmp(r->rows[i].lesson, l->name) == 0) print_gflops(r, &r->rows[i], l);
        report_derive(r, r->peak, "peak.gflops");
    }
    printf("  -> %s\n", l->shows);
}

/* Leaves out whoever does not agree: its time would be the time of something else. */
static duet_status keep_equal(report *r, const lesson *l, const executor **kept, int *count) {
    *count = 0;
    for (const executor *const *x = r->chosen; *x; x++) {
        if ((*x)->kind == BY_HAND && !l->hand) continue;
        bool equal;
        const char *where;
        TRY(lesson_compare(l, *x, &equal, &where));
        if (equal)
            kept[(*count)++] = *x;
        else
            report_complain(r, "not timed, since results differ: %s", where);
    }
    return DUET_OK;
}

/* Of a graph: times the system is asked for memory in one more call, and how close its arena is to
 * the most that lives at once. */
static duet_status derive_memory(report *r, const executor *x, exercise *e) {
    const duet_entry *entry = x->kind == REPLAYED ? e->function->entries : NULL;
    if (!entry) return DUET_OK;
    uint64_t before = duet_memory_get_stats().system_allocs;
    TRY(x->call(e));
    uint64_t allocs = duet_memory_get_stats().system_allocs - before;
    report_derive(r, (double)allocs, "%s.%s.system_allocs", e->lesson->name, x->name);
    double arena = (double)entry->plan->arena_bytes, live = (double)entry->plan->lower_bound;
    report_derive(r, arena / live, "%s.%s.arena_to_live", e->lesson->name, x->name);
    return DUET_OK;
}

static duet_status measure_kept(report *r, const lesson *l, const executor **kept, int count,
                                exercise **exercises) {
    contender contenders[8];
    measurement *results = calloc((size_t)count, sizeof *results);
    CHECK(results, DUET_STATUS_MEMORY, "bench: no memory");
    duet_status status = DUET_OK;
    for (int i = 0; i < count && status == DUET_OK; i++) {
        exercises[i] = exercise_new(l);
        if (!exercises[i]) status = duet_error_code();
        contenders[i] = contender_of(kept[i], exercises[i]);
    }
    measure_plan plan = report_plan(r, l);
    bench_clock clock = real_clock();
    if (status == DUET_OK) status = measure(results, contenders, count, &plan, &clock);
    for (int i = 0; i < count && status == DUET_OK; i++) {
        bench_row *added = report_add_row(r, l->name, kept[i]->name);
        if (!added) status = duet_error_code();
        if (!added) break;
        added->compared = added->equal = true;
        added->dispatches = exercise_dispatches(kept[i], exercises[i]);
        added->m = results[i];
        status = derive_memory(r, kept[i], exercises[i]);
    }
    free(results);
    return status;
}

duet_status report_lesson(report *r, const lesson *l) {
    printf("\n%s\n", l->title);
    if (l->run) return l->run(r);
    const executor *kept[8];
    exercise *exercises[8] = {0};
    int count, first_row = r->n_rows;
    TRY(keep_equal(r, l, kept, &count));
    duet_status status = measure_kept(r, l, kept, count, exercises);
    for (int i = 0; i < count; i++) exercise_free(exercises[i]);
    TRY(status);
    print_head();
    for (int i = first_row; i < r->n_rows; i++) {
        print_row(r, &r->rows[i]);
        derive_row(r, &r->rows[i], l);
        if (!measurement_is_valid(&r->rows[i].m))
            report_complain(r, "%s is not valid: it traced while it was timed",
                            r->rows[i].executor);
    }
    print_notes(r, l);
    return DUET_OK;
}
