/* Environment variables that hold a number. */
#ifndef DUET_ENVIRONMENT_H
#define DUET_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

/* The integer that the variable `name` gives; false where it is not set or empty. What is no
 * integer from `least` to `most` counts as not set, too, and a warning says so. */
bool duet_environment_integer(int64_t *value, const char *name, int64_t least, int64_t most);

#endif
