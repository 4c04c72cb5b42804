#pragma once

/*
 * The demo's nodes: four pools of a few machine types each, over three zones.
 *
 * A node is the JSON object of an API server, which the rest of the demo decodes. Nodes have the
 * fields that the presets in policies/ read: labels and taints of workspaces, free space of volume
 * groups, annotations of the autoscaler, images, an age; and addresses, by which metrics exporters
 * identify nodes.
 */

#include "base/buf.h"
#include "base/rng.h"

#define DEMO_GPU "nvidia.com/gpu"
/* Label of nodes in all pools but "general". workloads.yaml has these names, too. */
#define DEMO_DEDICATED "example.com/dedicated"
#define DEMO_WORKSPACES "workspaces"               /* namespace */
#define DEMO_DAEMON "example.com/workspace-daemon" /* label of nodes for workspaces */
#define DEMO_VOLUMES "capacity.topolvm.io/00default"
#define DEMO_IDE_IMAGE "registry.example.com/ide:1"

/* The pool of node number @index ("general"); the pools are interleaved. */
const char *demo_node_pool_name(size_t index);

typedef struct AddedAnnotation {
    Str key, value;
} AddedAnnotation;

typedef struct NodeChanges {
    const AddedAnnotation *items;
    size_t n;
} NodeChanges;

/* Writes node number @index at @now_sec. The rest is random: the same @rng gives the same node. */
void demo_node_write(size_t index, int64_t now_sec, NodeChanges changes, Rng *rng, Buf *out);
