#include "graph_lex.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *read_bool(uint8_t *to, const char **at) {
    static const char *const words[] = {"false", "true", "0", "1"};
    size_t length = strcspn(*at, " \t\r\n,]");
    for (int i = 0; i < 4; i++) {
        if (strlen(words[i]) != length || memcmp(*at, words[i], length) != 0) continue;
        *to = i % 2;
        *at += length;
        return NULL;
    }
    return "true or false, 1 or 0";
}

const char *duet_lex_number(void *to, duet_dtype dtype, const char **at) {
    char *end;
    if (dtype == DUET_BOOL) return read_bool(to, at);
    double value = strtod(*at, &end);
    if (end == *at) return "a number";
    bool infinite = tolower((*at)[strspn(*at, "+-")]) == 'i'; /* where it is written, it is meant */
    if (dtype == DUET_F32) {
        float single = strtof(*at, &end); /* rounded once */
        if (isinf(single) && !infinite) return "a number that f32 can hold, or inf";
        memcpy(to, &single, sizeof single);
    } else if (dtype == DUET_F64) {
        if (isinf(value) && !infinite) return "a number that f64 can hold, or inf";
        memcpy(to, &value, sizeof value);
    } else {
        bool fits = value >= INT32_MIN && value <= INT32_MAX && value == (int32_t)value;
        if (!fits) return "an integer from -2147483648 to 2147483647";
        memcpy(to, &(int32_t){(int32_t)value}, sizeof(int32_t));
    }
    *at = end;
    return NULL;
}

const char *duet_lex_quoted(char **text, const char **at) {
    const char *from = *at;
    *text = NULL;
    if (*from++ != '"') return "a text in quotes";
    char *to = *text = malloc(strcspn(from, "\n") + 1);
    if (!to) return NULL;
    for (; *from && *from != '"' && *from != '\n'; from++) {
        bool escaped = from[0] == '\\' && from[1] && from[1] != '\n';
        from += escaped;
        *to++ = escaped && *from == 'n' ? '\n' : *from;
    }
    *to = '\0';
    *at = from;
    if (*from != '"') return "\" behind the text";
    ++*at;
    return NULL;
}

size_t duet_lex_bare(const char *at) {
    const char *end = at;
    for (int depth = 0; *end && *end != '}'; end++) {
        if (depth <= 0 && (*end == ',' || isspace((unsigned char)*end))) break;
        depth += (*end == '[') - (*end == ']');
    }
    return (size_t)(end - at);
}

const char *duet_lex_shown(const char *at, const char *ends, size_t room) {
    static _Thread_local char text[48];
    if (!*at) return "the end of the text";
    if (*at == '\n' || *at == '\r') return "the end of the line";
    if (room > sizeof text - 3) room = sizeof text - 3;
    size_t length = strcspn(at, ends);
    if (length == 0) length = 1;
    snprintf(text, sizeof text, "\"%.*s\"", (int)(length < room ? length : room), at);
    for (char *c = text; *c; c++)
        if (!isprint((unsigned char)*c)) *c = '?'; /* a message is one line of letters */
    return text;
}
