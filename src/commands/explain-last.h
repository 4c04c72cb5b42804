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

typedef struct LastQuestion {
    const char *pod; /* NAMESPACE/NAME; NULL: not asked */
    ServerSource source;
    const char *node; /* only this one; NULL: all */
    bool all;         /* every node, not only the best */
    bool json;
    int64_t weight; /* kube-scheduler's for this extender */
} LastQuestion;

/* The lines about it in the command's help. */
#define EXPLAIN_LAST_HELP                                                                          \
    "  --last NAMESPACE/NAME  what a running berth decided about this pod lately, and "            \
    "why\n" SERVER_SOURCE_HELP

/* For getopt_long(); the values are for explain_last_set(). */
#define EXPLAIN_LAST_OPTIONS {"last", required_argument, NULL, 'L'}, SERVER_SOURCE_OPTIONS

/* True when @option was one of the above. */
bool explain_last_set(LastQuestion *question, int option, const char *value);

/* Asks and prints; the exit code. */
int explain_last(const LastQuestion *question);
