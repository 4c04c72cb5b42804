#pragma once

/*
 * Scores on the wire: kube-scheduler takes whole numbers, 0 to 10 by agreement,
 * and checks nothing. berth combines rules at full precision, 0 to 100, and maps
 * to the wire last. A policy may ask for a wider range, up to 0 to 100.
 */

/* 0..100 to 0..@most, halves up; what a rounding error keeps just below a half counts
 * as one. In range whatever comes in, NaN included. Without branches, so that a loop
 * over it becomes vector code. */
static inline unsigned score_to_wire(double score, unsigned most) {
    double scaled = score * ((double)most / 100.0) + (0.5 + 1e-9);

    scaled = scaled > 0 ? scaled : 0; /* NaN too */
    scaled = scaled < (double)most ? scaled : (double)most;
    return (unsigned)(int)scaled;
}
