/* Functions, tapes and variables used from several threads at once. Under the thread sanitizer this
 * is worth most. */
#include "child.h"
#include "expect.h"

#include "pool.h"

#include <pthread.h>
#include <unistd.h>

enum { THREADS = 4, CALLS = 300 };

typedef struct worker {
    int index;
    int wrong; /* results that were */
    duet_function *function;
    pthread_barrier_t *start;
    void *shared;
} worker;

/* Runs `work` in all threads at once; returns how much was wrong in all of them. */
static int at_once(void *(*work)(void *), duet_function *function, void *shared) {
    pthread_t threads[THREADS];
    worker workers[THREADS];
    pthread_barrier_t start;
    int wrong = 0;
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){i, 0, function, &start, shared};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        wrong += workers[i].wrong;
    }
    pthread_barrier_destroy(&start);
    return wrong;
}

static duet_tensor *polynomial(duet_tensor *x) {
    duet_tensor *y = duet_add(duet_mul(x, x), duet_f32(1));
    return duet_add(duet_sum(y, DUET_INTS(0), true), duet_relu(duet_sub(y, x)));
}

static bool all_are(const duet_tensor *t, double value) {
    for (int64_t i = 0; t && i < duet_tensor_count(t); i++)
        if (duet_item(t, i) != value) return false;
    return t != NULL;
}

/* For n elements x: n (x^2 + 1) + x^2 + 1 - x. */
static double polynomial_of(int n, int x) { return n * (x * x + 1) + x * x + 1 - x; }

static void *call_one_shape(void *argument) {
    worker *w = argument;
    pthread_barrier_wait(w->start);
    for (int i = 0; i < CALLS; i++) {
        int x = 1 + (i + w->index) % 5;
        duet_scope_open();
        duet_tensor *y = duet_call_unary(w->function, duet_full(SHAPE(100), DUET_F32, x));
        w->wrong += !all_are(y, polynomial_of(100, x));
        duet_scope_close(NULL);
    }
    return NULL;
}

static void one_function_from_all_threads(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("polynomial", polynomial);
    assert_int_equal(at_once(call_one_shape, f, NULL), 0);
    assert_int_equal(duet_trace_count(f), 1);
    assert_int_equal(duet_function_get_stats(f).calls, THREADS * CALLS);
    duet_function_free(f);
}

/* More shapes than the cache holds, so that plans are dropped while others run them. */
static void *call_many_shapes(void *argument) {
    worker *w = argument;
    pthread_barrier_wait(w->start);
    for (int i = 0; i < CALLS; i++) {
        int n = 1 + (i * 7 + w->index * 31) % 90;
        duet_scope_open();
        duet_tensor *y = duet_call_unary(w->function, duet_full(SHAPE(n), DUET_F32, 2));
        w->wrong += !all_are(y, polynomial_of(n, 2));
        duet_scope_close(NULL);
        if (i % 50 == 49 && w->index == 0) duet_function_clear(w->function);
    }
    return NULL;
}

static void plans_are_dropped_while_others_run_them(void **state) {
    (void)state;
    duet_function *f = duet_function_unary("polynomial", polynomial);
    assert_int_equal(at_once(call_many_shapes, f, NULL), 0);
    duet_function_free(f);
}

/* ---- variables --------------------------------------------------------------------------------
 */

static duet_status count_up(duet_tensor **out, duet_tensor *const *in, void *user) {
    duet_tensor *counter = user;
    out[0] = duet_read(counter);
    TRY(duet_assign_add(counter, in[0]));
    out[1] = duet_read(counter);
    return DUET_OK;
}

static void *count(void *argument) {
    worker *w = argument;
    int last = -1;
    pthread_barrier_wait(w->start);
    for (int i = 0; i < CALLS; i++) {
        duet_tensor *one = duet_i32(1), *out[2];
        if (duet_call(w->function, out, &one) != DUET_OK) return w->wrong++, NULL;
        int old = (int)duet_item(out[0], 0), new = (int)duet_item(out[1], 0);
        w->wrong += new != old + 1 || old <= last; /* nobody came between, and time goes on */
        last = old;
    }
    duet_scope_reset();
    return NULL;
}

static void a_call_s_reads_and_writes_are_not_parted(void **state) {
    (void)state;
    duet_tensor *counter = duet_variable_new("counter", duet_i32(0));
    duet_function *f = duet_function_new("count_up", count_up, 1, 2, counter);
    assert_int_equal(at_once(count, f, NULL), 0);
    EXPECT(duet_read(counter), THREADS * CALLS);
    duet_function_free(f);
    duet_release(counter);
}

/* ---- tapes -------------------------------------------------------------------------------------
 */

/* Every thread differentiates by the same tensor, which all of them watch. */
static void *differentiate(void *argument) {
    worker *w = argument;
    duet_tensor *x = w->shared, *grad;
    pthread_barrier_wait(w->start);
    for (int i = 0; i < CALLS; i++) {
        duet_scope_open();
        duet_tape *tape = duet_tape_new(false);
        if (duet_tape_watch(tape, x) != DUET_OK) w->wrong++;
        duet_tensor *y = duet_mul(x, x);
        for (int j = 0; j < i % 7; j++) y = duet_add(y, x);
        if (duet_gradient(&grad, tape, y, &x, 1) != DUET_OK) w->wrong++;
        w->wrong += !all_are(grad, 2 * 3 + i % 7);
        duet_tape_free(tape);
        duet_scope_close(NULL);
    }
    return NULL;
}

