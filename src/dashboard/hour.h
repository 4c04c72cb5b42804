#pragma once

/*
 * Hour: the last hour in slots of ten seconds, for the charts of it.
 */

#include <stdbool.h>

#include "dashboard/dashboard.h"
#include "monitor/latency.h"

#define HOUR_SLOTS (LATENCY_SLOTS - 1) /* the last one is not over yet */

/* All LATENCY_SLOTS, the oldest first, in the context's arena. NULL: out of memory. */
const LatencySlot *hour_read(const PageContext *context);

/* Whether berth was there: before that nothing is shown, rather than that nothing happened. */
bool hour_was_there(const PageContext *context, const LatencySlot *slot);

/* What 99 of 100 filters took at most, in milliseconds. NaN: there were none. */
double hour_p99_msec(const LatencySlot *slot);
