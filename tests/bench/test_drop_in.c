/* A new op is one new file: dropped into a copy of this source tree it is built, listed by the
 * command and covered by the generic tests, with no other line changed. Runs in the root of the
 * tree. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char cube[] =
    "#include \"core/grad.h\"\n"
    "#include \"ops_elementwise.h\"\n"
    "\n"
    "#define NAME cube\n"
    "#define ARITY 1\n"
    "#define EXPR x *x *x\n"
    "#include \"kernels/elementwise.inc\"\n"
    "\n"
    "static duet_status grad(duet_tensor **in_grads, const duet_grad *call) {\n"
    "    duet_tensor *x = call->in[0], *square = duet_square(x); /* 3 x^2 g */\n"
    "    duet_tensor *slope = duet_mul(duet_grad_scalar(x, 3), square);\n"
    "    return duet_grad_set(in_grads, 0, duet_mul(call->out_grads[0], slope));\n"
    "}\n"
    "\n"
    "const duet_op duet_op_cube = {\n"
    "    .name = \"cube\",\n"
    "    .doc = \"x * x * x\",\n"
    "    .n_in = 1,\n"
    "    .in_names = {\"x\"},\n"
    "    DUET_ELEMENTWISE(cube),\n"
    "    .grad = grad,\n"
    "    .samples = {\"f32[3,4]\", \"f64[67]\", \"i32[5]\", \"f32[]\", \"f32[0,3]\"},\n"
    "};\n";

static char tree[] = "/tmp/duet-drop-in-XXXXXX";
static char build[256] = "build"; /* where this configuration is built */

/* Runs a command line; all it printed is kept in `output`. */
static char output[1 << 16];
static int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int shell(const char *format, ...) {
    char command[2048];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(command, sizeof command - 8, format, args);
    va_end(args);
    strcpy(command + length, " 2>&1");
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t read = 0, got;
    while ((got = fread(output + read, 1, sizeof output - 1 - read, pipe)) > 0) read += got;
    output[read] = '\0';
    return pclose(pipe);
}

#define RUN(...)                                                                                   \
    do {                                                                                           \
        if (shell(__VA_ARGS__) != 0) fail_msg("%s", output);                                       \
    } while (0)

/* Copied with their times, so that only what is new has to be built. */
static int copy_the_tree(void **state) {
    (void)state;
    const char *command = getenv("DUET_COMMAND"); /* build/duet, build/san-thread/duet ... */
    if (command && strrchr(command, '/'))
        snprintf(build, sizeof build, "%.*s", (int)(strrchr(command, '/') - command), command);
    if (!mkdtemp(tree)) return -1;
    if (shell("mkdir -p %s/%s && cp -a Makefile runtime ops executors bench tests %s", tree, build,
              tree) != 0)
        return -1;
    return shell("cp -a %s/obj %s/generated %s/*.a %s/%s", build, build, build, tree, build);
}

static int remove_the_tree(void **state) {
    (void)state;
    return shell("rm -rf %s", tree);
}

static void a_dropped_in_file_is_an_op(void **state) {
    (void)state;
    char path[300];
    snprintf(path, sizeof path, "%s/ops/cube.c", tree);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(cube, file);
    fclose(file);
    RUN("make -C %s %s/duet %s/tests/executors/test_registry", tree, build, build);
    RUN("%s/%s/duet ops", tree, build);
    if (!strstr(output, "cube")) fail_msg("`duet ops` does not list cube:\n%s", output);
    RUN("%s/%s/tests/executors/test_registry cube", tree, build);
    if (!strstr(output, "covered: cube")) fail_msg("cube is not covered:\n%s", output);
}

static void a_wrong_gradient_is_noticed(void **state) {
    (void)state;
    RUN("sed -i 's/duet_grad_scalar(x, 3)/duet_grad_scalar(x, 2)/' %s/ops/cube.c", tree);
    RUN("make -C %s %s/tests/executors/test_registry", tree, build);
    assert_int_not_equal(shell("%s/%s/tests/executors/test_registry cube", tree, build), 0);
    assert_non_null(strstr(output, "cube: \"f32[3,4]\": gradient of input 0"));
}

static void a_file_that_is_gone_is_no_op(void **state) {
    (void)state;
    RUN("rm %s/ops/cube.c && make -C %s %s/duet", tree, tree, build);
    RUN("%s/%s/duet ops", tree, build);
    assert_null(strstr(output, "cube"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dropped_in_file_is_an_op),
        cmocka_unit_test(a_wrong_gradient_is_noticed),
        cmocka_unit_test(a_file_that_is_gone_is_no_op),
    };
    return cmocka_run_group_tests_name("drop_in", tests, copy_the_tree, remove_the_tree);
}
