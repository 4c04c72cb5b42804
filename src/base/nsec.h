#pragma once

/*
 * Nsec: times and durations are counted in nanoseconds, in an int64_t.
 *
 * For the current time see clock.h, which pure layers must not include.
 */

#include <stdint.h>

#define NSEC_PER_SEC INT64_C(1000000000)
#define NSEC_PER_MSEC INT64_C(1000000)

/* The earlier of two times. */
static inline int64_t clock_earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}
