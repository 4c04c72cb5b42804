#pragma once

/* Parts that several pages share: a decision in a row of a table, the last hour for charts. */

#include "dashboard/dashboard.h"
#include "history/changes.h"
#include "history/past.h"
#include "monitor/latency.h"

/* "5,000 → 312": candidates, and those passed or scored; nothing for a bind. */
void decision_counts(Html *html, const PastDecision *past);

/* The result: the node it is bound to, the main reason of rejections, the error. */
void decision_result(Html *html, const PastDecision *past);

/* A link to the pod's page, at this decision; left open. */
void decision_open_link(Html *html, const PastDecision *past);

#define LAST_HOUR_SLOTS (LATENCY_SLOTS - 1) /* slots of 10 s; the last one is not over yet */

/* All LATENCY_SLOTS, the oldest first, in the context's arena. NULL: out of memory. */
const LatencySlot *last_hour_read(const PageContext *context);

/* Whether berth was running then: before, charts have a gap. */
bool last_hour_covers(const PageContext *context, const LatencySlot *slot);

/* p99 latency of filters in milliseconds. NaN: there were none. */
double slot_p99_msec(const LatencySlot *slot);

/* The last hour, or as much of it as there was, as a <figure> with one axis of time: what filters
 * rejected, how long they took, and @changes, the newest first, as marks with the numbers that they
 * have in the table (changes-axis.c). */
void changes_axis_draw(const PageContext *context, Html *html, const Change *changes, size_t n);

/* The fields that rules read of the node in @row of @view: labels, taints, resources, metrics. Ids
 * start with @id (node-facts.c). */
void node_facts(Html *html, const View *view, uint32_t row, const char *id);
