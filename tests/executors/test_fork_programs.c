/* With DUET_FORK=1 every two independent steps may run side by side: random programs still agree
 * with the eager executor bit for bit, and no two steps that run at the same time touch the same
 * bytes, unless both only read them. */
#include "expect.h"
#include "function.h"
#include "pool.h"
#include "random_program.h"
#include "sample.h"
#include "settings.h"

enum { PROGRAMS = 200, STEPS = 40, WEBS = 300, MOST = 60 };

static void random_programs_agree(void **state) {
    (void)state;
    int before = duet_pool_threads();
    duet_pool_set_threads(2);
    assert_int_equal(random_programs_check(70001, PROGRAMS, STEPS), 0);
    duet_pool_set_threads(4); /* more than this machine has: branches end in any order */
    assert_int_equal(random_programs_check(80001, PROGRAMS / 4, STEPS), 0);
    duet_pool_set_threads(before);
}

/* ---- webs: random graphs with many independent parts -------------------------------------------
 */

static duet_tensor *random_value(uint64_t *s, duet_tensor **pool, int count) {
    int near = count < 12 ? count : 12;
    return pool[count - 1 - (int)(sample_uniform(s) * near)];
}

static duet_tensor *random_call(uint64_t *s, duet_tensor *x, duet_tensor *y) {
    switch ((int)(sample_uniform(s) * 9)) {
    case 0: return duet_add(x, y);
    case 1: return duet_matmul(x, y);
    case 2: return duet_tanh(x);
    case 3: return duet_neg(x);
    case 4: return duet_reshape(duet_transpose(x, (duet_ints){0}), SHAPE(8, 8));
    case 5: return duet_softmax(x, 1);
    case 6: return duet_reshape_like(duet_reshape(x, SHAPE(64)), y);
    case 7: return duet_mul(x, duet_sum(y, DUET_INTS(0), false));
    default: return duet_maximum(x, duet_f32(0.25f));
    }
}

static duet_status web(duet_tensor **out, duet_tensor *const *in, void *seed) {
    uint64_t s = *(uint64_t *)seed;
    duet_tensor *pool[MOST + 2] = {in[0], in[1]};
    int count = 2, steps = 4 + (int)(sample_uniform(&s) * (MOST - 4));
    for (int i = 0; i < steps; i++, count++) {
        duet_tensor *x = random_value(&s, pool, count), *y = random_value(&s, pool, count);
        if (!(pool[count] = random_call(&s, x, y))) return duet_error_code();
    }
    for (int i = 0; i < 3; i++) out[i] = pool[count - 1 - i];
    return DUET_OK;
}

typedef struct span {
    duet_place place;
    int64_t bytes;
    bool written;
} span;

static bool overlap(const span *a, const span *b) {
    if (!a->written && !b->written) return false;
    if (a->place.kind != b->place.kind) return false;
    if (a->place.kind != DUET_PLACE_ARENA) return a->place.at == b->place.at;
    return a->place.at < b->place.at + b->bytes && b->place.at < a->place.at + a->bytes;
}

static int spans_of(span *spans, const duet_plan *plan, int32_t step) {
    const duet_graph_node *node = &plan->graph->nodes[plan->steps[step]];
    int n = 0;
    for (int32_t j = 0; j < node->n_in + node->n_out; j++) {
        int32_t value = j < node->n_in ? node->in[j] : node->out + j - node->n_in;
        int64_t bytes = (int64_t)duet_spec_bytes(&plan->graph->values[value].spec);
        spans[n++] = (span){plan->places[value], bytes, j >= node->n_in};
    }
    return n;
}

static void expect_apart(const duet_plan *plan, int32_t a, int32_t b, uint64_t seed) {
    span of_a[2 * DUET_MAX_INPUTS], of_b[2 * DUET_MAX_INPUTS];
    int n_a = spans_of(of_a, plan, a), n_b = spans_of(of_b, plan, b);
    for (int i = 0; i < n_a; i++)
        for (int j = 0; j < n_b; j++)
            if (overlap(&of_a[i], &of_b[j]))
                fail_msg("web %d: steps %d and %d run at the same time and share bytes", (int)seed,
                         a, b);
}

/* Returns the number of pairs looked at. */
static int expect_branches_apart(const duet_plan *plan, uint64_t seed) {
    int pairs = 0;
    for (int32_t k = 0; k < plan->n_branches; k++)
        for (int32_t l = 0; l < k; l++) {
            const duet_branch *x = &plan->branches[k], *y = &plan->branches[l];
            if (x->fork_begin != y->fork_begin) continue;
            for (int32_t a = x->begin; a < x->end; a++)
                for (int32_t b = y->begin; b < y->end; b++, pairs++) expect_apart(plan, a, b, seed);
        }
    return pairs;
}

static int check_web(uint64_t seed, duet_tensor *const *in) {
    duet_tensor *eager[3], *graph[3];
    EXPECT_OK(web(eager, in, &seed));
    duet_function *f = duet_function_new("web", web, 2, 3, &seed);
    EXPECT_OK(duet_call(f, graph, in));
    int pairs = expect_branches_apart(f->entries->plan, seed);
    for (int call = 0; call < 3; call++) {
        for (int i = 0; i < 3; i++) assert_true(same_bits(graph[i], eager[i]));
        EXPECT_OK(duet_call(f, graph, in));
    }
    duet_function_free(f);
    return pairs;
}

static void steps_at_the_same_time_share_no_bytes(void **state) {
    (void)state;
    int before = duet_pool_threads(), pairs = 0;
    uint64_t random = 5;
    duet_spec spec = {.shape = SHAPE(8, 8), .dtype = DUET_F32};
    duet_tensor *in[] = {sample_tensor(&spec, FILL_DOMAIN, -1, 1, &random),
                         sample_tensor(&spec, FILL_DOMAIN, -1, 1, &random)};
    for (uint64_t seed = 1; seed <= WEBS; seed++) {
        duet_scope_open();
        duet_pool_set_threads(1 + (int)(seed % 4));
        duet_setting_passes(seed % 3 ? NULL : "-fuse,-cse");
        pairs += check_web(seed, in);
        duet_scope_close(NULL);
    }
    duet_setting_passes(NULL);
    duet_pool_set_threads(before);
    assert_true(pairs > 10 * WEBS); /* there was something to be seen */
}

int main(void) {
    setenv("DUET_VERIFY", "1", 1);
    setenv("DUET_FORK", "1", 1);
    setenv("DUET_SHUFFLE", "5", 0);
    setenv("DUET_POISON", "0", 1); /* it runs branches one after the other */
    const struct CMUnitTest tests[] = {
        TEST(random_programs_agree),
        TEST(steps_at_the_same_time_share_no_bytes),
    };
    return cmocka_run_group_tests_name("fork_programs", tests, NULL, NULL);
}
