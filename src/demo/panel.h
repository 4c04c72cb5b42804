#pragma once

/*
 * Panel: the metrics of the policies in force.
 *
 * The first one, a cpu load if there is one, is shown with each placement; all of them are
 * summarized at the end, over all nodes and over the last PANEL_SAMPLES chosen ones. One thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "demo/usage.h"
#include "extender/view.h"

#define PANEL_METRICS_MAX 16u /* more are not shown */
#define PANEL_NAME_MAX 32u
#define PANEL_SAMPLES 1024u

typedef struct PanelMetric {
    char name[PANEL_NAME_MAX];
    uint32_t gauge; /* its number */
    Usage usage;
    bool counts_placements;
    double chosen[PANEL_SAMPLES]; /* values of chosen nodes, in no order */
    uint64_t n_chosen;
} PanelMetric;

typedef struct Panel {
    PanelMetric metrics[PANEL_METRICS_MAX]; /* of nodes */
    size_t n;
    size_t lead; /* the index of the first one to show; n: none */
} Panel;

/* Shows the metrics of @rules from now on, without earlier values. */
void panel_follow(Panel *panel, const Program *rules);

/* The leading metric of one node. */
typedef struct PanelReading {
    double value;     /* NaN: missing. A load is a percentage of the node */
    double requested; /* of the same resource, in percent; NaN: not a load */
} PanelReading;

bool panel_read(const Panel *panel, const View *view, Str node, PanelReading *ret);

/* @node was chosen while @view was in force. */
void panel_note(Panel *panel, const View *view, Str node);

/* One metric over all nodes; NaN: no value. */
typedef struct PanelSummary {
    size_t n_present, n_nodes;
    double lowest, median, highest;
    double chosen; /* median of the nodes chosen */
} PanelSummary;

/* False: out of memory. */
bool panel_summarize(
    const Panel *panel, size_t metric, const View *view, Arena *scratch, PanelSummary *ret);

/* --- output; nothing is printed without metrics --- */

typedef enum PanelWidth {
    PANEL_NARROW, /* 8 columns at most */
    PANEL_WIDE,   /* PANEL_COLUMNS_WIDE at most */
} PanelWidth;

#define PANEL_COLUMNS_WIDE 13u

/* Width of the first metric, with the spaces before it. */
size_t panel_columns(const Panel *panel, PanelWidth width);
void panel_print_columns(const Panel *panel, PanelWidth width, Buf *out); /* their names */
void panel_print_reading(
    const Panel *panel, const PanelReading *reading, PanelWidth width, Buf *out);

/* Explains the columns, in lines that begin with a line break. */
void panel_print_legend(const Panel *panel, PanelWidth width, Buf *out);

/* The sources of the metrics of @rules. */
void panel_print_sources(const Program *rules, const char *url, Buf *out);

/* A heading, and a line for each metric. */
#define PANEL_SUMMARY_HEADING "Measured             lowest    median   highest    chosen"
void panel_print_summaries(const Panel *panel, const View *view, Buf *out);

/* The measured values, for `berth explain --metrics`. */
void panel_write(const View *view, int64_t now_nsec, Buf *out);
