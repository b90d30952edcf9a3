/* Near names, for messages that say "did you mean". */
#ifndef DUET_NEAR_H
#define DUET_NEAR_H

/* How many letters must change, come or go to turn `a` into `b` (Levenshtein's distance); only the
 * first 32 of each count. */
int duet_name_distance(const char *a, const char *b);

/* Of names that are offered one by one, the nearest to `name`: at most two letters away, and less
 * than half of it, for a suggestion further off would not help. Begin with {.name = name}. */
typedef struct duet_near {
    const char *name;
    const char *nearest; /* NULL: none is near */
    int distance;
} duet_near;
void duet_near_offer(duet_near *near, const char *candidate);

#endif
