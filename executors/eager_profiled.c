#include "eager.h"

#include "call_checks.h"
#include "clock.h"
#include "core/attrs.h"
#include "scope_inline.h"
#include "tape.h"
#include "thread_state.h"
#include "vector.h"

static _Thread_local duet_profile profile;

const char *const duet_stage_names[DUET_STAGES] = {"look up",  "check",  "infer",
                                                   "allocate", "record", "run"};

void duet_profile_start(void) {
    profile = (duet_profile){0};
    duet_thread.profiling = true;
}

duet_profile duet_profile_stop(void) {
    duet_thread.profiling = false;
    return profile;
}

#define STAGE_BEGIN uint64_t begun_ = duet_clock_ns(), last_ = begun_
#define STAGE(name)                                                                                \
    do {                                                                                           \
        uint64_t now_ = duet_clock_ns();                                                           \
        profile.stage_ns[DUET_STAGE_##name] += now_ - last_;                                       \
        last_ = now_;                                                                              \
    } while (0)
#define STAGE_END (profile.calls++, profile.total_ns += last_ - begun_)
#include "eager_stages.inc"

duet_status duet_eager_dispatch_profiled(duet_tensor **out, const duet_op *op,
                                         const duet_attr *attrs, duet_tensor *const *in, int n_in) {
    return dispatch(out, op, attrs, in, n_in);
}
