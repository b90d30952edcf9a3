/* What `while` and its gradient have in common. */
#ifndef DUET_LOOP_H
#define DUET_LOOP_H

#include "core/body.h"

enum { DUET_LOOP_BODY, DUET_LOOP_COND, DUET_LOOP_GRADIENT }; /* attributes */

/* Checks that `body` maps a state to one of the same specs and `cond` a state to bool[]. */
duet_status duet_loop_infer(const duet_op_call *call, const duet_spec *const *state, int n_state);

/* Whether the loop goes on from this state. */
duet_status duet_loop_goes_on(bool *goes_on, const duet_body *cond, const duet_view *state);

/* A state: views into one block, laid out like `like`. NULL with a message without memory. */
typedef struct duet_loop_state {
    struct duet_loop_state *before; /* in a chain of states */
    size_t bytes;
    duet_view *views; /* n of them, at the block's end */
} duet_loop_state;
duet_loop_state *duet_loop_state_new(const duet_view *like, int n);
void duet_loop_state_free(duet_loop_state *state); /* NULL is fine */

void duet_loop_copy(const duet_view *to, const duet_view *from, int n);

#endif
