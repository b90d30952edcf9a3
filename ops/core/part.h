/* Parts of a tensor: what slice and its adjoint, and concat's gradient and its adjoint, share. */
#ifndef DUET_PART_H
#define DUET_PART_H

#include "op.h"

/* ---- by numbers: attributes 0 `begin` and 1 `size`, one entry per axis, size -1 for the rest ----
 */

/* Checks them against input `whole`; *part becomes the shape of what they name (free where the rest
 * of a free dimension is meant). */
duet_status duet_infer_box(duet_shape *part, const duet_op_call *call, int whole);

/* ---- by likeness: attributes 0 `axis` and 1 `from_end`, inputs 2 .. lie before the part
 * ---------- */

/* Checks inputs `whole` and `part`, and those before it, against each other. */
duet_status duet_infer_part(const duet_op_call *call, int whole, int part);

/* Where on each axis of the whole the part begins. */
void duet_part_begin(int64_t *begin, const duet_kernel *kernel, const duet_shape *whole,
                     const duet_shape *part);

/* ---- copies --------------------------------------------------------------------------------- */

/* out = the part of in at `begin`. */
void duet_part_take(const duet_view *out, const duet_view *in, const int64_t *begin);

/* out = zeros, with in at `begin`. */
void duet_part_place(const duet_view *out, const duet_view *in, const int64_t *begin);

#endif
