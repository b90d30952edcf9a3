#define _GNU_SOURCE
#include "npy.h"

#include "output.h"
#include "scope.h"
#include "value.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "data is read and written as it is");

static const char MAGIC[6] = "\x93NUMPY";
enum { MAX_HEADER = 65535 }; /* bytes; NumPy itself writes a few hundred */

/* ---- the header: a Python dictionary of three entries, as text ---------------------------------
 */

typedef struct reader {
    const char *path; /* begins every message */
    const char *at;   /* next character; the text ends in '\0' */
} reader;

/* A piece of the text for a message: bounded, and only characters that fit on a line. */
typedef struct excerpt {
    char chars[48];
} excerpt;

static const char *show(excerpt *buffer, const char *text, size_t length) {
    size_t shown = length < sizeof buffer->chars - 4 ? length : sizeof buffer->chars - 4;
    for (size_t i = 0; i < shown; i++) {
        char c = text[i];
        buffer->chars[i] = c >= ' ' && c <= '~' ? c : '?';
    }
    strcpy(buffer->chars + shown, shown < length ? "..." : "");
    return buffer->chars;
}
#define SHOW(text, length) show(&(excerpt){{0}}, text, length)

static void skip_spaces(reader *r) { r->at += strspn(r->at, " \t\n"); }

static duet_status refuse(const reader *r, const char *expected) {
    size_t left = strnlen(r->at, MAX_HEADER);
    return duet_fail(DUET_STATUS_FORMAT, "%s: expected %s in the header, got %s%s%s", r->path,
                     expected, left ? "\"" : "its end", SHOW(r->at, left), left ? "\"" : "");
}

static duet_status take(reader *r, char wanted, const char *expected) {
    skip_spaces(r);
    if (*r->at != wanted) return refuse(r, expected);
    r->at++;
    return DUET_OK;
}

/* 'text' or "text", without escapes: sets where it begins and how long it is. */
static duet_status take_string(reader *r, const char **text, size_t *length, const char *expected) {
    skip_spaces(r);
    char quote = *r->at;
    if (quote != '\'' && quote != '"') return refuse(r, expected);
    size_t inside = strcspn(r->at + 1, "'\"\\");
    if (r->at[1 + inside] != quote) return refuse(r, expected);
    *text = r->at + 1;
    *length = inside;
    r->at += inside + 2;
    return DUET_OK;
}

static duet_status take_dtype(reader *r, duet_spec *spec) {
    static const char expected[] = "dtype <f4, <f8, <i4 or |b1";
    const char *text = NULL;
    size_t length = 0;
    TRY(take_string(r, &text, &length, expected)); /* a list would be a record with fields */
    for (int i = 0; i < DUET_DTYPE_COUNT; i++) {
        const char *code = duet_dtype_npy((duet_dtype)i);
        char order = duet_dtype_size((duet_dtype)i) == 1 ? '|' : '<';
        if (length == 3 && text[0] == order && memcmp(text + 1, code, 2) == 0) {
            spec->dtype = i;
            return DUET_OK;
        }
    }
    return duet_fail(DUET_STATUS_DTYPE, "%s: expected %s, got %s", r->path, expected,
                     SHOW(text, length));
}

static duet_status take_order(reader *r) {
    skip_spaces(r);
    if (strncmp(r->at, "True", 4) == 0)
        return duet_fail(DUET_STATUS_UNSUPPORTED,
                         "%s: expected an array in C order, got fortran_order: True", r->path);
    if (strncmp(r->at, "False", 5) != 0) return refuse(r, "fortran_order: True or False");
    r->at += 5;
    return DUET_OK;
}

static duet_status take_dimension(reader *r, int64_t *dim) {
    if (!isdigit((unsigned char)*r->at)) return refuse(r, "a dimension of 0 or more");
    const char *begin = r->at;
    char *end;
    errno = 0;
    *dim = strtoll(begin, &end, 10);
    CHECK(errno == 0, DUET_STATUS_OVERFLOW, "%s: expected dimensions below 2^63, got %s", r->path,
          SHOW(begin, (size_t)(end - begin)));
    r->at = *end == 'L' ? end + 1 : end; /* Python 2 wrote long integers as 3L */
    return DUET_OK;
}

