#pragma once

/*
 * Scores on the wire: kube-scheduler takes whole numbers, 0 to 10 by agreement, and checks nothing.
 * berth combines rules at full precision, 0 to 100, and maps to the wire last. A policy may set a
 * wider range, up to 0 to 100.
 */

#include "base/buf.h"

/* 0..100 to 0..@most, rounding halves up, with a tolerance for rounding errors just below a half.
 * The result is in range for every input, also NaN. Without branches, so that a loop over it
 * becomes vector code. */
static inline unsigned score_to_wire(double score, unsigned most) {
    double scaled = score * ((double)most / 100.0) + (0.5 + 1e-9);

    scaled = scaled > 0 ? scaled : 0; /* NaN too */
    scaled = scaled < (double)most ? scaled : (double)most;
    return (unsigned)(int)scaled;
}

/* The points that kube-scheduler (1.17 and later) adds to a node's total for one point on the wire,
 * at weight 1: its own scores go to 100, an extender's are meant to go to 10. */
#define SCORE_POINTS 10

/* The most that the score plugins of kube-scheduler's default profile add, all together. */
#define SCORE_IN_TREE_MAX 1200

/* The points it adds for @wire, at its weight for this extender. */
int64_t score_points(unsigned wire, int64_t weight);

/* How much scores of up to @most count compared with kube-scheduler's own: "at weight 1
 * kube-scheduler adds …". */
void score_share_print(unsigned most, int64_t weight, Buf *out);
