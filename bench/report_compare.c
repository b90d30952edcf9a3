#define _GNU_SOURCE
#include "report.h"

#include <cjson/cJSON.h>

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

static duet_status read_text(char **text, const char *path) {
    struct stat about;
    CHECK(stat(path, &about) == 0, DUET_STATUS_IO, "%s: expected figures of --json, got: %s", path,
          strerror(errno));
    CHECK(S_ISREG(about.st_mode) && about.st_size < 100000000, DUET_STATUS_IO,
          "%s: expected figures of --json, got something else", path);
    FILE *file = fopen(path, "rb");
    CHECK(file, DUET_STATUS_IO, "%s: expected figures of --json, got: %s", path, strerror(errno));
    *text = malloc((size_t)about.st_size + 1);
    size_t length = *text ? fread(*text, 1, (size_t)about.st_size, file) : 0;
    fclose(file);
    CHECK(*text, DUET_STATUS_MEMORY, "%s: no memory to read it", path);
    (*text)[length] = '\0';
    return DUET_OK;
}

/* NAN for null and for what is not there. */
static double number(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

/* null is a time that is not known. */
static duet_status check_time(const cJSON *row, const char *name, double least, const char *path) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, name);
    double time = number(row, name);
    CHECK(!item || cJSON_IsNull(item) || (time >= least && isfinite(time)), DUET_STATUS_FORMAT,
          "%s: expected a time in every row's \"%s\", got %g", path, name, time);
    return DUET_OK;
}

duet_status report_read_older(report *r, const char *path) {
    char *text = NULL;
    TRY(read_text(&text, path));
    cJSON *root = r->older = cJSON_ParseWithOpts(text, NULL, true); /* and nothing behind it */
    if (!root) {
        long at = cJSON_GetErrorPtr() ? cJSON_GetErrorPtr() - text : 0;
        duet_fail(DUET_STATUS_FORMAT, "%s: expected JSON, got something else at byte %ld", path,
                  at);
    }
    free(text);
    if (!root) return duet_error_code();
    const char *schema = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "schema"));
    CHECK(schema && strcmp(schema, "duet.bench/1") == 0, DUET_STATUS_FORMAT,
          "%s: expected schema duet.bench/1, got %.32s", path, schema ? schema : "none");
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(root, "rows"), *row;
    CHECK(cJSON_IsArray(rows), DUET_STATUS_FORMAT, "%s: expected an array of rows, got none", path);
    cJSON_ArrayForEach(row, rows) {
        TRY(check_time(row, "best", DBL_MIN, path));
        TRY(check_time(row, "median", DBL_MIN, path));
        TRY(check_time(row, "mad", 0, path));
    }
    return DUET_OK;
}

static bool has_text(const cJSON *object, const char *name, const char *wanted) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text && strcmp(text, wanted) == 0;
}

static const cJSON *find_row(const cJSON *rows, const bench_row *wanted) {
    const cJSON *r;
    cJSON_ArrayForEach(r, rows) if (has_text(r, "lesson", wanted->lesson) &&
                                    has_text(r, "executor", wanted->executor) &&
                                    (int)number(r, "threads") == wanted->threads) return r;
    return NULL;
}

static void compare_row(report *r, const bench_row *now, const summary *before) {
    double change = 100 * (now->m.summary.median / before->median - 1);
    if (is_regression(before, &now->m.summary))
        report_complain(r, "%s %s has become slower: median %s, was %s (%+.0f %%)", now->lesson,
                        now->executor, SHOW_US(now->m.summary.median), SHOW_US(before->median),
                        change);
    else
        printf("  %-14s %-8s %10s, was %10s (%+.0f %%)\n", now->lesson, now->executor,
               SHOW_US(now->m.summary.median), SHOW_US(before->median), change);
}

duet_status report_compare(report *r, const char *path) {
    printf("\nAgainst %s:\n", path);
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(r->older, "rows");
    const cJSON *old_host = cJSON_GetObjectItemCaseSensitive(r->older, "host");
    if (!has_text(old_host, "cpu", r->host.cpu) ||
        !has_text(old_host, "blas_core", r->host.blas_core))
        printf("  note: those figures were taken on another machine or with other kernels\n");
    int compared = 0;
    for (int i = 0; i < r->n_rows; i++) {
        const bench_row *now = &r->rows[i];
        const cJSON *old = find_row(rows, now);
        const summary before = {number(old, "best"), number(old, "median"), number(old, "mad")};
        if (isnan(before.best) || isnan(before.median) || isnan(before.mad)) {
            printf("  %-14s %-8s %10s, not in the file\n", now->lesson, now->executor,
                   SHOW_US(now->m.summary.median));
            continue;
        }
        compare_row(r, now, &before);
        compared++;
    }
    CHECK(compared, DUET_STATUS_ARGUMENT,
          "%s: expected rows with the same lesson, executor and threads, got none", path);
    return DUET_OK;
}

void report_forget_older(report *r) {
    cJSON_Delete(r->older);
    r->older = NULL;
}
