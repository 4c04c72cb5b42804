#pragma once

/*
 * Expiry: reports once that a metric has expired on every node, and once that it has values again.
 *
 * Values expire one by one; a report is due when the last one has gone, because then every rule
 * that reads the metric uses its onMissing. Metrics that are absent for another reason are not
 * reported here: an answer without series is a state of the source (load/poller.h), and a node that
 * is deleted takes its value along.
 *
 * Threads: one at a time.
 */

#include "extender/view.h"
#include "history/changes.h"
#include "live/live.h"

typedef enum GaugePresence {
    PRESENCE_NONE, /* no value yet, or none any more for a reason that is reported elsewhere */
    PRESENCE_HAS,
    PRESENCE_GONE, /* as reported */
} GaugePresence;

/* All zero at first. */
typedef struct Expiry {
    Program *program;     /* whose gauges: a reference; NULL: none yet */
    GaugePresence *items; /* by number of the gauge */
} Expiry;

void expiry_done(Expiry *expiry);

/* Compares with @view, the one in force, and reports each change of a gauge since the last call: in
 * the log, among @changes, and as an Event of @live (NULL: none). Gauges that a reload does not
 * change stay known. */
void expiry_look(Expiry *expiry, const View *view, Changes *changes, Live *live);
