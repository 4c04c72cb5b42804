#pragma once

/*
 * Trace: pods that arrive over time, in a file.
 *
 * One JSON object per line; or a list of such objects, in JSON or YAML:
 *
 *     {"at": 60, "lifetime": 3600, "count": 10, "name": "web", "pod": {"spec": {…}}}
 *
 *     at        seconds since the start                          [0]
 *     lifetime  seconds from when it is placed                   [it stays]
 *     count     number of pods                                   [1]
 *     name      of the pod; several get a number appended        [the pod's own]
 *     pod       a Pod; kind and status are ignored
 */

#include "base/str.h"

#define TRACE_FILE_MAX ((size_t)1024 * 1024 * 1024)
#define TRACE_LINE_BUDGET ((size_t)64 * 1024 * 1024)

typedef struct TraceLine {
    double at, lifetime; /* INFINITY: it stays */
    int64_t count;
    Str name;
    Str pod; /* JSON */
} TraceLine;

/* Returns 0 to continue, or a negative errno, -EINVAL with an error message. The line is valid
 * during the call only. */
typedef int (*TraceVisit)(void *context, const TraceLine *line);

/* "-" is standard input. 0; or a negative errno with a message in @error (SIMULATION_ERROR_MAX):
 * file, line and reason. */
int trace_each(const char *path, TraceVisit visit, void *context, char *error);
