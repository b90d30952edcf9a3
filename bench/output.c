#define _GNU_SOURCE
#include "output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static duet_status refuse(const char *path, const char *what) {
    return duet_fail(DUET_STATUS_IO, "%s: expected to %s, got: %s", path, what, strerror(errno));
}

/* A file that only its owner may read is what mkstemp makes; give it what open() would have. */
static void give_usual_mode(int descriptor, const struct stat *old) {
    mode_t mask = umask(0);
    umask(mask);
    fchmod(descriptor, old ? old->st_mode & 0777 : 0666 & ~mask);
}

static duet_status open_temporary(output *out, const char *path, const struct stat *old) {
    if (asprintf(&out->temporary, "%s.XXXXXX", out->path) < 0) {
        out->temporary = NULL;
        return duet_fail(DUET_STATUS_MEMORY, "%s: no memory for a name beside it", path);
    }
    int descriptor = mkstemp(out->temporary);
    if (descriptor < 0) {
        free(out->temporary);
        out->temporary = NULL;
        return refuse(path, "write there");
    }
    give_usual_mode(descriptor, old);
    out->file = fdopen(descriptor, "wb");
    if (out->file) return DUET_OK;
    close(descriptor);
    return refuse(path, "write there");
}

/* One name for one place, though it need not exist yet: "y.npy" and "./y.npy" are the same. */
static char *name_of_place(const char *path, bool exists) {
    if (exists) return realpath(path, NULL);
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    char *whole = folder ? realpath(folder, NULL) : NULL, *name = NULL;
    if (whole && asprintf(&name, "%s/%s", whole, slash ? slash + 1 : path) < 0) name = NULL;
    free(folder);
    free(whole);
    return name;
}

duet_status output_open(output *out, const char *path) {
    *out = (output){0};
    struct stat old;
    bool exists = stat(path, &old) == 0;
    if (exists && S_ISDIR(old.st_mode))
        return duet_fail(DUET_STATUS_IO, "%s: expected a file to write, got a directory", path);
    out->path = name_of_place(path, exists);
    if (!out->path) return refuse(path, "write there");
    if (exists && !S_ISREG(old.st_mode)) { /* /dev/null and the like are not to be replaced */
        out->file = fopen(path, "wb");
        if (!out->file) refuse(path, "write there");
    } else {
        open_temporary(out, path, exists ? &old : NULL);
    }
    if (out->file) return DUET_OK;
    output_discard(out);
    return duet_error_code();
}

static duet_status finish(output *out) {
    bool written = !ferror(out->file);
    written &= fclose(out->file) == 0;
    out->file = NULL;
    return written ? DUET_OK : refuse(out->path, "write all of it");
}

static duet_status take_place(output *out) {
    if (out->temporary && rename(out->temporary, out->path) != 0)
        return refuse(out->path, "write all of it");
    free(out->temporary);
    free(out->path);
    *out = (output){0};
    return DUET_OK;
}

/* Nothing takes its place before all are known to be whole. */
static duet_status commit_all(output *outs, int count) {
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            CHECK(!outs[i].temporary || strcmp(outs[i].path, outs[j].path) != 0,
                  DUET_STATUS_ARGUMENT, "%s: expected a file for each output, got it twice",
                  outs[i].path);
    for (int i = 0; i < count; i++) TRY(finish(&outs[i]));
    for (int i = 0; i < count; i++) TRY(take_place(&outs[i]));
    return DUET_OK;
}

duet_status output_commit(output *outs, int count) {
    duet_status status = commit_all(outs, count);
    for (int i = 0; i < count; i++) output_discard(&outs[i]);
    return status;
}

void output_discard(output *out) {
    if (out->file) fclose(out->file);
    if (out->temporary) unlink(out->temporary);
    free(out->temporary);
    free(out->path);
    *out = (output){0};
}

duet_status output_check(const char *path) {
    output trial;
    TRY(output_open(&trial, path));
    output_discard(&trial);
    return DUET_OK;
}
