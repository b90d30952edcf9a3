#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_in_place(double *values, int count) {
    if (count <= 0) return NAN;
    qsort(values, (size_t)count, sizeof *values, by_size);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double median_of(const double *samples, int count) {
    double *copy = count > 0 ? malloc((size_t)count * sizeof *copy) : NULL;
    if (!copy) return NAN;
    memcpy(copy, samples, (size_t)count * sizeof *copy);
    double median = median_in_place(copy, count);
    free(copy);
    return median;
}

summary summarize(const double *samples, int count) {
    summary s = {NAN, NAN, NAN};
    double *copy = count > 0 ? malloc((size_t)count * sizeof *copy) : NULL;
    if (!copy) return s;
    memcpy(copy, samples, (size_t)count * sizeof *copy);
    s.median = median_in_place(copy, count);
    s.best = copy[0];
    for (int i = 0; i < count; i++) copy[i] = fabs(samples[i] - s.median);
    if (count >= 3) s.mad = median_in_place(copy, count);
    free(copy);
    return s;
}

/* 1.4826 MAD is the standard deviation of normally distributed noise; three of them are rare. */
static double noise(const summary *before, const summary *now) {
    double spread = hypot(before->mad, now->mad), least = 0.05 * before->median;
    return isnan(spread) ? least : fmax(3 * 1.4826 * spread, least);
}

bool is_regression(const summary *before, const summary *now) {
    double allowed = noise(before, now);
    return now->median > before->median + allowed && now->best > before->best + allowed;
}

line_fit fit_line(const double *x, const double *y, int count) {
    line_fit fit = {NAN, NAN};
    int pairs = 0, room = count * (count - 1) / 2;
    double *values = malloc((size_t)(room > count ? room : count + 1) * sizeof *values);
    if (!values) return fit;
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++)
            if (x[i] != x[j]) values[pairs++] = (y[j] - y[i]) / (x[j] - x[i]);
    fit.slope = median_in_place(values, pairs);
    for (int i = 0; i < count; i++) values[i] = y[i] - fit.slope * x[i];
    fit.start = median_in_place(values, count);
    free(values);
    return fit;
}
