/* duet: a mini tensor runtime with two executors. This header is the whole public interface.
 *
 *     static duet_tensor *small_ops(duet_tensor *x) {
 *         for (int i = 0; i < 50; i++)
 *             x = duet_relu(duet_add(duet_mul(x, duet_f32(0.99f)), duet_f32(0.01f)));
 *         return x;
 *     }
 *
 *     duet_tensor   *e = small_ops(x);                  // eager: 150 dispatches
 *     duet_function *f = duet_function_unary("small_ops", small_ops);
 *     duet_tensor   *g = duet_call_unary(f, x);         // first call traces; later calls replay
 *
 * Ownership: results belong to the innermost scope of the thread (scope.h); duet_keep() holds one
 * longer. Errors: a failing call returns NULL or a status and leaves a message (status.h). */
#ifndef DUET_H
#define DUET_H

#include "ops.h"   /* what can be computed: duet_relu, duet_matmul ... */
#include "scope.h" /* who owns results */
#include "value.h" /* tensors from host data and back */

#include "here.h" /* where in the source an op was called */

#include <stdio.h>

/* ---- functions: trace once, replay ---------------------------------------------------------- */

typedef struct duet_function duet_function;

/* What a function computes: reads in[0..n_in), sets out[0..n_out). Called with ordinary tensors
 * (eagerly) or with symbolic ones (while it is traced), and written the same way for both. */
typedef duet_status (*duet_callback)(duet_tensor **out, duet_tensor *const *in, void *user);

/* A function of a fixed number of inputs and outputs. Two function objects share nothing, even of
 * one body. `name` is copied; `user` is passed through. NULL with a message on failure. */
duet_function *duet_function_new(const char *name, duet_callback body, int n_in, int n_out,
                                 void *user);
duet_function *duet_function_unary(const char *name, duet_tensor *(*body)(duet_tensor *));
duet_function *duet_function_binary(const char *name,
                                    duet_tensor *(*body)(duet_tensor *, duet_tensor *));
void duet_function_free(duet_function *function); /* NULL is fine */

/* Calls it: traces when the inputs' signature is new, else replays. Results belong to the caller's
 * scope and no later call changes them. On failure all out[i] are NULL. Safe from several threads.
 */
duet_status duet_call(duet_function *function, duet_tensor **out, duet_tensor *const *in);

/* The same for functions of one or two inputs and one result; others are refused. */
duet_tensor *duet_call_unary(duet_function *function, duet_tensor *x);
duet_tensor *duet_call_binary(duet_function *function, duet_tensor *x, duet_tensor *y);

/* Declares what the inputs must be: "f32[?,20], f32[?,1]". A `?` is free: all its values share one
 * trace, and each concrete shape has a plan of its own. Calls that do not fit are refused. */
duet_status duet_function_declare(duet_function *function, const char *signature);

typedef struct duet_function_stats {
    int64_t traces;      /* times the body was traced */
    int64_t calls;       /* calls that succeeded */
    int64_t live_graphs; /* plans in the cache now */
    int64_t evictions;   /* plans the bounded cache has dropped */
} duet_function_stats;
duet_function_stats duet_function_get_stats(const duet_function *function);
int64_t duet_trace_count(const duet_function *function); /* = stats.traces */

void duet_function_clear(duet_function *function); /* drops every trace and plan */

/* A body may ask of the function that it is traced or run for (stats, frozen values), but not
 * clear, declare or free it: that fails and changes nothing. */

/* While on (this thread), every function runs op by op, for debugging. Returns the old setting. */
bool duet_run_eagerly(bool on);

/* Traces the body again with `in`'s signature, twice, and compares with the cached trace: fails
 * naming the first difference, such as a host value that was frozen into the graph and has since
 * changed, or a body that is not pure. */
duet_status duet_check_trace(duet_function *function, duet_tensor *const *in);

/* The host values that its traces hold, one line each: "f32[] 0.99  # small_ops.c:5". Replays do
 * not see the host change them; what must change goes in as a tensor or a variable. */
void duet_function_print_frozen(FILE *file, const duet_function *function);

/* ---- control flow that depends on values ------------------------------------------------------

 * Ordinary C `if` and `for` run while tracing: they unroll. These two become ops with sub-graphs.
 * Eagerly they just call the bodies, which may use tensors and variables around them. */

/* out[..] = pred ? then_body(in[..]) : else_body(in[..]).  pred: bool[]
 * The gradient of a value that only the branch not taken uses is NULL eagerly, where that branch
 * was never run, and zeros in a graph, which holds both. */
duet_status duet_cond(duet_tensor **out, int n_out, duet_tensor *pred, duet_callback then_body,
                      duet_callback else_body, duet_tensor *const *in, int n_in, void *user);

/* state[..] = in[..]; while condition(state[..]) state[..] = body(state[..]); out[..] = state[..].
 * The condition gives one bool[]; a state keeps its dtype and shape.  1 <= n <= 16 */
duet_status duet_while(duet_tensor **out, duet_callback condition, duet_callback body,
                       duet_tensor *const *in, int n, void *user);

/* ---- gradients ------------------------------------------------------------------------------ */

typedef struct duet_tape duet_tape;

/* Starts recording, in this thread, what happens to watched tensors and to variables. A persistent
 * tape answers any number of duet_gradient() calls, else the first one uses it up. A tape does not
 * record the calls of its own gradient: for second order take the first one inside another tape. */
duet_tape *duet_tape_new(bool persistent);
duet_status duet_tape_watch(duet_tape *tape, duet_tensor *x);
void duet_tape_stop(duet_tape *tape); /* records no more; the gradient can still be taken */
void duet_tape_free(duet_tape *tape); /* NULL is fine */

/* grads[i] = d sum(target) / d sources[i], shaped like sources[i]; NULL without error where target
 * does not depend on it or it was not watched. `grads` belong to the innermost scope. While tracing
 * there is none through a cond or while whose body reads a variable: pass its value instead. */
duet_status duet_gradient(duet_tensor **grads, duet_tape *tape, duet_tensor *target,
                          duet_tensor *const *sources, int n_sources);

#endif
