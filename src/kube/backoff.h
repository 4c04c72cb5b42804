#pragma once

/*
 * Backoff: when to try again.
 *
 * Full jitter: a random time up to a limit that doubles with every failure in a row, so that not
 * all clients of a restarted API server connect at once. Also, tries have a rate limit, even with
 * successes in between: after BACKOFF_BURST quick ones, one per second on average.
 *
 * Time is an argument; random numbers depend only on the seed.
 */

#include <stdint.h>

#include "base/rng.h"

#define BACKOFF_LEAST_MSEC 200          /* limit of the first delay */
#define BACKOFF_MOST_MSEC 10000         /* the highest limit */
#define BACKOFF_BURST 5                 /* tries before the rate limit applies */
#define BACKOFF_RETRY_AFTER_MAX_SEC 300 /* a longer Retry-After is cut to this */

typedef struct Backoff {
    Rng rng;
    unsigned n_failures;     /* in a row */
    int64_t used_until_nsec; /* the rate limit is used up until this time */
} Backoff;

#define BACKOFF_INIT(seed) ((Backoff){.rng = {.state = (seed)}, .used_until_nsec = INT64_MIN / 2})

/* A random number from @from to @to, inclusive. */
int64_t backoff_pick(Backoff *backoff, int64_t from, int64_t to);

/* After a failure: the delay before the next try, in ns. @retry_after_sec is the server's
 * Retry-After; -1: none. */
int64_t backoff_next(Backoff *backoff, int64_t now_nsec, int retry_after_sec);

/* After a success: the next failure counts as the first. */
void backoff_reset(Backoff *backoff);
