#pragma once

/*
 * PassedNodes: the pod of a filter request and the nodes that passed it, for bind to look up.
 *
 * Nodes are one bit for each row of the cluster's names. NodeNames.since (cluster/names.h) shows
 * whether a row still belongs to the same node: a node that was deleted and created again has not
 * passed. Nodes that the cluster does not know have no row and are not kept.
 *
 * Threads: one at a time; it does not change once it is filled.
 */

#include "cluster/names.h"
#include "extender/verbs.h"
#include "history/pod-text.h"
#include "model/pod-parts.h"
#include "model/pod.h"

/* The API server stores no larger pod. */
#define PASSED_NODES_BYTES_MAX ((size_t)1024 * 1024)

typedef struct PassedNodes {
    const Pod *pod;   /* a record (cluster/record.h) */
    PodText *text;    /* the whole pod: records have no details, and rules read them */
    size_t bytes;     /* of this, the record and the text, about */
    uint64_t version; /* of the names */
    size_t n_rows;
    uint64_t bits[];
} PassedNodes;

/* A copy of @pod, of its details @parts, over @names of the snapshot it was judged with; no node
 * has passed yet. NULL when it cannot be kept: no UID, too large, no memory. */
PassedNodes *passed_nodes_new(const Pod *pod, const PodParts *parts, const NodeNames *names);

/* The same with the nodes that passed in @decision, of a filter by @view. */
PassedNodes *passed_nodes_of(const View *view, const Decision *decision);
PassedNodes *passed_nodes_free(PassedNodes *passed); /* takes NULL, returns NULL */

/* Whether @node, a name of @names, passed. False if @names are older than those of the filter. */
bool passed_nodes_has(const PassedNodes *passed, Str node, const NodeNames *names);
