#pragma once

/*
 * Warnings: what goes wrong inside of decisions, as lines of the log.
 *
 * A rule that fails, fails for every pod: it is told when it begins to, once for each time
 * policies are loaded, with the error on one of the nodes. (Where it fails since a metric is absent
 * nothing is told: the source of the metric is, when it goes away and when it comes.) Requests that
 * run out of time are told once in a while, with their number. What happens after that is in
 * /metrics.
 *
 * Threads: any.
 */

#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "extender/verbs.h"
#include "extender/view.h"

#define WARNINGS_LATE_SEC 10 /* between two lines about time that was up */
#define WARNINGS_AT_ONCE 8u  /* rules that one request tells of; others wait for the next */

typedef struct Warnings Warnings;

Warnings *warnings_new(void); /* NULL when out of memory */
Warnings *warnings_free(Warnings *warnings);
DEFINE_CLEANUP(Warnings *, warnings_free)

/* A verb has been answered from @view. What an error says is found out by judging once more, in
 * what is left of @time (NULL: is not found out) and in @arena. @now_nsec: monotonic. */
void warnings_note(Warnings *warnings, const View *view, Verb verb, const Decision *decision,
    const RequestTime *time, Arena *arena, int64_t now_nsec);
