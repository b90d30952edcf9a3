#include "eager.h"

#include "call_checks.h"
#include "core/attrs.h"
#include "scope_inline.h"
#include "tape.h"
#include "thread_state.h"

#define DISPATCH duet_eager_dispatch
#define STAGE_BEGIN
#define STAGE(name)
#define STAGE_END
#include "eager_stages.inc"
