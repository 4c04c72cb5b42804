#pragma once

/* ClusterSource: the cluster that a command reads: a file, or an API server. */

#include "cli/option.h"
#include "cluster/measurement.h"
#include "cluster/snapshot.h"
#include "kube/access.h"
#include "load/poller.h"
#include "model/pod.h"
#include "policy/program.h"

typedef struct ClusterSource {
    const char *file;       /* --cluster */
    const char *kubeconfig; /* --kubeconfig */
    const char *context;    /* --context, of this kubeconfig or of kubectl's */
    bool is_in_cluster;     /* --in-cluster */
} ClusterSource;

/* Rows of an option table whose settings of type @type hold a ClusterSource at @member. */
#define CLUSTER_SOURCE_LIVE_OPTIONS(type, member)                                                  \
    {"kubeconfig", OPTION_FILE, .argument = "FILE", OPTION_AT(type, member.kubeconfig),            \
        .initial = "$KUBECONFIG, ~/.kube/config",                                                  \
        .help = "read from the API server of this kubeconfig"},                                    \
        {"context", OPTION_TEXT, .argument = "NAME", OPTION_AT(type, member.context),              \
            .complete = COMPLETE_CONTEXTS, .help = "a context of it other than the current one"},  \
    {                                                                                              \
        "in-cluster", OPTION_FLAG, OPTION_AT(type, member.is_in_cluster),                          \
            .help = "use the service account of this pod"                                          \
    }
#define CLUSTER_SOURCE_OPTIONS(type, member)                                                       \
    {"cluster", OPTION_FILE, .argument = "FILE", OPTION_AT(type, member.file),                     \
        .help = "nodes and pods, from `kubectl get nodes,pods -A -o json`"},                       \
        CLUSTER_SOURCE_LIVE_OPTIONS(type, member)

/* Whether the user named an API server; whether an API server or a file. */
bool cluster_source_is_live(const ClusterSource *source);
bool cluster_source_is_given(const ClusterSource *source);

/* NULL if at most one cluster is named; else the error. If none is, it is that of kubectl, or none
 * for commands that do not need one. */
const char *cluster_source_check(const ClusterSource *source);

/* The next three, and metrics_source_load(), end the process if they fail (cli/terminal.h). The
 * caller frees or unrefs what they return. */

/* Access to the API server that was named, or else to the one that kubectl would use. */
Access *cluster_source_access(const ClusterSource *source);

/* Loads the cluster; from an API server also what may be listed of @related (RELATED_BIT()s). */
Snapshot *cluster_source_load(const ClusterSource *source, unsigned related);

/* Reads the pod @name, "NAMESPACE/NAME", of the cluster into @ret and @arena. */
void cluster_source_pod(const ClusterSource *source, const char *name, Arena *arena, Pod *ret);

/*
 * MetricsSource: the metrics of policies for a command: a file, or servers that are queried once.
 */

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

/* NULL when it can be used with @cluster; else the error. */
const char *metrics_source_check(const MetricsSource *source, const ClusterSource *cluster);

/* Values for the nodes of @snapshot, at @now_nsec (since 1970) and @uptime_nsec (monotonic); NULL
 * without a source. @ret_statuses: one per gauge if sources are queried; may be NULL. */
Measurements *metrics_source_load(const MetricsSource *source, const ClusterSource *cluster,
    const Program *program, Snapshot *snapshot, int64_t now_nsec, int64_t uptime_nsec,
    PollStatus *ret_statuses);