static duet_status take_shape(reader *r, duet_shape *shape) {
    TRY(take(r, '(', "shape: a tuple"));
    *shape = DUET_SCALAR;
    for (bool comma = true;; shape->rank++) {
        skip_spaces(r);
        if (*r->at == ')') break;
        if (!comma) return refuse(r, "a comma between dimensions");
        int64_t dim = 0;
        TRY(take_dimension(r, &dim));
        CHECK(shape->rank < DUET_MAX_RANK, DUET_STATUS_SHAPE,
              "%s: expected rank 0 to %d, got a higher one", r->path, DUET_MAX_RANK);
        shape->dims[shape->rank] = dim;
        skip_spaces(r);
        comma = *r->at == ',';
        r->at += comma;
    }
    r->at++;
    return DUET_OK;
}

static duet_status take_entry(reader *r, duet_spec *spec, unsigned *seen) {
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    static const char expected[] = "each of 'descr', 'fortran_order' and 'shape' once";
    const char *text = NULL;
    size_t length = 0;
    reader before = *r;
    TRY(take_string(r, &text, &length, expected));
    int key = 0;
    while (key < 3 && !(strlen(keys[key]) == length && memcmp(keys[key], text, length) == 0)) key++;
    if (key == 3 || *seen >> key & 1) return refuse(&before, expected);
    *seen |= 1u << key;
    TRY(take(r, ':', "a colon after the key"));
    return key == 0 ? take_dtype(r, spec) : key == 1 ? take_order(r) : take_shape(r, &spec->shape);
}

static duet_status parse_header(duet_spec *spec, const char *path, const char *text) {
    reader r = {path, text};
    unsigned seen = 0;
    *spec = (duet_spec){0};
    TRY(take(&r, '{', "a dictionary"));
    for (;;) {
        skip_spaces(&r);
        if (*r.at == '}') break;
        TRY(take_entry(&r, spec, &seen));
        skip_spaces(&r);
        if (*r.at == ',')
            r.at++;
        else if (*r.at != '}')
            return refuse(&r, "a comma or } after an entry");
    }
    if (seen != 7) return refuse(&r, "'descr', 'fortran_order' and 'shape' before the end");
    r.at++;
    skip_spaces(&r);
    if (*r.at) return refuse(&r, "nothing after the dictionary");
    return duet_spec_check(spec, path);
}

/* ---- the file ----------------------------------------------------------------------------------
 */

static duet_status read_bytes(void *to, size_t count, FILE *file, const char *path,
                              const char *what) {
    size_t got = fread(to, 1, count, file);
    CHECK(!ferror(file), DUET_STATUS_IO, "%s: expected %s, got: %s", path, what, strerror(errno));
    CHECK(got == count, DUET_STATUS_FORMAT, "%s: expected %s, got the end of the file", path, what);
    return DUET_OK;
}

/* Reads up to where the data begins; `*begin` is that offset. */
static duet_status read_header(duet_spec *spec, size_t *begin, FILE *file, const char *path) {
    unsigned char start[12] = {0};
    TRY(read_bytes(start, 8, file, path, "the start of a .npy file"));
    CHECK(memcmp(start, MAGIC, sizeof MAGIC) == 0, DUET_STATUS_FORMAT,
          "%s: expected a .npy file, got one that begins otherwise", path);
    int version = start[6];
    CHECK(version >= 1 && version <= 3 && start[7] == 0, DUET_STATUS_UNSUPPORTED,
          "%s: expected .npy version 1.0, 2.0 or 3.0, got %d.%d", path, version, start[7]);
    size_t width = version == 1 ? 2 : 4; /* of the header's length */
    TRY(read_bytes(start + 8, width, file, path, "the length of the header"));
    size_t length = start[8] | (size_t)start[9] << 8 | (size_t)start[10] << 16 |
                    (size_t)start[11] << 24; /* what was not read is 0 */
    CHECK(length <= MAX_HEADER, DUET_STATUS_FORMAT,
          "%s: expected a header of at most %d bytes, got %zu", path, MAX_HEADER, length);
    char *text = malloc(length + 1);
    CHECK(text, DUET_STATUS_MEMORY, "%s: no memory for a header of %zu bytes", path, length);
    duet_status status = read_bytes(text, length, file, path, "a whole header");
    text[length] = '\0';
    if (status == DUET_OK && strlen(text) < length)
        status =
            duet_fail(DUET_STATUS_FORMAT, "%s: expected text as header, got a zero byte", path);
    if (status == DUET_OK) status = parse_header(spec, path, text);
    free(text);
    *begin = 8 + width + length;
    return status;
}

