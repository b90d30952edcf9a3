/* Errors: a failing call returns a status (or NULL) and leaves one message for its thread.
 *
 * A message names the op, the argument, what was expected and what came. Nothing here prints,
 * exits or aborts. The message stays until the thread's next failure or duet_error_clear(). */
#ifndef DUET_STATUS_H
#define DUET_STATUS_H

#include <stdbool.h>

typedef enum duet_status {
    DUET_OK = 0,
    DUET_STATUS_ARGUMENT,    /* a value outside what the call accepts */
    DUET_STATUS_DTYPE,       /* an element type the op does not take */
    DUET_STATUS_SHAPE,       /* shapes that do not fit together */
    DUET_STATUS_OVERFLOW,    /* a size that does not fit in memory's address range */
    DUET_STATUS_MEMORY,      /* the system has no more memory */
    DUET_STATUS_STATE,       /* right call, wrong moment (a used-up tape, a read while tracing) */
    DUET_STATUS_NOT_FOUND,   /* no op, attribute, graph or file of that name */
    DUET_STATUS_FORMAT,      /* a file or text that does not parse */
    DUET_STATUS_IO,          /* the operating system refused */
    DUET_STATUS_UNSUPPORTED, /* well formed, but not something duet does */
} duet_status;

/* Sets the thread's code and message (printf style) and returns the code, so that a check reads
 * `return duet_fail(DUET_STATUS_SHAPE, "...")`. */
duet_status duet_fail(duet_status code, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

/* Adds " (at FILE:LINE)" to the thread's message, once a failure: the first caller to say so is the
 * one nearest to the fault. */
void duet_fail_at(const char *file, int line) __attribute__((cold));

/* The thread's last failure: DUET_OK and "" when there was none since duet_error_clear(). The
 * text lives until the thread's next failure. */
duet_status duet_error_code(void);
const char *duet_error_message(void);
void duet_error_clear(void);

/* How many failures the thread has had. */
unsigned long duet_error_count(void);

/* The status of what a user's callback did, whose call began at `count` failures: on failure makes
 * it the thread's last one too. Where the callback left no message, it is the one given here; but
 * an older failure with that status stays, which may be the cause (a captured NULL). */
duet_status duet_error_of_callback(duet_status status, unsigned long count, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The thread's last failure, for where a failure is only a question (does this op take that?) and
 * must not hide an older one, or where one thread tells it for another. */
enum { DUET_MESSAGE_BYTES = 1024 };
typedef struct duet_error {
    duet_status code;
    bool located; /* the message tells where already */
    char message[DUET_MESSAGE_BYTES];
} duet_error;
void duet_error_save(duet_error *error);
void duet_error_restore(const duet_error *error);

/* "shape", "dtype" ...: the code's name for messages and JSON. */
const char *duet_status_name(duet_status code);

/* The two error macros, and the only macros that hide control flow. */
#define TRY(expr)                                                                                  \
    do {                                                                                           \
        duet_status try_status_ = (expr);                                                          \
        if (__builtin_expect(try_status_ != DUET_OK, 0)) return try_status_;                       \
    } while (0)

#define CHECK(condition, code, ...)                                                                \
    do {                                                                                           \
        if (__builtin_expect(!(condition), 0)) return duet_fail(code, __VA_ARGS__);                \
    } while (0)

#endif
