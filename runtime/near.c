#include "near.h"

#include <string.h>

enum { LONGEST = 32 };

int duet_name_distance(const char *a, const char *b) {
    int row[LONGEST + 1], na = (int)strnlen(a, LONGEST), nb = (int)strnlen(b, LONGEST);
    for (int j = 0; j <= nb; j++) row[j] = j;
    for (int i = 1; i <= na; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            int change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            int shift = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = change < shift ? change : shift;
        }
    }
    return row[nb];
}

void duet_near_offer(duet_near *near, const char *candidate) {
    int away = duet_name_distance(near->name, candidate);
    if (away > 2 || 2 * away > (int)strlen(near->name)) return;
    if (near->nearest && away >= near->distance) return;
    near->nearest = candidate;
    near->distance = away;
}
