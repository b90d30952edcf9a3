/* The table of small products: what is in it, not how fast the machine is. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "report.h"

#include "pool.h"

#include <cjson/cJSON.h>

#include <stdio.h>
#include <stdlib.h>

static void every_product_has_its_figures(void **state) {
    static report r = {.mode = MODE_QUICK};
    static const char *const names[] = {"gflops", "share_of_peak", "openblas_gflops"};
    static const double sizes[][3] = {{64, 64, 20}, {20, 64, 64}, {128, 128, 128}};
    (void)state;
    duet_pool_set_threads(2);
    assert_int_equal(report_contractions(&r), DUET_OK);
    assert_int_equal(duet_pool_threads(), 2);
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    assert_non_null(file);
    assert_int_equal(report_write_json(&r, file, "memory"), DUET_OK);
    fclose(file);
    cJSON *root = cJSON_Parse(text);
    const cJSON *list = cJSON_GetObjectItem(root, "contractions");
    assert_int_equal(cJSON_GetArraySize(list), 3);
    for (int i = 0; i < 3; i++) {
        const cJSON *item = cJSON_GetArrayItem(list, i);
        const cJSON *shape = cJSON_GetObjectItem(item, "shape");
        for (int axis = 0; axis < 3; axis++)
            assert_true(cJSON_GetArrayItem(shape, axis)->valuedouble == sizes[i][axis]);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            assert_true(cJSON_GetObjectItem(item, names[k])->valuedouble > 0);
    }
    cJSON_Delete(root);
    free(text);
}

static void without_it_the_list_is_empty(void **state) {
    static report r;
    char *text = NULL;
    size_t length = 0;
    (void)state;
    FILE *file = open_memstream(&text, &length);
    assert_int_equal(report_write_json(&r, file, "memory"), DUET_OK);
    fclose(file);
    cJSON *root = cJSON_Parse(text);
    assert_true(cJSON_IsArray(cJSON_GetObjectItem(root, "contractions")));
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "contractions")), 0);
    cJSON_Delete(root);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_product_has_its_figures),
        cmocka_unit_test(without_it_the_list_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
