#pragma once

/*
 * Warnings: log lines about rules that fail and requests that exceed the deadline.
 *
 * A rule that fails, fails for every pod: it is logged when it begins to, once for each version of
 * the policies. (A metric without a value is no failure here: its source is reported when it fails
 * and when it recovers.) Requests over the deadline are logged once in a while, with their number.
 * Everything after that is in /metrics.
 */

#include "extender/verbs.h"
#include "extender/view.h"

#define WARNINGS_LATE_SEC 10 /* between two lines about time that was up */
#define WARNINGS_AT_ONCE 8u  /* rules that one request logs; others wait for the next */

typedef struct Warnings Warnings;

Warnings *warnings_new(void); /* NULL when out of memory */
Warnings *warnings_free(Warnings *warnings);

/* A verb has been answered from @view. The text of an error is found by judging again, in the rest
 * of @time (NULL: not at all) and in @arena. @now_nsec: monotonic. */
void warnings_note(Warnings *warnings, const View *view, Verb verb, const Decision *decision,
    const RequestTime *time, Arena *arena, int64_t now_nsec);
