#include "settings.h"

#include "environment.h"
#include "passes.h"
#include "warning.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static duet_settings_t settings;
static uint32_t passes_off; /* bit i: duet_passes[i] */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int64_t number(const char *name, int64_t most) {
    int64_t value = 0;
    duet_environment_integer(&value, name, 0, most);
    return value;
}

/* ---- passes ------------------------------------------------------------------------------------
 */

static int pass_index(const char *name, size_t length) {
    for (int i = 0; duet_passes[i].name; i++)
        if (strlen(duet_passes[i].name) == length && memcmp(duet_passes[i].name, name, length) == 0)
            return i;
    return -1;
}

static void warn_of_unknown_pass(const char *name, size_t length) {
    char known[256] = "";
    for (const duet_pass *pass = duet_passes; pass->name; pass++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s",
                 pass == duet_passes ? "" : ", ", pass->name);
    duet_warn("DUET_PASSES: no pass \"%.*s\"; there are %s; ignored: all stay on", (int)length,
              name, known);
}

/* The passes that a list leaves off: those with a - before them, or all that it does not name.
 * None, where anything in it is wrong: half of what was meant would mislead more than nothing. */
static uint32_t parse_passes(const char *list) {
    uint32_t named = 0;
    bool off = *list == '-';
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
        const char *name = at + (*at == '-');
        size_t length = strcspn(name, ",");
        int index = pass_index(name, length);
        if (index < 0) return warn_of_unknown_pass(name, length), 0;
        if ((*at == '-') != off) {
            duet_warn("DUET_PASSES: expected a - before every pass or before none, got \"%s\"; "
                      "ignored: all stay on",
                      list);
            return 0;
        }
        named |= 1u << index;
    }
    return off || !*list ? named : ~named;
}

/* ---- all of them -------------------------------------------------------------------------------
 */

static void read_environment(void) {
    settings.debug = (int)number("DUET_DEBUG", 4);
    settings.poison = number("DUET_POISON", 1);
    settings.shuffle = (uint64_t)number("DUET_SHUFFLE", INT64_MAX);
    settings.fork = number("DUET_FORK", 1);
    settings.verify = number("DUET_VERIFY", 1);
    const char *list = getenv("DUET_PASSES");
    if (list) passes_off = parse_passes(list);
}

const duet_settings_t *duet_settings(void) {
    pthread_once(&once, read_environment);
    return &settings;
}

void duet_setting_passes(const char *list) {
    duet_settings();
    passes_off = list ? parse_passes(list) : 0;
}

bool duet_setting_pass_on(const char *name) {
    duet_settings();
    return !(passes_off >> pass_index(name, strlen(name)) & 1);
}
