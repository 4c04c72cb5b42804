#pragma once

/*
 * ClusterSource: where a command takes its cluster from: a file, or an API server.
 */

#include <stdbool.h>

#include "base/arena.h"
#include "cluster/snapshot.h"
#include "kube/access.h"
#include "model/pod.h"

typedef struct ClusterSource {
    const char *file;       /* --cluster */
    const char *kubeconfig; /* --kubeconfig */
    const char *context;    /* --context, with it */
    bool is_in_cluster;     /* --in-cluster */
} ClusterSource;

/* The lines about these options in a command's help. */
#define CLUSTER_SOURCE_LIVE_HELP                                                                   \
    "  --kubeconfig FILE     ask the API server that this file names\n"                            \
    "  --context NAME        with another of its contexts than the current one\n"                  \
    "  --in-cluster          ask with the service account of this pod\n"
#define CLUSTER_SOURCE_HELP                                                                        \
    "  --cluster FILE        nodes and pods, as `kubectl get nodes,pods -A -o "                    \
    "json`\n" CLUSTER_SOURCE_LIVE_HELP

enum {
    CLUSTER_SOURCE_FILE = 448,
    CLUSTER_SOURCE_KUBECONFIG,
    CLUSTER_SOURCE_CONTEXT,
    CLUSTER_SOURCE_IN_CLUSTER,
};

/* For getopt_long(); the values are for cluster_source_set(). As with the lines above, a command
 * that wants to see a cluster that runs takes no file. */
#define CLUSTER_SOURCE_LIVE_OPTIONS                                                                \
    {"kubeconfig", required_argument, NULL, CLUSTER_SOURCE_KUBECONFIG},                            \
        {"context", required_argument, NULL, CLUSTER_SOURCE_CONTEXT}, {                            \
        "in-cluster", no_argument, NULL, CLUSTER_SOURCE_IN_CLUSTER                                 \
    }
#define CLUSTER_SOURCE_OPTIONS                                                                     \
    {"cluster", required_argument, NULL, CLUSTER_SOURCE_FILE}, CLUSTER_SOURCE_LIVE_OPTIONS

/* True when @option was one of the above. */
bool cluster_source_set(ClusterSource *source, int option, const char *value);

bool cluster_source_is_live(const ClusterSource *source);

/* NULL when it names one cluster; else what is wrong. */
const char *cluster_source_check(const ClusterSource *source);

/* The same where no API server is as good as one; a file is not looked at. */
const char *cluster_source_check_live(const ClusterSource *source);

/* How to reach the API server of a live source. 0; or an exit code, after complaining as @who. */
int cluster_source_access(const ClusterSource *source, const char *who, Access **ret);

/* The cluster. 0; or an exit code, after complaining as @who. */
int cluster_source_load(const ClusterSource *source, const char *who, Snapshot **ret);

/* "NAMESPACE/NAME" of a live source. The same. */
int cluster_source_pod(
    const ClusterSource *source, const char *who, const char *name, Arena *arena, Pod *ret);
