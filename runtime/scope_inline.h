/* How a scope comes to own a result, for those who inline it. */
#ifndef DUET_SCOPE_INLINE_H
#define DUET_SCOPE_INLINE_H

#include "scope.h"
#include "tensor_inline.h"

/* While a callback runs, the scopes that were open before it are not its to close. */
typedef struct duet_scope_floor {
    int depth;   /* so many scopes stay open */
    bool active; /* a callback runs */
    bool broken; /* it tried to close one of them */
} duet_scope_floor;

/* One array of tensors for a thread; a scope is the index at which it begins. */
typedef struct duet_scope_owned {
    duet_tensor **tensors;
    int64_t count, room;
    int64_t *starts;
    int depth, depth_room;
    int unopened; /* scopes that found no memory: they merge with the one around them */
    bool registered;
    duet_scope_floor floor;
} duet_scope_owned;

extern _Thread_local duet_scope_owned duet_scope_local;

/* Around a callback: what held before goes back with the second, which tells whether the callback
 * tried to close a scope that it had not opened. */
duet_scope_floor duet_scope_protect(void);
bool duet_scope_unprotect(duet_scope_floor before);

__attribute__((cold)) bool duet_scope_grow(void); /* false with a message */

static inline duet_tensor *duet_scope_own_inline(duet_tensor *tensor) {
    duet_scope_owned *s = &duet_scope_local;
    if (__builtin_expect(s->count == s->room, 0) && !duet_scope_grow()) {
        duet_release(tensor);
        return NULL;
    }
    return s->tensors[s->count++] = tensor;
}

#endif
