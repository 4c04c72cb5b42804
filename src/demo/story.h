#pragma once

/*
 * Story: explains the first placements of the demo to newcomers, each kind once: a pod that is
 * placed, pods that are pending, a pod that is placed after it was pending, and what to try next.
 */

#include <stdbool.h>
#include <stddef.h>

#include "demo/printer.h"

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
