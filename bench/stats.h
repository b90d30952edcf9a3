/* What a handful of timings says: the best, the middle, and how far they lie apart. */
#ifndef DUET_BENCH_STATS_H
#define DUET_BENCH_STATS_H

#include <stdbool.h>

typedef struct summary {
    double best, median;
    double mad; /* median of |sample - median|; NaN under three samples, where there is no spread */
} summary;

summary summarize(const double *samples, int count); /* all NaN for none */

double median_of(const double *samples, int count); /* NaN for none */

/* Whether `now` is slower than `before` by more than the two spreads together explain. Both best
 * and median must say so: one bad repeat moves neither, and one lucky repeat moves only the best.
 * Without a spread (NaN), or with one that is too good to be true, 5 % count as noise. */
bool is_regression(const summary *before, const summary *now);

/* Slope and start of the line through (x, y) that most pairs agree on: the median of the slopes of
 * all pairs of points (Theil and Sen), so that a few disturbed points do not turn it. */
typedef struct line_fit {
    double slope, start;
} line_fit;
line_fit fit_line(const double *x, const double *y, int count);

#endif
