#pragma once

/* Scores sent: kube-scheduler expects whole numbers, by convention 0 to 10, and does not check
 * them. berth combines rules as doubles, 0 to 100, and rounds last. A policy may set a larger
 * range, up to 0 to 100 (wire.maxScore). */

#include "base/buf.h"

/* Maps 0..100 to 0..@most, rounding halves up, also halves that are slightly too small from earlier
 * rounding. The result is in range for every input, also NaN. No branches, so that a loop over it
 * becomes vector code. */
static inline unsigned score_to_wire(double score, unsigned most) {
    double scaled = score * ((double)most / 100.0) + (0.5 + 1e-9);

    scaled = scaled > 0 ? scaled : 0; /* also for NaN */
    scaled = scaled < (double)most ? scaled : (double)most;
    return (unsigned)(int)scaled;
}

/* Points that kube-scheduler (1.17 and later) adds to a node's total for one point of an extender
 * with weight 1: its own scores go to 100, extenders' to 10. */
#define SCORE_POINTS 10

/* The largest sum of the scores in kube-scheduler's default profile. */
#define SCORE_IN_TREE_MAX 1200

/* Points that kube-scheduler adds for the score sent @wire, if this extender has @weight. */
int64_t score_points(unsigned wire, int64_t weight);

/* Prints how scores up to @most compare with kube-scheduler's own: "at weight 1 kube-scheduler adds
 * …". */
void score_share_print(unsigned most, int64_t weight, Buf *out);
