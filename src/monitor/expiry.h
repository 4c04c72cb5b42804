#pragma once

/*
 * Expiry: reports once when a metric has expired on every node, and once when it has values again.
 *
 * Values expire one by one. A report is due when the last one has expired, because then every rule
 * that reads the metric uses its onMissing. Other reasons for absent metrics are not reported here:
 * an answer without series is a state of the source (load/poller.h), and a deleted node takes its
 * value along.
 *
 * Threads: one at a time.
 */

#include "extender/view.h"
#include "history/changes.h"
#include "live/live.h"

typedef enum GaugePresence {
    PRESENCE_NONE, /* no value yet, or none now for a reason reported elsewhere */
    PRESENCE_HAS,
    PRESENCE_GONE, /* expired, and reported */
} GaugePresence;

/* All zero at first. */
typedef struct Expiry {
    Program *program;     /* of the gauges: a reference; NULL: none yet */
    GaugePresence *items; /* by number of the gauge */
} Expiry;

void expiry_done(Expiry *expiry);

/* Compares gauges with @view, the one in force, and reports each change since the last call: in the
 * log, among @changes, and as an Event of @live (NULL: none). Gauges keep their state over a reload
 * that does not change them. */
void expiry_look(Expiry *expiry, const View *view, Changes *changes, Live *live);
