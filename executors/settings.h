/* The DUET_* environment variables that executors obey, read once. A value that is none of those
 * meant is told in a warning and counts as not given. */
#ifndef DUET_SETTINGS_H
#define DUET_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct duet_settings_t {
    int debug;        /* DUET_DEBUG=1..4: calls; passes; plan; every step */
    bool poison;      /* DUET_POISON=1: freed spans of an arena are filled with NaN */
    uint64_t shuffle; /* DUET_SHUFFLE=seed: arena offsets in random order */
    bool fork;        /* DUET_FORK=1: independent steps run side by side, however little it gains */
    bool verify; /* DUET_VERIFY=1 (`make test` sets it): graphs are verified after every pass */
} duet_settings_t;

const duet_settings_t *duet_settings(void);

/* Whether DUET_PASSES ("-fuse,-inplace", or "fuse" alone for only that) leaves a pass of
 * duet_passes[] on. */
bool duet_setting_pass_on(const char *name);

/* Replaces DUET_PASSES for this process (NULL: nothing switched); for tests and the ablation. */
void duet_setting_passes(const char *list);

#endif
