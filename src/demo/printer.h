#pragma once

/* DemoPrinter: the output of the demo: a line per placement, and on a terminal a status line. */

#include "base/diag.h"
#include "demo/console.h"
#include "demo/demo-cluster.h"
#include "demo/demo-scheduler.h"
#include "demo/stats.h"
#include "policy/program.h"

typedef struct DemoPrinter {
    Console console;
    size_t n_shown; /* placements since the last heading */
} DemoPrinter;

#define PRINTER_INIT(live, colour) ((DemoPrinter){.console = CONSOLE_INIT(live, colour)})

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
} DemoStatus;

void printer_start(DemoPrinter *printer, const DemoStatus *status);
void printer_placement(DemoPrinter *printer, const Placement *placement);

/* The status line. */
void printer_status(DemoPrinter *printer, const DemoStatus *status, const PlacementStats *stats);

/* The policy was edited: it is in force, or has errors. */
void printer_reload(DemoPrinter *printer, const Program *rules);
void printer_refusal(DemoPrinter *printer, const DiagList *diags);

/* The summary. Sorts @stats. */
void printer_end(DemoPrinter *printer, const DemoStatus *status, PlacementStats *stats);

/* Story: explains the first placements to newcomers, each kind once: a pod that is placed, pods
 * that are pending, a pod that is placed after it was pending, and what to try next. */
typedef struct Story {
    bool has_placed, has_retried, has_suggested;
    const Workload *pending[2]; /* workloads whose pending pods were explained */
    size_t n_pending;
    size_t n_attempts; /* so far */
} Story;

/* Prints a text about @placement, if it is the first of its kind. True: there is something to
 * read. */
bool story_tell(
    Story *story, DemoPrinter *printer, const DemoStatus *status, const Placement *placement);
