/* Lessons: what is measured, and what it teaches. A lesson is one file lessons/NAME.c that ends in
 * one constant, and one line in lessons.c's table. Its body is written once, as a duet function;
 * the eager and the graph executor run that same function through the same call. */
#ifndef DUET_BENCH_LESSON_H
#define DUET_BENCH_LESSON_H

#include "duet.h"
#include "graph.h"
#include "harness.h"

enum { LESSON_TENSORS = 8 }; /* most inputs, outputs and variables of a lesson */

typedef struct lesson lesson;
typedef struct report report;

/* One executor's copy of a lesson: inputs, variables and function of its own, all begun alike. */
typedef struct exercise {
    const lesson *lesson;
    duet_function *function;
    duet_tensor *in[LESSON_TENSORS], *variables[LESSON_TENSORS];
    duet_tensor *out[LESSON_TENSORS]; /* where the version by hand writes its results */
} exercise;

struct lesson {
    const char *name;    /* "small_ops" */
    const char *title;   /* what it does, one line */
    const char *shows;   /* what to take away from it, one line */
    int number, repeats; /* of the lesson's own text: calls a repeat, repeats */
    int n_in, n_out, n_variables;
    double flops;     /* useful ones a call, where GFLOP/s tell something; else 0 */
    double tolerance; /* of the version by hand: |hand - eager| <= tolerance * (1 + |eager|) */
    duet_status (*setup)(exercise *e); /* sets in and variables (held), and out by hand */
    duet_callback body;                /* user: the exercise */
    void (*hand)(exercise *e);         /* the same with in, variables, out; NULL: none */
    duet_status (*run)(report *r);     /* instead of all that: measures in its own way ... */
    const lesson *subject;             /* ... the function of this lesson */
};

extern const lesson lesson_small_ops, lesson_big_matmul, lesson_train_step, lesson_tracing_cost,
    lesson_branches, lesson_small_ops_while;

/* All lessons in the order of the report, ended by NULL. */
extern const lesson *const lessons[];
const lesson *lesson_find(const char *name); /* NULL with a message that suggests a near name */

/* Fresh tensors, variables and function; NULL with a message. */
exercise *exercise_new(const lesson *l);
void exercise_free(exercise *e); /* NULL is fine */

/* Calls the function once; results go to the innermost scope. */
duet_status exercise_call(exercise *e, duet_tensor **out);

/* The lesson's function (or its subject's) as traced: no pass has run. NULL with a message. */
duet_graph *lesson_trace(const lesson *l);

/* Tensors for setup, held by the exercise: values drawn from N(0,1) or [-limit, limit) by a stream
 * of their own, zeros, and variables. NULL with a message. */
duet_tensor *held_normal(duet_shape shape, uint64_t stream);
duet_tensor *held_uniform(duet_shape shape, double limit, uint64_t stream);
duet_tensor *held_zeros(duet_shape shape);
duet_tensor *held_variable(const char *name, duet_tensor *initial); /* takes `initial` over */

/* ---- executors ------------------------------------------------------------------------------ */

typedef enum executor_kind { OP_BY_OP, REPLAYED, BY_HAND } executor_kind;

typedef struct executor {
    const char *name;
    executor_kind kind;
    duet_status (*call)(void *exercise); /* one call; results go to sink() */
    int64_t (*traces)(void *exercise);
    void (*switch_on)(void *exercise, bool on); /* around calls; off may wait: see harness.h */
} executor;

extern const executor executors[]; /* ended by name == NULL; the first is what others compare to */
const executor *executor_find(const char *name);
contender contender_of(const executor *x, exercise *e);

/* Op calls (eager) or steps of the plan (graph) a call takes; NAN by hand. */
double exercise_dispatches(const executor *x, exercise *e);

/* Calls `x` and the reference executor on fresh copies a few times and compares results and
 * variables: bit for bit, or by hand within the lesson's tolerance. `*equal` tells; `*where` says
 * in words what differed (a static buffer). Fails where a call fails. */
duet_status lesson_compare(const lesson *l, const executor *x, bool *equal, const char **where);

#endif
