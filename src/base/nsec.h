#pragma once

/*
 * Nsec: times and durations are counted in nanoseconds, in an int64_t.
 *
 * These say how many there are. What time it is says clock.h, which pure layers must not ask.
 */

#include <stdint.h>

#define NSEC_PER_SEC INT64_C(1000000000)
#define NSEC_PER_MSEC INT64_C(1000000)
