#include "settings.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static duet_settings_t settings;
static char passes[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : 0;
}

static void read_environment(void) {
    settings.debug = (int)number("DUET_DEBUG");
    settings.poison = number("DUET_POISON") != 0;
    settings.shuffle = (uint64_t)number("DUET_SHUFFLE");
    settings.fork = number("DUET_FORK") != 0;
    settings.verify = number("DUET_VERIFY") != 0;
    const char *list = getenv("DUET_PASSES");
    if (list) strncpy(passes, list, sizeof passes - 1);
}

const duet_settings_t *duet_settings(void) {
    pthread_once(&once, read_environment);
    return &settings;
}

void duet_setting_passes(const char *list) {
    duet_settings();
    memset(passes, 0, sizeof passes);
    if (list) strncpy(passes, list, sizeof passes - 1);
}

const char *duet_setting_pass_list(void) {
    duet_settings();
    return passes;
}

bool duet_setting_pass_on(const char *name) {
    duet_settings();
    size_t length = strlen(name);
    bool only = *passes && *passes != '-'; /* a list of names without "-": just these */
    for (const char *at = passes; *at; at += strcspn(at, ","), at += *at == ',') {
        bool off = *at == '-';
        const char *item = at + off;
        if (strcspn(item, ",") == length && strncmp(item, name, length) == 0) return !off;
    }
    return !only;
}
