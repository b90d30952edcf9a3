/* Command lines: `--name value`, `--name=value`, flags, and words. */
#ifndef DUET_BENCH_OPTIONS_H
#define DUET_BENCH_OPTIONS_H

#include "status.h"

#include <stdbool.h>

enum { MAX_WORDS = 64 };

/* Several words, in the order given. They live as long as argv. */
typedef struct words {
    const char *at[MAX_WORDS];
    int count;
} words;

typedef enum option_kind {
    OPTION_FLAG,    /* bool: true when given */
    OPTION_TEXT,    /* const char *: the value; NULL stays where it is not given */
    OPTION_TEXTS,   /* words: may be given several times */
    OPTION_LIST,    /* words: one value "a,b,c", which is cut at its commas */
    OPTION_INTEGER, /* int: from `least` to `most` */
} option_kind;

typedef struct option {
    const char *name; /* "--json"; NULL ends a table */
    option_kind kind;
    void *value;
    int least, most;
} option;

/* Reads argv into the table's values, and what is no option into `rest` (NULL: nothing else is
 * expected). "--" ends the options. `who` begins messages: "bench: unknown option ...". */
duet_status options_parse(const option *options, words *rest, const char *who, int argc,
                          char **argv);

#endif
