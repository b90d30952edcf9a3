#include "command.h"
#include "options.h"

#include <stdio.h>

static duet_status run(command_result *result, int argc, char **argv) {
    (void)result;
    words names = {0};
    TRY(options_parse((option[]){{0}}, &names, "help", argc, argv));
    for (int i = 0; i < names.count; i++) {
        const command *c = command_find(names.at[i]);
        if (!c) return duet_error_code();
        printf("duet %s %s\n\n%s.\n\n%s", c->name, c->usage, c->summary, c->help);
    }
    if (names.count) return DUET_OK;
    puts("duet runs one C function two ways: eagerly, op by op, and as a graph that is traced,\n"
         "fused, planned and replayed.\n");
    for (const command *const *c = commands; *c; c++)
        printf("  duet %-6s %s\n", (*c)->name, (*c)->summary);
    puts("\n`duet help COMMAND` tells more; `duet --version` the version.\n"
         "Exit status: 0 fine, 1 a check failed, 2 bad usage or input.");
    return DUET_OK;
}

const command command_help = {
    .name = "help",
    .usage = "[COMMAND ...]",
    .summary = "What the commands do",
    .help = "Without a command: the list of all.\n",
    .run = run,
};
