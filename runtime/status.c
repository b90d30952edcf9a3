#include "status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local duet_error last;
static _Thread_local unsigned long failures;

duet_status duet_fail(duet_status code, const char *format, ...) {
    char text[DUET_MESSAGE_BYTES]; /* apart, because an argument may be the old message itself */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(last.message, text, sizeof text);
    last.code = code;
    last.located = false;
    failures++;
    return code;
}

void duet_fail_at(const char *file, int line) {
    if (last.code == DUET_OK || last.located) return;
    last.located = true;
    size_t used = strlen(last.message);
    snprintf(last.message + used, DUET_MESSAGE_BYTES - used, " (at %s:%d)", file, line);
}

duet_status duet_error_code(void) { return last.code; }

const char *duet_error_message(void) { return last.code == DUET_OK ? "" : last.message; }

void duet_error_clear(void) {
    last.code = DUET_OK;
    last.message[0] = '\0';
}

unsigned long duet_error_count(void) { return failures; }

duet_status duet_error_of_callback(duet_status status, unsigned long count, const char *format,
                                   ...) {
    if (status == DUET_OK || status == last.code) return status;
    if (failures == count || last.code == DUET_OK) {
        char text[DUET_MESSAGE_BYTES];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        return duet_fail(status, "%s (%s)", text, duet_status_name(status));
    }
    last.code = status; /* the message tells what was wrong, the status what became of it */
    return status;
}

void duet_error_save(duet_error *error) { *error = last; }

void duet_error_restore(const duet_error *error) { last = *error; }

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
