#pragma once

/*
 * Nsec: times and durations are counted in nanoseconds, in an int64_t.
 *
 * For the current time see clock.h, which pure layers must not include.
 */

#include <stdint.h>

#define NSEC_PER_SEC INT64_C(1000000000)
#define NSEC_PER_MSEC INT64_C(1000000)

/* The second of a time, rounded towards the past. @ret_rest: the nanoseconds after it. */
static inline int64_t nsec_split(int64_t nsec, uint32_t *ret_rest) {
    int64_t rest = nsec % NSEC_PER_SEC;

    *ret_rest = (uint32_t)(rest < 0 ? rest + NSEC_PER_SEC : rest);
    return nsec / NSEC_PER_SEC - (rest < 0);
}

/* The earlier of two times. */
static inline int64_t clock_earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}
