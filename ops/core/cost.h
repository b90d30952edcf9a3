/* What most ops' `cost` says. Free dimensions count as 1. */
#ifndef DUET_COST_H
#define DUET_COST_H

#include "op.h"

double duet_cost_elements(const duet_spec *spec);
double duet_cost_bytes(const duet_spec *spec);

/* A view: nothing is done. */
duet_cost duet_cost_nothing(const duet_op_call *call, const duet_spec *out);

/* Elements are moved, not computed: each of the output's is read once and written once. */
duet_cost duet_cost_move(const duet_op_call *call, const duet_spec *out);

#endif
