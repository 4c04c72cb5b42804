#pragma once

/*
 * Fleet: what the demo's nodes are.
 *
 * Four pools, each of a few machine types, spread over three zones. A node is
 * written as the JSON object an API server would give; everything else in the
 * demo is read back from that, so there is one description of a node only.
 *
 * Nodes carry what the policies of the folder policies look at: labels and taints of workspaces,
 * free space of volume groups, marks of the autoscaler, images, an age; and addresses, by which
 * exporters of metrics know them.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "json/write.h"

typedef enum NodePool {
    POOL_GENERAL,
    POOL_BATCH,
    POOL_WORKSPACE,
    POOL_GPU,
    _POOL_MAX,
} NodePool;

#define DEMO_GPU "nvidia.com/gpu"
#define DEMO_DEDICATED                                                                             \
    "example.com/dedicated"          /* label of nodes and pods of all but POOL_GENERAL            \
                                      */
#define DEMO_WORKSPACES "workspaces" /* namespace */
#define DEMO_DAEMON "example.com/workspace-daemon" /* label of nodes for workspaces */
#define DEMO_VOLUMES "capacity.topolvm.io/00default"
#define DEMO_IDE_IMAGE "registry.example.com/ide:1"

/* The pool of node number @index; neighbours are of different pools, as they are
 * in kube-scheduler's list. */
NodePool demo_node_pool(size_t index);

/* An annotation that others have put on a node. */
typedef struct AddedAnnotation {
    Str key, value;
} AddedAnnotation;

typedef struct NodeChanges {
    const AddedAnnotation *items;
    size_t n;
    Str daemon; /* what the label DEMO_DAEMON says now; empty: as the node was made */
} NodeChanges;

/* Writes node number @index as it is at @now_sec. Draws random numbers for all that is left open:
 * with the same ones it is the same node. */
void demo_node_write(
    size_t index, int64_t now_sec, NodeChanges changes, Rng *rng, JsonWriter *writer);

/* The field creationTimestamp of nodes and pods. */
void demo_write_created(int64_t sec, JsonWriter *writer);
