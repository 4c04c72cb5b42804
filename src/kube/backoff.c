/* Delays between retries: full jitter, doubling limits, and a rate limit. */

#include "kube/backoff.h"

#include "base/nsec.h"

int64_t backoff_pick(Backoff *backoff, int64_t from, int64_t to) {
    return from + (int64_t)rng_pick(&backoff->rng, (uint64_t)(to - from) + 1);
}

static int64_t limit_of(unsigned n_failures) {
    int64_t msec = BACKOFF_LEAST_MSEC;

    while (n_failures-- > 0 && msec < BACKOFF_MOST_MSEC)
        msec *= 2;
    return (msec < BACKOFF_MOST_MSEC ? msec : BACKOFF_MOST_MSEC) * NSEC_PER_MSEC;
}

int64_t backoff_next(Backoff *backoff, int64_t now_nsec, int retry_after_sec) {
    int64_t at = now_nsec + backoff_pick(backoff, 0, limit_of(backoff->n_failures));
    int64_t allowed_at = backoff->used_until_nsec - (BACKOFF_BURST - 1) * NSEC_PER_SEC;

    if (retry_after_sec > BACKOFF_RETRY_AFTER_MAX_SEC)
        retry_after_sec = BACKOFF_RETRY_AFTER_MAX_SEC;
    if (retry_after_sec > 0) /* the minimum; jitter is added */
        at += retry_after_sec * NSEC_PER_SEC;
    if (backoff->n_failures < 64)
        backoff->n_failures++;
    if (at < allowed_at)
        at = allowed_at;
    backoff->used_until_nsec =
        (at > backoff->used_until_nsec ? at : backoff->used_until_nsec) + NSEC_PER_SEC;
    return at - now_nsec;
}

void backoff_reset(Backoff *backoff) {
    backoff->n_failures = 0;
}
