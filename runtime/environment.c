#include "environment.h"

#include "warning.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

bool duet_environment_integer(int64_t *value, const char *name, int64_t least, int64_t most) {
    const char *text = getenv(name);
    if (!text || !*text) return false;
    char *end;
    errno = 0;
    long long given = strtoll(text, &end, 10);
    if (errno == 0 && end != text && *end == '\0' && given >= least && given <= most)
        return *value = given, true;
    duet_warn("%s: expected an integer from %" PRId64 " to %" PRId64 ", got \"%s\"; ignored", name,
              least, most, text);
    return false;
}
