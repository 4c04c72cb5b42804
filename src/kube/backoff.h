#pragma once

/*
 * Backoff: when to try again.
 *
 * Full jitter: a random time up to a ceiling that doubles with every failure in a row, so that not
 * all clients of an API server that comes back come at once. And tries are rationed, whatever
 * counts as success in between: after BACKOFF_BURST quick ones, one a second on average.
 *
 * Time is an argument; randomness comes from the seed alone.
 */

#include <stdint.h>

#include "base/rng.h"

#define BACKOFF_LEAST_MSEC 200          /* ceiling of the first delay */
#define BACKOFF_MOST_MSEC 10000         /* no ceiling is above this */
#define BACKOFF_BURST 5                 /* tries that need not wait for the ration */
#define BACKOFF_RETRY_AFTER_MAX_SEC 300 /* the longest Retry-After that is honoured */

typedef struct Backoff {
    Rng rng;
    unsigned n_failures; /* in a row */
    int64_t paid_nsec;   /* the ration is used up to this time */
} Backoff;

#define BACKOFF_INIT(seed) ((Backoff){.rng = {.state = (seed)}, .paid_nsec = INT64_MIN / 2})

/* A number from @from to @to, both included. */
int64_t backoff_pick(Backoff *backoff, int64_t from, int64_t to);

/* Another try is needed: how long to wait from @now_nsec, in ns. @retry_after_sec is the server's
 * Retry-After, -1: none. */
int64_t backoff_next(Backoff *backoff, int64_t now_nsec, int retry_after_sec);

/* It has worked: the next failure is the first one. */
void backoff_reset(Backoff *backoff);
