#pragma once

/*
 * Warnings: log lines about rules that fail and requests that exceed the deadline.
 *
 * A rule that fails usually fails for every pod, so its first failure is logged, once per version
 * of the policies. (A metric without a value is not a failure here: its source is reported when it
 * fails and when it recovers.) Requests over the deadline are logged at intervals, with their
 * number. /metrics has all counts.
 */

#include <pthread.h>

#include "extender/verbs.h"
#include "extender/view.h"

#define WARNINGS_LATE_SEC 10 /* between two lines about the deadline */
#define WARNINGS_AT_ONCE 8u  /* rules logged for one request; others wait */

/* is_told has a flag for each rule: filters by number, then scores, then the match of each
 * policy. */
typedef struct Warnings {
    pthread_mutex_t lock; /* for all fields */
    Program *program;     /* of the rules: a reference, so that its address is not reused */
    bool *is_told;
    bool was_late;
    int64_t late_at_nsec; /* of the last line */
    uint64_t n_late;      /* since the last line */
} Warnings;

#define WARNINGS_INIT ((Warnings){.lock = PTHREAD_MUTEX_INITIALIZER})

void warnings_done(Warnings *warnings);

/* Logs new failures of an answered verb. Evaluates again to find the text of an error, in the rest
 * of @time (NULL: not at all) and in @arena. @now_nsec: monotonic. */
void warnings_note(Warnings *warnings, const View *view, Verb verb, const Decision *decision,
    const RequestTime *time, Arena *arena, int64_t now_nsec);
