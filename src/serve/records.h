#pragma once

/*
 * Records: what the daemon counts and remembers. Observers (serve/observers.h) write it, pages read
 * it; each part has its own lock.
 */

#include <stdbool.h>

#include "base/cleanup.h"
#include "history/changes.h"
#include "history/decisions.h"
#include "history/recent-pods.h"
#include "monitor/latency.h"
#include "monitor/metrics.h"
#include "monitor/warnings.h"
#include "serve/daemon.h"

typedef struct Records {
    Metrics *metrics;
    Warnings *warnings;
    Changes *changes;
    Latency *latency;
    RecentPods *recent_pods;
    Decisions *decisions; /* NULL: none are kept */
} Records;

/* False when out of memory: records_done() all the same. */
bool records_open(Records *records, const DaemonOptions *options) MUST_CHECK;
void records_done(Records *records); /* takes a zeroed one */
