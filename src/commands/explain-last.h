#pragma once

/*
 * berth explain --last: the last decisions of a running berth about a pod (/api/v1/decisions): the
 * newest filter, and the prioritize, preempt and bind after it. If the inputs of the filter are
 * still kept, it is replayed (explain-last-replay.h) and explained in full.
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
