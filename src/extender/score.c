/* How scores count beside those of kube-scheduler. */

#include "extender/score.h"

#include <inttypes.h>

int64_t score_points(unsigned wire, int64_t weight) {
    return (int64_t)wire * SCORE_POINTS * weight;
}

void score_share_print(unsigned most, int64_t weight, Buf *out) {
    buf_printf(out,
        "at weight %" PRId64 " kube-scheduler adds WIRE × %" PRId64 " (0 to %" PRId64
        ") to its own scores, 0 to %u by default",
        weight,
        score_points(1, weight),
        score_points(most, weight),
        SCORE_IN_TREE_MAX);
}
