/* What can be computed: the typed functions, by family. */
#ifndef DUET_OPS_H
#define DUET_OPS_H

#include "op.h"
#include "ops_elementwise.h"
#include "ops_nn.h"
#include "ops_reduce.h"
#include "ops_shape.h"
#include "ops_state.h"

#endif
