#include "status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 1024 };

static _Thread_local duet_status last_code;
static _Thread_local char last_message[MESSAGE_BYTES];
static _Thread_local bool located; /* the message tells where already */

duet_status duet_fail(duet_status code, const char *format, ...) {
    char text[MESSAGE_BYTES]; /* apart, because an argument may be the old message itself */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(last_message, text, sizeof text);
    last_code = code;
    located = false;
    return code;
}

void duet_fail_append(const char *format, ...) {
    size_t used = strlen(last_message);
    va_list args;
    va_start(args, format);
    vsnprintf(last_message + used, MESSAGE_BYTES - used, format, args);
    va_end(args);
}

void duet_fail_at(const char *file, int line) {
    if (last_code == DUET_OK || located) return;
    located = true;
    size_t used = strlen(last_message);
    snprintf(last_message + used, MESSAGE_BYTES - used, " (at %s:%d)", file, line);
}

duet_status duet_error_code(void) { return last_code; }

const char *duet_error_message(void) { return last_code == DUET_OK ? "" : last_message; }

void duet_error_clear(void) {
    last_code = DUET_OK;
    last_message[0] = '\0';
}

const char *duet_status_name(duet_status code) {
    static const char *const names[] = {
        [DUET_OK] = "ok",
        [DUET_STATUS_ARGUMENT] = "argument",
        [DUET_STATUS_DTYPE] = "dtype",
        [DUET_STATUS_SHAPE] = "shape",
        [DUET_STATUS_OVERFLOW] = "overflow",
        [DUET_STATUS_MEMORY] = "memory",
        [DUET_STATUS_STATE] = "state",
        [DUET_STATUS_NOT_FOUND] = "not found",
        [DUET_STATUS_FORMAT] = "format",
        [DUET_STATUS_IO] = "io",
        [DUET_STATUS_UNSUPPORTED] = "unsupported",
    };
    unsigned index = (unsigned)code;
    return index < sizeof names / sizeof *names ? names[index] : "unknown";
}
