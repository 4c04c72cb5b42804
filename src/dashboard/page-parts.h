#pragma once

/* Parts that several pages share: an attempt in a row of a table, the last hour for charts. */

#include "dashboard/dashboard.h"
#include "history/changes.h"
#include "history/past.h"
#include "history/pods-summary.h"
#include "monitor/latency.h"

/* Any decision of the attempt, the first there is; NULL: there is none. */
const PastDecision *attempt_first(const PodAttempt *attempt);

/* Three cells: "5,000 → 312", candidates and those that passed; the verbs; and the result: the node
 * it is bound to, the main reason of rejections, the error. */
#define ATTEMPT_COLUMNS "#Candidates → passed|Verbs|Result"
void attempt_cells(Html *html, const PodAttempt *attempt);

/* A link to the pod's page, at this decision; left open. */
void decision_open_link(Html *html, const PastDecision *past);

#define LAST_HOUR_SLOTS (LATENCY_SLOTS - 1) /* slots of 10 s; the last one is not over yet */

/* All LATENCY_SLOTS, the oldest first, in the context's arena. NULL: out of memory. */
const LatencySlot *last_hour_read(const PageContext *context);

/* Whether berth was running then: before, charts have a gap. */
bool last_hour_covers(const PageContext *context, const LatencySlot *slot);

/* What charts show of a slot; NaN: nothing is known. p99 latency of filters in milliseconds,
 * requests of all verbs per second, pending pods. */
double slot_p99_msec(const LatencySlot *slot);
double slot_requests(const LatencySlot *slot);
double slot_pending(const LatencySlot *slot);

/* Minutes that charts of the last hour show: a berth that was started a moment ago has no hour. */
unsigned last_hour_span_min(const PageContext *context);

/* A section of charts over that time. */
typedef struct HourChart {
    const char *label, *unit;
    double (*of)(const LatencySlot *slot);
} HourChart;
void last_hour_draw(const PageContext *context, Html *html, const HourChart *charts, size_t n);

/* The last hour, or as much of it as there was, as a <figure> with one axis of time: what filters
 * rejected, how long they took, and @changes, the newest first, as marks with the numbers that they
 * have in the table (changes-axis.c). */
void changes_axis_draw(const PageContext *context, Html *html, const Change *changes, size_t n);

/* The table of pods: state, reason, attempts (page-pods.c). */
void pods_table_draw(Html *html, const PodSummary *const *pods, size_t n);

/* A section of the newest decisions, a row for each pod (newest-pods.c). */
void newest_pods_draw(const PageContext *context, Html *html);

/* The fields that rules read of the node in @row of @view: labels, taints, resources, metrics. Ids
 * start with @id (node-facts.c). */
void node_facts(Html *html, const View *view, uint32_t row, const char *id);
