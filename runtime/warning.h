/* Warnings: what a caller should know though nothing failed. One line each, to stderr unless the
 * program takes them itself. */
#ifndef DUET_WARNING_H
#define DUET_WARNING_H

void duet_warn(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/* `handler` receives every warning from now on (any thread); NULL restores stderr.
 * It takes the message and calls nothing of duet's, whose locks may be held meanwhile. */
void duet_set_warning_handler(void (*handler)(const char *message));

#endif
