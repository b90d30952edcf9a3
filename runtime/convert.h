/* Between dtypes, where C leaves the result undefined. */
#ifndef DUET_CONVERT_H
#define DUET_CONVERT_H

#include <stdint.h>

/* A float or double as i32: towards zero; what does not fit to the nearest that does; NaN to 0. */
#define DUET_TO_I32(x)                                                                             \
    ((x) >= 2147483648.0    ? INT32_MAX                                                            \
     : (x) <= -2147483648.0 ? INT32_MIN                                                            \
     : (x) != (x)           ? 0                                                                    \
                            : (int32_t)(x))

#endif
