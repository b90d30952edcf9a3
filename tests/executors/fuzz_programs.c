/* Random programs, as many as one has time for: fuzz_programs [COUNT [FIRST_SEED [STEPS]]]. Exit
 * status 1 where eager and graph disagree. */
#include "random_program.h"
#include "warning.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void no_warnings(const char *message) { (void)message; }

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 10000;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL) * 100000;
    int steps = argc > 3 ? atoi(argv[3]) : 40;
    setenv("DUET_VERIFY", "1", 0);
    setenv("DUET_POISON", "1", 0);
    setenv("DUET_SHUFFLE", "9", 0);
    duet_set_warning_handler(no_warnings);
    printf("%d programs of up to %d steps, first seed %llu\n", count, steps,
           (unsigned long long)first);
    int failed = random_programs_check(first, count, steps);
    printf("%d failed\n", failed);
    return failed != 0;
}
