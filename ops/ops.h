/* What can be computed: the typed functions, by family. */
#ifndef DUET_OPS_H
#define DUET_OPS_H

#include "op.h"

#endif
