#pragma once

/*
 * Images: which nodes have which container images.
 *
 * kube-scheduler scores a node by the size of the pod's images that it already has, scaled by the
 * share of nodes that have them. The first node that lists an image gives its size.
 *
 * Reading the images of all nodes takes long, so the rows of a name are kept. For the first
 * IMAGES_SCANS names all nodes are scanned; then all names of all nodes are indexed.
 */

#include "base/map.h"
#include "base/vec.h"
#include "cluster/snapshot.h"

typedef struct ImageState {
    Str name;
    VEC(uint32_t) rows; /* of the nodes that have it, in order */
} ImageState;

#define IMAGES_SCANS 16u

typedef struct Images {
    const NodeTable *table; /* its nodes were read; borrowed, or the snapshot's */
    Snapshot *snapshot;     /* a reference; NULL: the table is borrowed */
    Arena *arena;           /* memory of the fields below */
    Map index;              /* name to number */
    VEC(ImageState) states;
    bool has_all; /* names that are not in the index are on no node */
} Images;

Images *images_new(const NodeTable *table); /* @table is borrowed. NULL when out of memory */
Images *images_free(Images *images);        /* takes NULL, returns NULL */
DEFINE_CLEANUP(Images *, images_free)

/* Switches to the nodes of @snapshot, and takes a reference to it. Nodes that have not changed
 * since the last one are not read again. */
void images_follow(Images *images, Snapshot *snapshot);

/* Drops the kept images and the snapshot: an old one holds much memory. */
void images_clear(Images *images);

/* Adds the scaled size of image @name, in bytes, to @sums of the rows that have it. @n_nodes: all
 * nodes of the cluster. 0, or -ENOMEM. */
int images_add(Images *images, Str name, size_t n_nodes, int64_t *sums) MUST_CHECK;

/* The score, 0 to 100, of @sum for a pod of @n_containers containers, init containers included. */
int64_t image_score(int64_t sum, size_t n_containers);
