#pragma once

/*
 * Images: which nodes have which container images.
 *
 * kube-scheduler scores a node by the size of those of the pod's images that it has, scaled by the
 * share of nodes that have them. An image's size is that of the first node that lists it.
 *
 * The first IMAGES_SCANS look-ups walk over all nodes; then an index is worth it.
 */

#include "base/map.h"
#include "base/vec.h"
#include "cluster/table.h"

typedef struct ImageState {
    int64_t size;
    VEC(uint32_t) rows; /* of the nodes that have it */
} ImageState;

#define IMAGES_SCANS 16u

typedef struct Images {
    const NodeTable *table; /* borrowed */
    Arena *arena;           /* the same: of what follows */
    size_t n_nodes;         /* of these the cluster has so many */
    ImageState scanned;     /* the last that was not looked up in the index */
    size_t n_scans;
    bool has_index;
    Map index; /* name to number */
    VEC(ImageState) states;
} Images;

#define IMAGES_IN(where, its_table)                                                                \
    ((Images){.table = (its_table),                                                                \
        .arena = (where),                                                                          \
        .n_nodes = (its_table)->names->n_nodes,                                                    \
        .index = MAP_INIT_IN(where)})

/* Adds the scaled size of image @name to @sums of the rows that have it. 0, or -ENOMEM. */
int images_add(Images *images, Str name, int64_t *sums) MUST_CHECK;

/* The score, 0 to 100, of @sum for a pod of @n_containers containers, init containers included. */
int64_t image_score(int64_t sum, size_t n_containers);
