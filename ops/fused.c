#include "core/call_body.h"

const duet_op duet_op_fused = {
    .name = "fused",
    .doc = "a sub-graph of elementwise ops, run tile by tile without intermediates in memory",
    .n_in = 0,
    .n_in_max = DUET_MAX_INPUTS,
    .n_out = -1,
    .in_names = {"x"},
    .traits = DUET_OP_INPLACE,
    .attrs = {{"body", DUET_ATTR_BODY, .required = true}},
    .infer = duet_call_body_infer,
    .run = duet_call_body_run,
    .grad = duet_call_body_grad,
};
