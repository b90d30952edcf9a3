/* Random programs agree, eager and graph, bit for bit; `make fuzz` runs many more of them. */
#include "expect.h"
#include "random_program.h"

enum { FIRST_SEED = 1, PROGRAMS = 300, STEPS = 40 };

static void eager_and_graph_agree(void **state) {
    (void)state;
    assert_int_equal(random_programs_check(FIRST_SEED, PROGRAMS, STEPS), 0);
}

int main(void) {
    setenv("DUET_VERIFY", "1", 1);
    setenv("DUET_POISON", "1", 1);
    setenv("DUET_SHUFFLE", "9", 1);
    const struct CMUnitTest tests[] = {TEST(eager_and_graph_agree)};
    return cmocka_run_group_tests_name("random_programs", tests, NULL, NULL);
}
