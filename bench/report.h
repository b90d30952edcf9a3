/* What `duet bench` has measured: rows of figures, and how they are shown. */
#ifndef DUET_BENCH_REPORT_H
#define DUET_BENCH_REPORT_H

#include "host.h"
#include "lesson.h"

#include <stdio.h>

typedef enum bench_mode { MODE_NORMAL, MODE_QUICK, MODE_FULL, MODE_LESSON } bench_mode;

typedef struct bench_row {
    const char *lesson, *executor;
    int threads;
    bool compared, equal; /* with eager: bit for bit, or by hand within the lesson's tolerance */
    double dispatches;    /* op calls or steps a call; NAN where that means nothing */
    measurement m;
} bench_row;

/* A figure that was computed from rows: "small_ops.graph.speedup". */
typedef struct derived {
    char name[64];
    double value;
} derived;

enum { MAX_DERIVED = 256 };

struct report {
    host host;
    bench_mode mode;
    const executor *chosen[8]; /* ended by NULL; the reference first where it is among them */
    bench_row *rows;
    int n_rows, rows_room;
    derived derived[MAX_DERIVED];
    int n_derived;
    double peak;         /* measured GFLOP/s of all threads; 0: not yet */
    struct cJSON *older; /* what --compare has read; NULL without */
    bool check_failed;
};

measure_plan report_plan(const report *r, const lesson *l);
bench_row *report_add_row(report *r, const char *of_lesson, const char *by); /* NULL: no memory */
void report_derive(report *r, double value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A derived figure by its name; NAN where there is none. */
double report_figure(const report *r, const char *name);
bool report_chose(const report *r, const char *executor_name);
const bench_row *report_find(const report *r, const char *of_lesson, const char *by);

/* Compares, measures and prints one lesson. */
duet_status report_lesson(report *r, const lesson *l);

/* Beside the lessons: how cost grows with ops and elements, and with threads and sizes. */
duet_status report_sweep(report *r);
duet_status report_scaling(report *r);

/* With --full: small products against the core's peak; then what duet is built to reach, beside
 * what was measured. */
duet_status report_contractions(report *r);
void report_limits(const report *r);

/* Says why the report is not to be trusted, and makes the command's exit status 1. */
void report_complain(report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "6.74 us", "12.3 ms": three digits, in a buffer of the caller's. */
typedef struct time_text {
    char chars[24];
} time_text;
const char *show_us(time_text *buffer, double us);
#define SHOW_US(us) show_us(&(time_text){{0}}, us)

/* --json: the schema duet.bench/1. */
duet_status report_write_json(const report *r, FILE *file, const char *path);

/* --compare: an older file is read before anything is measured, for a wrong one is not worth the
 * wait. Rows that have become slower by more than their noise are named, and make the exit status
 * 1. */
duet_status report_read_older(report *r, const char *path);
void report_forget_older(report *r);
duet_status report_compare(report *r, const char *path);

#endif
