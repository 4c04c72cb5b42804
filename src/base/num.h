#pragma once

/* Num: whole numbers that stop at their limits instead of wrapping. */

#include <stdint.h>

static inline int64_t num_add_sat(int64_t a, int64_t b) {
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

static inline int64_t num_sub_sat(int64_t a, int64_t b) {
    int64_t difference;

    if (__builtin_sub_overflow(a, b, &difference))
        return b > 0 ? INT64_MIN : INT64_MAX;
    return difference;
}
