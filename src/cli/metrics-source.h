#pragma once

/*
 * MetricsSource: the metrics of policies for a command: a file, or servers that are queried once.
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

/* Rows of an option table whose settings of type @type hold a MetricsSource at @member. */
#define METRICS_SOURCE_LIVE_OPTIONS(type, member)                                                  \
    {"prometheus", OPTION_TEXT, .argument = "URL", OPTION_AT(type, member.prometheus),             \
        .help = "query this server for the metrics of policies"},                                  \
    {                                                                                              \
        "sources", OPTION_FILE, .argument = "FILE", OPTION_AT(type, member.sources),               \
                                .help = "query the servers that this file names"                   \
    }
#define METRICS_SOURCE_OPTIONS(type, member)                                                       \
    {"metrics", OPTION_FILE, .argument = "FILE", OPTION_AT(type, member.file),                     \
        .help = "metrics in a file: {metrics: {NAME: {NODE: NUMBER}}}"},                           \
        METRICS_SOURCE_LIVE_OPTIONS(type, member)

/* NULL when it can be used with @cluster; else what is wrong. */
const char *metrics_source_check(const MetricsSource *source, const ClusterSource *cluster);

/* Values for the nodes of @snapshot, at @now_nsec (since 1970) and @uptime_nsec (monotonic); NULL
 * in
 * @ret without a source. @ret_statuses: one per gauge if sources are queried; may be NULL. 0; or an
 * exit code, after a message as @who. */
int metrics_source_load(const MetricsSource *source, const ClusterSource *cluster, const char *who,
    const Program *program, Snapshot *snapshot, int64_t now_nsec, int64_t uptime_nsec,
    Measurements **ret, PollStatus *ret_statuses);
