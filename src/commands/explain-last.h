#pragma once

/*
 * berth explain --last: what a running berth decided about a pod lately, and why.
 *
 * It asks that berth what it remembers (/api/v1/decisions): the last filter about the pod, and the
 * prioritize, preempt and bind that followed it. What the filter was made of comes with it if it is
 * still kept (commands/explain-last-replay.h), and then everything is told that `berth explain`
 * tells.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cli/server-source.h"

typedef struct ExplainLastOptions {
    const char *pod; /* NAMESPACE/NAME; NULL: not asked */
    ServerSource source;
    const char *node; /* only this one; NULL: all */
    bool all;         /* every node, not only the best */
    bool json;
    int64_t weight; /* kube-scheduler's for this extender */
} ExplainLastOptions;

/* Asks and prints; the exit code. */
int explain_last(const ExplainLastOptions *options);
