/* The commands of `duet`. A command is one file command_NAME.c and one line in main.c's table. */
#ifndef DUET_BENCH_COMMAND_H
#define DUET_BENCH_COMMAND_H

#include "status.h"

#include <stdbool.h>

/* Exit statuses: 0 all is well; 1 a check that the command made failed (it has said which);
 * 2 bad usage or input: the command returned a failing status, whose message main prints. */
typedef struct command_result {
    bool check_failed;
} command_result;

typedef struct command {
    const char *name;
    const char *usage;   /* what stands behind `duet NAME` */
    const char *summary; /* one line */
    const char *help;    /* the rest of `duet help NAME`; ends in a newline */
    duet_status (*run)(command_result *result, int argc, char **argv); /* argv without the name */
} command;

extern const command command_bench, command_run, command_graph, command_op, command_ops,
    command_info, command_help;

/* All commands in the order of `duet help`, ended by NULL. */
extern const command *const commands[];

/* The command of that name, or NULL with a message that suggests a near name. */
const command *command_find(const char *name);

#endif