static void tapes_of_threads_that_watch_one_tensor(void **state) {
    (void)state;
    assert_int_equal(at_once(differentiate, NULL, duet_full(SHAPE(3), DUET_F32, 3)), 0);
}

/* While one thread watches a tensor, another one's tape that does not is told nothing of it. */
static void *look_without_watching(void *argument) {
    worker *w = argument;
    duet_tensor *x = w->shared, *grad = NULL;
    duet_tape *tape = duet_tape_new(false);
    if (w->index == 0) duet_tape_watch(tape, x);
    pthread_barrier_wait(w->start);
    duet_tensor *y = duet_mul(x, x);
    if (duet_gradient(&grad, tape, y, &x, 1) != DUET_OK) w->wrong++;
    w->wrong += (grad != NULL) != (w->index == 0);
    pthread_barrier_wait(w->start); /* all tapes live until all have looked */
    duet_tape_free(tape);
    duet_scope_reset();
    return NULL;
}

static void a_tensor_is_watched_by_one_tape_only(void **state) {
    (void)state;
    assert_int_equal(at_once(look_without_watching, NULL, duet_full(SHAPE(3), DUET_F32, 3)), 0);
}

/* ---- fork ---------------------------------------------------------------------------------------
 */

typedef struct twins {
    char names[CALLS][24];
    duet_op ops[THREADS][CALLS]; /* for each thread one of each name */
    _Atomic int registered[CALLS];
} twins;

static duet_status infer_as_input(duet_spec *out, const duet_op_call *call) {
    *out = *call->in[0];
    return DUET_OK;
}

static duet_status run_nothing(const duet_kernel *kernel) { return (void)kernel, DUET_OK; }

static void *register_names(void *argument) {
    worker *w = argument;
    twins *t = w->shared;
    for (int i = 0; i < CALLS; i++) {
        pthread_barrier_wait(w->start);
        if (duet_op_register(&t->ops[w->index][i]) == DUET_OK) t->registered[i]++;
    }
    return NULL;
}

static void one_of_the_ops_of_a_name_is_registered(void **state) {
    (void)state;
    static twins t; /* the registry keeps them */
    int count = duet_op_count();
    for (int i = 0; i < CALLS; i++) {
        snprintf(t.names[i], sizeof t.names[i], "twin_%d", i);
        for (int k = 0; k < THREADS; k++)
            t.ops[k][i] = (duet_op){.name = t.names[i],
                                    .doc = "x",
                                    .n_in = 1,
                                    .n_out = 1,
                                    .infer = infer_as_input,
                                    .run = run_nothing};
    }
    assert_int_equal(at_once(register_names, NULL, &t), 0);
    for (int i = 0; i < CALLS; i++) assert_int_equal(t.registered[i], 1);
    assert_int_equal(duet_op_count(), count + CALLS);
}

static duet_tensor *product_with_itself(duet_tensor *x) { return duet_matmul(x, x); }

/* True where products in both executors have the bits of `expected`. */
static bool products_are_right(duet_function *f, duet_tensor *x, const duet_tensor *expected) {
    duet_tensor *eager = product_with_itself(x), *graph = duet_call_unary(f, x);
    size_t bytes = duet_spec_bytes(&expected->spec);
    return eager && graph && memcmp(eager->data, expected->data, bytes) == 0 &&
           memcmp(graph->data, expected->data, bytes) == 0;
}

/* OpenBLAS #294, #5520: a product, fork, a product in the child; by duet's kernels and by BLAS. */
static void a_child_of_fork_multiplies_too(void **state) {
    (void)state;
    int threads = duet_pool_threads();
    duet_pool_set_threads(2);
    static const int64_t sizes[] = {96, 384};
    for (int i = 0; i < LENGTH(sizes); i++) {
        duet_tensor *x = duet_zeros(SHAPE(sizes[i], sizes[i]), DUET_F32);
        for (int64_t k = 0; k < duet_tensor_count(x); k++)
            ((float *)x->data)[k] = (float)(k % 17) / 8 - 1;
        duet_function *f = duet_function_unary("product", product_with_itself);
        duet_tensor *expected = product_with_itself(x);
        assert_true(products_are_right(f, x, expected));
        for (int round = 0; round < 3; round++) {
            pid_t child = fork_with_pool();
            if (child == 0) _exit(products_are_right(f, x, expected) ? 0 : 1);
            assert_true(child_ends_well(child));
            assert_true(products_are_right(f, x, expected)); /* and so does the parent */
        }
        duet_function_free(f);
    }
    duet_pool_set_threads(threads);
}

int main(void) {
    setenv("DUET_VERIFY", "1", 1);
    const struct CMUnitTest tests[] = {
        TEST(one_function_from_all_threads),
        TEST(plans_are_dropped_while_others_run_them),
        TEST(a_call_s_reads_and_writes_are_not_parted),
        TEST(tapes_of_threads_that_watch_one_tensor),
        TEST(a_tensor_is_watched_by_one_tape_only),
        TEST(a_child_of_fork_multiplies_too),
        TEST(one_of_the_ops_of_a_name_is_registered),
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
