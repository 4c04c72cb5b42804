#pragma once

/*
 * Panel: the metrics of the policies in force, for the person who watches.
 *
 * One of them leads: a load of the cpu if there is one. It stands beside each placement; all stand
 * at the end, over all nodes and over those that were chosen, so that the two can be compared.
 *
 * A run may go on for days: of the chosen nodes the last PANEL_SAMPLES count.
 *
 * One thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "demo/usage.h"
#include "extender/view.h"

#define PANEL_METRICS_MAX 16u /* shown; what is beyond is measured all the same */
#define PANEL_NAME_MAX 32u
#define PANEL_SAMPLES 1024u

typedef struct PanelMetric {
    char name[PANEL_NAME_MAX];
    uint32_t gauge; /* its number */
    Usage usage;
    bool counts_placements;
    double chosen[PANEL_SAMPLES]; /* when it was chosen, in no order */
    uint64_t n_chosen;
} PanelMetric;

typedef struct Panel {
    PanelMetric metrics[PANEL_METRICS_MAX]; /* of nodes */
    size_t n;
    size_t lead; /* its place; n: there is none */
} Panel;

/* Those of @rules; what was noted of others is forgotten. */
void panel_follow(Panel *panel, const Program *rules);

/* The leading metric of one node. */
typedef struct PanelReading {
    double value;     /* NaN: absent. A load: in percent of the node; else as it is */
    double requested; /* of the same resource, in percent; NaN: it is no load */
} PanelReading;

bool panel_read(const Panel *panel, const View *view, Str node, PanelReading *ret);

/* @node was chosen while @view was in force. */
void panel_note(Panel *panel, const View *view, Str node);

/* One metric over all nodes, as rules see it; NaN where there is none. */
typedef struct PanelSummary {
    size_t n_present, n_nodes;
    double lowest, median, highest;
    double chosen; /* median of the nodes chosen */
} PanelSummary;

/* @scratch is for what is needed on the way. False: out of memory. */
bool panel_summarize(
    const Panel *panel, size_t metric, const View *view, Arena *scratch, PanelSummary *ret);

/* What was measured, as `berth explain --metrics` reads it. */
void panel_write(const View *view, int64_t now_nsec, Buf *out);
