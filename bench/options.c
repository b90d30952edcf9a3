#include "options.h"

#include "near.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static duet_status add_word(words *list, const char *word, const char *who) {
    CHECK(list->count < MAX_WORDS, DUET_STATUS_ARGUMENT, "%s: expected at most %d words, got more",
          who, MAX_WORDS);
    list->at[list->count++] = word;
    return DUET_OK;
}

/* Cuts `text`, which is a piece of argv and may be written to, at its commas. */
static duet_status split(words *list, char *text, const char *who, const char *name) {
    while (text) {
        char *word = strsep(&text, ",");
        CHECK(*word, DUET_STATUS_ARGUMENT, "%s: %s: expected names with commas between, got none",
              who, name);
        TRY(add_word(list, word, who));
    }
    return DUET_OK;
}

static duet_status parse_integer(int *out, const option *o, const char *text, const char *who) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    CHECK(errno == 0 && end != text && *end == '\0' && value >= o->least && value <= o->most,
          DUET_STATUS_ARGUMENT, "%s: %s: expected an integer from %d to %d, got \"%s\"", who,
          o->name, o->least, o->most, text);
    *out = (int)value;
    return DUET_OK;
}

/* Of two values for one thing, one would be lost silently. */
static duet_status check_once(uint64_t *given, int index, const option *o, const char *who) {
    bool once = o->kind == OPTION_TEXT || o->kind == OPTION_INTEGER;
    CHECK(!once || !(*given >> index & 1), DUET_STATUS_ARGUMENT,
          "%s: %s: expected it once, got it twice", who, o->name);
    *given |= (uint64_t)1 << index;
    return DUET_OK;
}

static duet_status set(const option *o, char *text, const char *who) {
    switch (o->kind) {
    case OPTION_FLAG: *(bool *)o->value = true; return DUET_OK;
    case OPTION_TEXT: *(const char **)o->value = text; return DUET_OK;
    case OPTION_TEXTS: return add_word(o->value, text, who);
    case OPTION_LIST: return split(o->value, text, who, o->name);
    case OPTION_INTEGER: return parse_integer(o->value, o, text, who);
    }
    return DUET_OK;
}

/* The option that `word` (up to '=') names, or NULL with a message. */
static const option *find(const option *options, const char *word, const char *who) {
    char name[64];
    size_t length = strcspn(word, "=");
    if (length >= sizeof name) length = sizeof name - 1;
    memcpy(name, word, length);
    name[length] = '\0';
    duet_near near = {.name = name};
    for (const option *o = options; o->name; o++) {
        if (strcmp(o->name, name) == 0) return o;
        duet_near_offer(&near, o->name);
    }
    if (near.nearest)
        duet_fail(DUET_STATUS_ARGUMENT, "%s: unknown option \"%s\"; did you mean \"%s\"?", who,
                  name, near.nearest);
    else
        duet_fail(DUET_STATUS_ARGUMENT, "%s: unknown option \"%s\"; see `duet help %s`", who, name,
                  who);
    return NULL;
}

duet_status options_parse(const option *options, words *rest, const char *who, int argc,
                          char **argv) {
    bool ended = false;
    uint64_t given = 0; /* bit i: options[i] */
    for (int i = 0; i < argc; i++) {
        char *word = argv[i];
        if (!ended && strcmp(word, "--") == 0) {
            ended = true;
        } else if (!ended && word[0] == '-' && word[1] != '\0') {
            const option *o = find(options, word, who);
            if (!o) return duet_error_code();
            char *value = strchr(word, '=');
            CHECK(o->kind != OPTION_FLAG || !value, DUET_STATUS_ARGUMENT,
                  "%s: %s: expected no value, got \"%s\"", who, o->name, value + 1);
            if (value)
                value++;
            else if (o->kind != OPTION_FLAG) {
                CHECK(++i < argc, DUET_STATUS_ARGUMENT, "%s: %s: expected a value after it", who,
                      o->name);
                value = argv[i];
            }
            TRY(check_once(&given, (int)(o - options), o, who));
            TRY(set(o, value, who));
        } else {
            CHECK(rest, DUET_STATUS_ARGUMENT, "%s: expected no further words, got \"%s\"", who,
                  word);
            TRY(add_word(rest, word, who));
        }
    }
    return DUET_OK;
}
