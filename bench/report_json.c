/* The schema duet.bench/1; times are microseconds a call. */
#define _GNU_SOURCE
#include "report.h"
#include "version.h"

#include <cjson/cJSON.h>

#include <math.h>
#include <stdlib.h>

/* What is not a number, or not known, is null. */
static void add_number(cJSON *to, const char *name, double value) {
    if (isfinite(value))
        cJSON_AddNumberToObject(to, name, value);
    else
        cJSON_AddNullToObject(to, name);
}

static void add_host(cJSON *to, const report *r) {
    static const char *const modes[] = {"normal", "quick", "full", "lesson"};
    const host *h = &r->host;
    cJSON_AddStringToObject(to, "version", DUET_VERSION);
    cJSON_AddStringToObject(to, "cpu", h->cpu);
    cJSON_AddNumberToObject(to, "cpus", h->cpus);
    cJSON_AddNumberToObject(to, "threads", h->threads);
    cJSON_AddNumberToObject(to, "vector_floats", h->vector_floats);
    cJSON_AddStringToObject(to, "compiler", h->compiler);
    cJSON_AddStringToObject(to, "system", h->system);
    cJSON_AddStringToObject(to, "blas", h->blas);
    cJSON_AddStringToObject(to, "blas_core", h->blas_core);
    cJSON_AddStringToObject(to, "notice", h->notice);
    cJSON_AddBoolToObject(to, "sanitized", h->sanitized);
    cJSON_AddStringToObject(to, "mode", modes[r->mode]);
}

static void add_row(cJSON *rows, const bench_row *row) {
    const measurement *m = &row->m;
    cJSON *to = cJSON_CreateObject();
    cJSON_AddStringToObject(to, "lesson", row->lesson);
    cJSON_AddStringToObject(to, "executor", row->executor);
    cJSON_AddNumberToObject(to, "threads", row->threads);
    cJSON_AddStringToObject(to, "unit", "us");
    add_number(to, "best", m->summary.best);
    add_number(to, "median", m->summary.median);
    add_number(to, "mad", m->summary.mad);
    cJSON_AddItemToObject(to, "samples", cJSON_CreateDoubleArray(m->samples, m->n_samples));
    cJSON_AddNumberToObject(to, "number", m->number);
    add_number(to, "first_call", m->first_call);
    add_number(to, "second_call", m->second_call);
    cJSON_AddNumberToObject(to, "warmup", m->warmup);
    cJSON_AddNumberToObject(to, "trace_count", (double)m->traces_after);
    cJSON_AddBoolToObject(to, "valid", measurement_is_valid(m));
    if (row->compared)
        cJSON_AddBoolToObject(to, "checksum_equal", row->equal);
    else
        cJSON_AddNullToObject(to, "checksum_equal");
    add_number(to, "dispatches", row->dispatches);
    cJSON_AddItemToArray(rows, to);
}

duet_status report_write_json(const report *r, FILE *file, const char *path) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "schema", "duet.bench/1");
    add_host(cJSON_AddObjectToObject(root, "host"), r);
    cJSON *rows = cJSON_AddArrayToObject(root, "rows");
    for (int i = 0; i < r->n_rows; i++) add_row(rows, &r->rows[i]);
    cJSON *figures = cJSON_AddObjectToObject(root, "derived");
    for (int i = 0; i < r->n_derived; i++)
        cJSON_AddNumberToObject(figures, r->derived[i].name, r->derived[i].value);
    char *text = cJSON_Print(root);
    bool written = text && fprintf(file, "%s\n", text) > 0;
    free(text);
    cJSON_Delete(root);
    CHECK(written, DUET_STATUS_IO, "%s: expected to write the figures, got an error", path);
    return DUET_OK;
}
