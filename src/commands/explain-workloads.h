#pragma once

/*
 * berth explain of a file with several pod templates: a row for each. Which one is explained in
 * full, the user names.
 */

#include "cli/terminal.h"
#include "extender/view.h"
#include "input/workload.h"

typedef struct WorkloadReport {
    const View *view;
    const WorkloadList *list;
    int64_t now_nsec;
    Arena *scratch; /* of one explanation */
    Paint paint;
    Buf *out;
} WorkloadReport;

/* Each returns 0, or -ENOMEM. */
int workloads_print_table(WorkloadReport *report) MUST_CHECK;

/* {"workloads": [{kind, namespace, name, pods, nodes, eligible, rejectedBy: [{policy, rule, reason,
 * nodes}]}], "otherObjects": 3}: the rules of the nodes that are closest to eligible come first. */
int workloads_print_json(WorkloadReport *report) MUST_CHECK;
