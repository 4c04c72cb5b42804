#pragma once

/*
 * Warnings: log lines about rules that fail and requests that exceed the deadline.
 *
 * A rule that fails, fails for every pod: it is logged when it begins to, once for each version of
 * the policies. (A metric without a value is no failure here: its source is reported when it fails
 * and when it recovers.) Requests over the deadline are logged once in a while, with their number.
 * Everything after that is in /metrics.
 */

#include <pthread.h>

#include "extender/verbs.h"
#include "extender/view.h"

#define WARNINGS_LATE_SEC 10 /* between two lines about time that was up */
#define WARNINGS_AT_ONCE 8u  /* rules that one request logs; others wait for the next */

/* One bit for each rule that has been logged: filters by number, then scores, then the match of
 * each policy. */
typedef struct Warnings {
    pthread_mutex_t lock; /* for all of it */
    Program *program;     /* whose rules they are, a reference: another may not take its place */
    bool *is_told;
    bool was_late;
    int64_t late_at_nsec; /* of the last line */
    uint64_t n_late;      /* requests since then */
} Warnings;

#define WARNINGS_INIT ((Warnings){.lock = PTHREAD_MUTEX_INITIALIZER})

void warnings_done(Warnings *warnings);

/* A verb has been answered from @view. The text of an error is found by judging again, in the rest
 * of @time (NULL: not at all) and in @arena. @now_nsec: monotonic. */
void warnings_note(Warnings *warnings, const View *view, Verb verb, const Decision *decision,
    const RequestTime *time, Arena *arena, int64_t now_nsec);
