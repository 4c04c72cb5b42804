#pragma once

/*
 * ClusterNeeds: the fields of a cluster's objects that only some policies read. The compiled
 * policies determine them (policy/program.h); a watched cluster keeps no others
 * (kube/cluster-watcher.h). A cluster that is read from a file keeps everything.
 */

#include "base/cleanup.h"
#include "model/pod-parts.h"

typedef struct ClusterNeeds {
    bool node_details; /* NodeDetails (model/node.h) */
    PodParts pods;     /* of running pods */
} ClusterNeeds;

extern const ClusterNeeds cluster_needs_all;

/* Whether @kept has all of @wanted. */
bool cluster_needs_cover(const ClusterNeeds *kept, const ClusterNeeds *wanted);

/* The union of both in one block, which the caller frees by free(). NULL when out of memory. */
ClusterNeeds *cluster_needs_join(const ClusterNeeds *a, const ClusterNeeds *b) MUST_CHECK;
