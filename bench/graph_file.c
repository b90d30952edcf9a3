#define _GNU_SOURCE
#include "graph_file.h"

#include <errno.h>
#include <stdlib.h>

bool is_graph_file(const char *word) {
    size_t length = strlen(word), suffix = strlen(".graph");
    return strchr(word, '/') || (length > suffix && strcmp(word + length - suffix, ".graph") == 0);
}

/* All of the file with a NUL behind it, to be freed; NULL with a message. */
static char *read_text(const char *path) {
    errno = 0;
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0;
    ssize_t length = file ? getdelim(&text, &room, '\0', file) : -1;
    bool more = length >= 0 && (size_t)length != strlen(text); /* the NUL is in the file */
    if (!file || (length < 0 && ferror(file)))
        duet_fail(DUET_STATUS_IO, "%s: expected to read it, got: %s", path, strerror(errno));
    else if (more)
        duet_fail(DUET_STATUS_FORMAT, "%s: expected text, got a byte of value 0", path);
    else if (length < 0 && (free(text), text = strdup(""), !text))
        duet_fail(DUET_STATUS_MEMORY, "%s: no memory", path);
    bool ok = file && !more && !ferror(file);
    if (file) fclose(file);
    if (ok) return text;
    free(text);
    return NULL;
}

duet_graph *graph_file_read(const char *path) {
    char *text = read_text(path);
    duet_graph *graph = text ? duet_graph_parse(text, path) : NULL;
    free(text);
    return graph;
}
