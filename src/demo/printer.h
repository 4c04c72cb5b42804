#pragma once

/*
 * DemoPrinter: what the person sees.
 *
 * On a terminal a line per decision scrolls by above a line of figures that stays;
 * elsewhere plain lines and nothing else.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "demo/console.h"
#include "demo/demo-cluster.h"
#include "demo/demo-scheduler.h"
#include "demo/panel.h"
#include "demo/stats.h"
#include "policy/program.h"

typedef struct DemoPrinter {
    Console console;
    const Panel *panel; /* of the metrics in force; borrowed */
    size_t n_shown;     /* placements since the last heading */
    size_t n_columns;   /* of it: another policy may measure something else */
    bool has_hinted;    /* how to ask why a pod found no node */
} DemoPrinter;

#define PRINTER_INIT(live, colour, metrics)                                                        \
    ((DemoPrinter){.console = CONSOLE_INIT(live, colour), .panel = (metrics)})

void printer_done(DemoPrinter *printer);

/* What is going on around the placements. Borrowed. */
typedef struct DemoStatus {
    const char *program; /* how the person called berth */
    const char *url;
    const char *dashboard_url; /* NULL: there is none */
    const char *policy_path, *cluster_path, *pod_path;
    const char *metrics_path; /* NULL: nothing is measured that is not in the cluster's file */
    const char *mock_metrics_url;
    const Program *rules; /* in force */
    DemoClusterCounts figures;
    int64_t cpu_nsec_per_call; /* at the end: what berth itself used; 0: not known */
    const View *view;          /* at the end: the last one */
} DemoStatus;

void printer_start(DemoPrinter *printer, const DemoStatus *status);
/* @reading: what the leading metric says of the node; NULL: there is none. */
void printer_placement(
    DemoPrinter *printer, const Placement *placement, const PanelReading *reading);

/* Once, on a terminal: how to ask why, after a placement that found no node. */
void printer_hint(DemoPrinter *printer, const DemoStatus *status, const Placement *placement);

/* The line of figures at the bottom; nothing where lines cannot be replaced. */
void printer_status(DemoPrinter *printer, const DemoStatus *status, const PlacementStats *stats);

/* The policy was edited: it is in force now, or it has errors and is not. */
void printer_reload(DemoPrinter *printer, const Program *rules);
void printer_refusal(DemoPrinter *printer, const DiagList *diags);

/* The summary. Sorts the tally. */
void printer_end(DemoPrinter *printer, const DemoStatus *status, PlacementStats *stats);
