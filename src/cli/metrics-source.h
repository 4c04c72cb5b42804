#pragma once

/*
 * MetricsSource: where a command takes the metrics of policies from: a file, or those who measure
 * them, who are asked once.
 */

#include <stdbool.h>

#include "cli/cluster-source.h"
#include "cluster/measurement.h"
#include "load/poller.h"
#include "policy/program.h"

typedef struct MetricsSource {
    const char *file;       /* --metrics */
    const char *prometheus; /* --prometheus */
    const char *sources;    /* --sources */
} MetricsSource;

/* The lines about these options in a command's help. */
#define METRICS_SOURCE_LIVE_HELP                                                                   \
    "  --prometheus URL      ask this server for the metrics of policies\n"                        \
    "  --sources FILE        ask the servers that this file names\n"
#define METRICS_SOURCE_HELP                                                                        \
    "  --metrics FILE        metrics as a file has them: {metrics: {NAME: {NODE: "                 \
    "NUMBER}}}\n" METRICS_SOURCE_LIVE_HELP

enum {
    METRICS_SOURCE_FILE = 512,
    METRICS_SOURCE_PROMETHEUS,
    METRICS_SOURCE_SOURCES,
};

/* For getopt_long(); the values are for metrics_source_set(). As with the lines above, a command
 * whose point is to ask takes no file. */
#define METRICS_SOURCE_LIVE_OPTIONS                                                                \
    {"prometheus", required_argument, NULL, METRICS_SOURCE_PROMETHEUS}, {                          \
        "sources", required_argument, NULL, METRICS_SOURCE_SOURCES                                 \
    }
#define METRICS_SOURCE_OPTIONS                                                                     \
    {"metrics", required_argument, NULL, METRICS_SOURCE_FILE}, METRICS_SOURCE_LIVE_OPTIONS

/* True when @option was one of the above. */
bool metrics_source_set(MetricsSource *source, int option, const char *value);

/* NULL when it can be used with @cluster; else what is wrong. */
const char *metrics_source_check(const MetricsSource *source, const ClusterSource *cluster);

/* What was measured of the nodes of @snapshot, at @now_nsec (since 1970) and @uptime_nsec
 * (monotonic); NULL through @ret when nothing is to be had. @ret_statuses: of each gauge, where
 * sources are asked; NULL: not wanted. 0; or an exit code, after complaining as @who. */
int metrics_source_load(const MetricsSource *source, const ClusterSource *cluster, const char *who,
    const Program *program, Snapshot *snapshot, int64_t now_nsec, int64_t uptime_nsec,
    Measurements **ret, PollStatus *ret_statuses);
