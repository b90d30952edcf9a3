#include "ops_elementwise.h"

#define NAME equal
#define ARITY 2
#define EXPR x == y
#define OUT_IS_BOOL
#include "kernels/elementwise.inc"

duet_tensor *duet_equal(duet_tensor *x, duet_tensor *y) {
    return duet_apply2(&duet_op_equal, x, y);
}

const duet_op duet_op_equal = {
    .name = "equal",
    .doc = "x == y, as bool",
    .n_in = 2,
    .in_names = {"x", "y"},
    DUET_ELEMENTWISE(equal),
    .samples = {"f32[3,4], f32[3,4]", "f32[3,4], f32[4]", "f64[2,1,5], f64[3,1]", "f32[67], f32[]",
                "f64[], f64[9]", "i32[17], i32[17]", "f32[0,3], f32[3]"},
};
