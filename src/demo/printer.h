#pragma once

/* DemoPrinter: the output of the demo: a line per placement, and on a terminal a status line. */

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
    size_t n_columns;   /* its width: it depends on the policy's metrics */
} DemoPrinter;

#define PRINTER_INIT(live, colour, metrics)                                                        \
    ((DemoPrinter){.console = CONSOLE_INIT(live, colour), .panel = (metrics)})

/* State of the demo. Borrowed. */
typedef struct DemoStatus {
    const char *program; /* how the user called berth */
    const char *url;
    const char *dashboard_url; /* NULL: none */
    const char *policy_path, *cluster_path, *pod_path;
    const char *metrics_path; /* NULL: there is no such file */
    const char *mock_metrics_url;
    const Program *rules; /* in force */
    DemoClusterCounts figures;
    int64_t cpu_nsec_per_call; /* at the end: CPU time of berth; 0: unknown */
    const View *view;          /* at the end: the last one */
} DemoStatus;

void printer_start(DemoPrinter *printer, const DemoStatus *status);
/* @reading: the first metric of the node; NULL: none. */
void printer_placement(
    DemoPrinter *printer, const Placement *placement, const PanelReading *reading);

/* Commands to try while the demo runs: all of them; one, with the server's URL. Not flushed. */
void printer_suggest(DemoPrinter *printer, const DemoStatus *status);
void printer_suggest_command(DemoPrinter *printer, const DemoStatus *status, const char *command);

/* The status line. */
void printer_status(DemoPrinter *printer, const DemoStatus *status, const PlacementStats *stats);

/* The policy was edited: it is in force, or has errors. */
void printer_reload(DemoPrinter *printer, const Program *rules);
void printer_refusal(DemoPrinter *printer, const DiagList *diags);

/* The summary. Sorts @stats. */
void printer_end(DemoPrinter *printer, const DemoStatus *status, PlacementStats *stats);
