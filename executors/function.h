/* Functions, as the rest of executors/ sees them; the public side is in duet.h. */
#ifndef DUET_FUNCTION_H
#define DUET_FUNCTION_H

#include "frozen.h"
#include "graph_body.h"
#include "plan.h"
#include "signature.h"

/* One signature's plan in a function's cache. */
typedef struct duet_entry {
    struct duet_entry *next; /* most recently used first */
    duet_plan *plan;
    duet_graph *traced;        /* as recorded: before passes; for check_trace and gradients */
    duet_frozen frozen;        /* the host values that `traced` holds */
    _Atomic(duet_body *) body; /* `traced` as a body, made when a gradient is first asked for */
    _Atomic uint32_t refs;     /* the cache holds one, every running call one */
    duet_arg_key keys[];       /* n_in of them */
} duet_entry;

enum { DUET_CACHE_ROOM = 64 }; /* plans a function keeps */

struct duet_function {
    char *name;
    duet_callback body;
    void *user;
    int n_in, n_out;
    duet_spec *declared;           /* n_in specs with free dimensions, or NULL */
    duet_graph *free_trace;        /* the declared signature's trace, made once ... */
    duet_arg_key *free_trace_keys; /* ... for these literals and variables */

    pthread_mutex_t lock; /* guards all below */
    duet_entry *entries;
    duet_function_stats stats;
    int traced_in_a_row; /* calls, each of which had to trace */
    bool warned;
};

/* The plan for these arguments, traced if need be; a reference that the caller releases. */
duet_entry *duet_function_entry(duet_function *function, duet_tensor *const *in);
void duet_entry_release(duet_entry *entry);

/* What the entry's call computes as a body that a tape can differentiate; the entry holds it. */
duet_body *duet_entry_body(duet_function *function, duet_entry *entry);

/* Traces the body for arguments whose tensors have the specs of `keys`. */
duet_graph *duet_function_trace(duet_function *function, duet_tensor *const *in,
                                const duet_arg_key *keys);

/* The same as a call would: by the declared signature, with the call's dimensions filled in then.
 * Nothing is kept or counted. */
duet_graph *duet_function_trace_anew(duet_function *function, duet_tensor *const *in,
                                     const duet_arg_key *keys);

/* The cached entry of these keys, the most recently used one from now on; NULL where there is none.
 * The caller holds the lock. */
duet_entry *duet_function_find(duet_function *function, const duet_arg_key *keys);

/* The functions whose bodies this thread is in, innermost first. The lock is held around a trace.
 */
typedef struct duet_running {
    const duet_function *function;
    bool holds_lock;
    struct duet_running *outer;
} duet_running;
extern _Thread_local duet_running *duet_functions_running;

/* Refuses, in the name of `who`, to change a function from inside its own body. */
duet_status duet_function_may_change(const duet_function *function, const char *who);

/* For reading what the lock guards, from anywhere: a body may ask of the function that it is being
 * traced for, whose lock its thread holds. Whether the lock was taken, for the unlock. */
bool duet_function_lock_to_read(const duet_function *function);
void duet_function_unlock_read(const duet_function *function, bool locked);

/* Whether the arguments are there and fit the declared signature. */
duet_status duet_function_check(const duet_function *function, duet_tensor *const *in);

/* Warns where function objects of one body are made, called once and freed, again and again. */
void duet_function_note_end(const duet_function *function);

#endif
