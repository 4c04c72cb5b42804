#pragma once

/* TokenBucket: limits events to @burst at once and @per_sec on average. All zero: full. */

#include <stdbool.h>
#include <stdint.h>

#include "base/nsec.h"

typedef struct TokenBucket {
    int64_t full_at; /* monotonic: when it was, or will be, full */
} TokenBucket;

/* Takes a token. Returns false if there is none. */
static inline bool token_take(
    TokenBucket *bucket, unsigned per_sec, unsigned burst, int64_t now_nsec) {
    const int64_t one = NSEC_PER_SEC / per_sec;

    if (bucket->full_at < now_nsec)
        bucket->full_at = now_nsec;
    if (bucket->full_at - now_nsec > (int64_t)(burst - 1) * one)
        return false;
    bucket->full_at += one;
    return true;
}
