#define _GNU_SOURCE
#include "output.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_LINKS = 40 }; /* more is a circle */

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
static char *name_in_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    char *whole = folder ? realpath(folder, NULL) : NULL, *name = NULL;
    if (whole && asprintf(&name, "%s/%s", whole, slash ? slash + 1 : path) < 0) name = NULL;
    free(folder);
    free(whole);
    return name;
}

/* The place itself: behind a symbolic link, which stays, even where it leads to nothing yet. */
static char *name_of_place(const char *path) {
    char *name = realpath(path, NULL);
    if (name) return name;
    name = name_in_folder(path);
    for (int links = 0; name && links < MAX_LINKS; links++) {
        char target[PATH_MAX];
        ssize_t length = readlink(name, target, sizeof target - 1);
        if (length < 0) return name;
        target[length] = '\0';
        if (target[0] != '/') strrchr(name, '/')[1] = '\0'; /* as seen from the link's folder */
        char *next = NULL;
        if (asprintf(&next, "%s%s", target[0] == '/' ? "" : name, target) < 0) next = NULL;
        free(name);
        name = next ? name_in_folder(next) : NULL;
        free(next);
    }
    if (name) errno = ELOOP;
    free(name);
    return NULL;
}

/* What the process prints to already (/dev/stdout) is written on behind what was printed: opened
 * anew or replaced, it would lose that. NULL: it is not that. */
static FILE *open_own_stream(const struct stat *place) {
    FILE *const streams[] = {stdout, stderr};
    for (int i = 0; i < 2; i++) {
        struct stat own;
        if (fstat(fileno(streams[i]), &own) != 0) continue;
        if (own.st_dev != place->st_dev || own.st_ino != place->st_ino) continue;
        fflush(streams[i]);
        int copy = dup(fileno(streams[i]));
        return copy < 0 ? NULL : fdopen(copy, "wb");
    }
    return NULL;
}

/* A file that is there. The one that nobody may write is kept from the administrator, too, whom the
 * system would let write it. */
static duet_status check_place(const char *path, const struct stat *place) {
    CHECK(!S_ISDIR(place->st_mode), DUET_STATUS_IO, "%s: expected a file to write, got a directory",
          path);
    CHECK(!S_ISREG(place->st_mode) || place->st_mode & 0222, DUET_STATUS_IO,
          "%s: expected a file that may be written, got a read-only one", path);
    return access(path, W_OK) == 0 ? DUET_OK : refuse(path, "write there");
}

/* Devices and pipes are written where they are; a regular file is replaced once all is written. */
static duet_status open_at(output *out, const char *path, const struct stat *place) {
    if (place && (out->file = open_own_stream(place))) return DUET_OK;
    if (place) TRY(check_place(path, place));
    if (!place || S_ISREG(place->st_mode)) {
        out->path = name_of_place(path);
        return out->path ? open_temporary(out, path, place) : refuse(path, "write there");
    }
    out->file = fopen(path, "wb");
    return out->file ? DUET_OK : refuse(path, "write there");
}

duet_status output_open(output *out, const char *path) {
    *out = (output){0};
    struct stat place;
    CHECK(*path && path[strlen(path) - 1] != '/', DUET_STATUS_ARGUMENT,
          "expected the name of a file to write, got \"%s\"", path);
    duet_status status = open_at(out, path, stat(path, &place) == 0 ? &place : NULL);
    if (status == DUET_OK && !out->path && !(out->path = strdup(path)))
        status = duet_fail(DUET_STATUS_MEMORY, "%s: no memory", path);
    if (status != DUET_OK) output_discard(out);
    return status;
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
    struct stat place;
    output trial;
    if (stat(path, &place) == 0 && !S_ISREG(place.st_mode))
        return check_place(path, &place); /* opened for a trial, a pipe would end its reader */
    TRY(output_open(&trial, path));
    output_discard(&trial);
    return DUET_OK;
}
