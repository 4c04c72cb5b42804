#pragma once

/* Parts that several pages share: an attempt in a row of a table, the last hour for charts. */

#include "dashboard/dashboard.h"
#include "dashboard/widgets.h"
#include "history/changes.h"
#include "history/past.h"
#include "history/pods-summary.h"
#include "monitor/latency.h"

/* The attempt's decision of the first verb that has one; NULL: none. */
const PastDecision *attempt_first(const PodAttempt *attempt);

/* Three cells: "5,000 → 312", candidates and those that passed; the verbs; and the result: the node
 * it is bound to, the main reason of rejections, the error. */
#define ATTEMPT_COLUMNS "#Candidates → passed|Verbs|Result"
void attempt_cells(Html *html, const PodAttempt *attempt);

/* A link to the pod's page, at this decision; left open. */
void decision_open_link(Html *html, const PastDecision *past);

/* Reads all LATENCY_SLOTS, the oldest first, in the context's arena. NULL: out of memory. */
const LatencySlot *last_hour_read(const PageContext *context);

typedef struct HourChart {
    const char *label, *unit;
    double (*of)(const LatencySlot *slot);
} HourChart;

/* Values of a slot for charts; NaN: not known. p99 latency of filters in milliseconds, requests of
 * all verbs per second, pending pods. */
double slot_p99_msec(const LatencySlot *slot);
double slot_requests(const LatencySlot *slot);
double slot_pending(const LatencySlot *slot);

/* Minutes that charts show: 60, or less soon after berth has started. */
unsigned last_hour_span_min(const PageContext *context);

/* A section of charts over that time, with gaps before berth was started; @marks are in each. */
void last_hour_draw(const PageContext *context, Html *html, const HourChart *charts, size_t n,
    const ChartMark *marks, size_t n_marks);

/* Links to the previous and the next page. @page is from 1, with @rows of @n rows in all. The last
 * of @parameters is the page. */
void page_links_draw(Html *html, const char *path, HtmlParameter *parameters, size_t n_parameters,
    size_t page, unsigned rows, size_t n);

/* The table of pods: state, reason, attempts (page-pods.c). */
void pods_table_draw(Html *html, const PodSummary *const *pods, size_t n);

/* The fields that rules read of the node in @row of @view: labels, taints, resources, metrics. Ids
 * start with @id (node-facts.c). */
void node_facts(Html *html, const View *view, uint32_t row, const char *id);
