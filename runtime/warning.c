#include "warning.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

typedef void (*warning_handler)(const char *message);

static void to_stderr(const char *message) { fprintf(stderr, "duet: warning: %s\n", message); }

static _Atomic warning_handler current = to_stderr;

void duet_warn(const char *format, ...) {
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    atomic_load (&current)(message);
}

void duet_set_warning_handler(warning_handler handler) {
    atomic_store(&current, handler ? handler : to_stderr);
}
