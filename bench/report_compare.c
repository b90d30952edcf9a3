#define _GNU_SOURCE
#include "report.h"

#include <cjson/cJSON.h>

#include <errno.h>
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

duet_status report_read_older(report *r, const char *path) {
    char *text = NULL;
    TRY(read_text(&text, path));
    cJSON *root = r->older = cJSON_Parse(text);
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
    CHECK(cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(root, "rows")), DUET_STATUS_FORMAT,
          "%s: expected an array of rows, got none", path);
    return DUET_OK;
}

/* NAN for null and for what is not there. */
static double number(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
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

static void compare_row(report *r, const bench_row *now, const cJSON *old, int *compared) {
    summary before = {number(old, "best"), number(old, "median"), number(old, "mad")};
    if (!isfinite(before.best) || !isfinite(before.median)) return;
    ++*compared;
    double change = 100 * (now->m.summary.median / before.median - 1);
    if (is_regression(&before, &now->m.summary))
        report_complain(r, "%s %s has become slower: median %s, was %s (%+.0f %%)", now->lesson,
                        now->executor, SHOW_US(now->m.summary.median), SHOW_US(before.median),
                        change);
    else
        printf("  %-14s %-8s %10s, was %10s (%+.0f %%)\n", now->lesson, now->executor,
               SHOW_US(now->m.summary.median), SHOW_US(before.median), change);
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
        const cJSON *old = find_row(rows, &r->rows[i]);
        if (old) compare_row(r, &r->rows[i], old, &compared);
    }
    CHECK(compared, DUET_STATUS_ARGUMENT,
          "%s: expected rows with the same lesson, executor and threads, got none", path);
    return DUET_OK;
}

void report_forget_older(report *r) {
    cJSON_Delete(r->older);
    r->older = NULL;
}