/* Before any memory is asked for: a header that promises too much costs nothing. */
static duet_status check_length(const duet_spec *spec, size_t begin, FILE *file, const char *path) {
    struct stat about;
    CHECK(fstat(fileno(file), &about) == 0, DUET_STATUS_IO, "%s: expected its size, got: %s", path,
          strerror(errno));
    size_t wanted = 0;
    int64_t there = (int64_t)about.st_size - (int64_t)begin;
    CHECK(duet_spec_bytes_checked(&wanted, spec) && (int64_t)wanted == there, DUET_STATUS_FORMAT,
          "%s: expected %zu bytes of data for %s, got %" PRId64, path, wanted, DUET_SPEC_TEXT(spec),
          there);
    return DUET_OK;
}

static duet_status check_bools(const duet_tensor *x, const char *path) {
    const uint8_t *data = x->data;
    for (int64_t i = 0, count = duet_tensor_count(x); i < count; i++)
        CHECK(data[i] <= 1, DUET_STATUS_FORMAT,
              "%s: expected bools as bytes 0 or 1, got %d as element %" PRId64, path, data[i], i);
    return DUET_OK;
}

static duet_status read_array(duet_tensor **out, FILE *file, const char *path) {
    duet_spec spec;
    size_t begin = 0;
    TRY(read_header(&spec, &begin, file, path));
    TRY(check_length(&spec, begin, file, path));
    duet_tensor *x = duet_tensor_alloc(&spec);
    if (!x) return duet_error_code();
    duet_status status = read_bytes(x->data, duet_spec_bytes(&spec), file, path, "its data");
    if (status == DUET_OK && spec.dtype == DUET_BOOL) status = check_bools(x, path);
    if (status != DUET_OK)
        duet_release(x);
    else
        *out = duet_scope_own(x);
    return status;
}

duet_tensor *npy_read(const char *path) {
    struct stat about;
    duet_tensor *x = NULL;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) { /* opening a pipe might wait */
        duet_fail(DUET_STATUS_IO, "%s: expected a file, got %s", path,
                  S_ISDIR(about.st_mode) ? "a directory" : "something else");
        return NULL;
    }
    FILE *file = fopen(path, "rb");
    if (!file) {
        duet_fail(errno == ENOENT ? DUET_STATUS_NOT_FOUND : DUET_STATUS_IO,
                  "%s: expected a .npy file, got: %s", path, strerror(errno));
        return NULL;
    }
    read_array(&x, file, path);
    fclose(file);
    return x;
}

duet_status npy_write(FILE *file, const duet_tensor *x, const char *path) {
    const void *data = duet_data(x);
    if (!data) return duet_error_code();
    char text[256], shape[160] = "";
    int64_t rank = x->spec.shape.rank;
    for (int64_t i = 0, used = 0; i < rank; i++)
        used += sprintf(shape + used, "%s%" PRId64 "%s", i ? ", " : "", x->spec.shape.dims[i],
                        rank == 1 ? "," : "");
    duet_dtype dtype = duet_tensor_dtype(x);
    int length = sprintf(text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s), }",
                         duet_dtype_size(dtype) == 1 ? '|' : '<', duet_dtype_npy(dtype), shape);
    /* Padded with spaces so that the data begins at a multiple of 64 bytes. */
    int header = (10 + length + 1 + 63) / 64 * 64 - 10;
    unsigned char start[10];
    memcpy(start, MAGIC, sizeof MAGIC);
    memcpy(start + 6, (unsigned char[]){1, 0, header & 255, header >> 8}, 4);
    size_t bytes = duet_spec_bytes(&x->spec);
    bool written = fwrite(start, sizeof start, 1, file) == 1 &&
                   fprintf(file, "%-*s\n", header - 1, text) == header &&
                   fwrite(data, 1, bytes, file) == bytes;
    CHECK(written, DUET_STATUS_IO, "%s: expected to write %zu bytes of data, got: %s", path, bytes,
          strerror(errno));
    return DUET_OK;
}

duet_status npy_write_files(const char *const *paths, duet_tensor *const *arrays, int count) {
    output outputs[NPY_MAX_FILES] = {{0}};
    duet_status status = DUET_OK;
    for (int i = 0; i < count && status == DUET_OK; i++) {
        status = output_open(&outputs[i], paths[i]);
        if (status == DUET_OK) status = npy_write(outputs[i].file, arrays[i], paths[i]);
    }
    if (status == DUET_OK) return output_commit(outputs, count);
    for (int i = 0; i < count; i++) output_discard(&outputs[i]);
    return status;
}
