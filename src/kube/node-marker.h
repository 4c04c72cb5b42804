#pragma once

/*
 * NodeMarker: marks nodes, so that kube-scheduler looks again at the pods it parked.
 *
 * A PATCH of one annotation each. Nodes that wait already are not marked twice. Nothing
 * depends on the result; failures are counted, and the first one for lack of rights is
 * worth a word.
 *
 * Threads: the client's.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "kube/client.h"

#define NODE_MARKER_CALLS_MAX 4u
#define NODE_MARKER_WAITING_MAX 256u
#define NODE_MARKER_SEC 10

typedef struct NodeMarker NodeMarker;

typedef struct NodeMarkerOptions {
    Client *client;
    const char *annotation;
    int64_t (*wall_clock)(void); /* since 1970, in ns: what is written */
} NodeMarkerOptions;

typedef struct NodeMarkerFigures {
    uint64_t n_marked, n_failed;
    bool is_forbidden; /* a 403 has come: the right patch on nodes is missing */
} NodeMarkerFigures;

NodeMarker *node_marker_new(const NodeMarkerOptions *options); /* NULL when out of memory */
NodeMarker *node_marker_free(NodeMarker *marker);              /* takes NULL */
DEFINE_CLEANUP(NodeMarker *, node_marker_free)

/* False when it is dropped: no name for a node, or too many are waiting. */
bool node_marker_add(NodeMarker *marker, Str node);

NodeMarkerFigures node_marker_figures(const NodeMarker *marker);
