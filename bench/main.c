/* The command `duet`. */
#include "command.h"
#include "coretype.h"
#include "near.h"
#include "pool.h"
#include "settings.h"
#include "version.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const command *const commands[] = {
    &command_bench, &command_run,  &command_graph, &command_op,
    &command_ops,   &command_info, &command_help,  NULL,
};

const command *command_find(const char *name) {
    duet_near near = {.name = name};
    for (const command *const *c = commands; *c; c++) {
        if (strcmp((*c)->name, name) == 0) return *c;
        duet_near_offer(&near, (*c)->name);
    }
    if (near.nearest)
        duet_fail(DUET_STATUS_NOT_FOUND, "no command \"%s\"; did you mean \"%s\"?", name,
                  near.nearest);
    else
        duet_fail(DUET_STATUS_NOT_FOUND, "no command \"%s\"; `duet help` lists them", name);
    return NULL;
}

/* One line, whatever a file name or an argument brought into the message. */
static int refuse(void) {
    fputs("duet: ", stderr);
    for (const char *c = duet_error_message(); *c; c++)
        fputc(iscntrl((unsigned char)*c) ? '?' : *c, stderr);
    fputc('\n', stderr);
    return 2;
}

static bool is_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static duet_status run(command_result *result, int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "help";
    if (strcmp(name, "--version") == 0) {
        puts("duet " DUET_VERSION);
        return DUET_OK;
    }
    if (is_help(name)) name = "help";
    const command *c = command_find(name);
    if (!c) return duet_error_code();
    if (argc > 2 && is_help(argv[2])) return command_help.run(result, 1, argv + 1);
    int skip = argc > 1 ? 2 : 1;
    return c->run(result, argc - skip, argv + skip);
}

int main(int argc, char **argv) {
    restart_with_fitting_coretype(argv);
    (void)duet_settings(), (void)duet_pool_threads(); /* a wrong DUET_... is told by any command */
    command_result result = {0};
    duet_status status = run(&result, argc, argv);
    if (fflush(stdout) != 0 && status == DUET_OK)
        status = duet_fail(DUET_STATUS_IO, "standard output: expected to write all of it");
    if (status != DUET_OK) return refuse();
    return result.check_failed ? 1 : 0;
}
