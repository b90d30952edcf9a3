/* The table of small products: what is in it, not how fast the machine is. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "report.h"

#include "pool.h"

#include <math.h>
#include <stdio.h>

static void every_product_has_its_figures(void **state) {
    static report r = {.mode = MODE_QUICK};
    static const char *const figures[] = {"gflops", "share_of_peak", "openblas_gflops"};
    static const char *const products[] = {"64x64x20", "20x64x64", "128x128x128"};
    (void)state;
    duet_pool_set_threads(2);
    assert_int_equal(report_contractions(&r), DUET_OK);
    assert_int_equal(duet_pool_threads(), 2);
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++) {
            char name[64];
            snprintf(name, sizeof name, "contraction.%s.%s", products[i], figures[k]);
            assert_true(report_figure(&r, name) > 0);
        }
    assert_true(isnan(report_figure(&r, "contraction.1x1x1.gflops")));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_product_has_its_figures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
