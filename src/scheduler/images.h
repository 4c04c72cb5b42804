#pragma once

/*
 * Images: which nodes have which container images.
 *
 * kube-scheduler scores a node by the size of those of the pod's images that it has, scaled by the
 * share of nodes that have them. An image's size is that of the first node that lists it.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "cluster/table.h"

typedef struct ImageState {
    int64_t size;
    VEC(uint32_t) rows; /* of the nodes that have it */
} ImageState;

typedef struct Images {
    Map index; /* name to number */
    VEC(ImageState) states;
    size_t n_nodes;
} Images;

/* In @arena; borrows @table. 0, or -ENOMEM. */
int images_build(const NodeTable *table, Arena *arena, Images *ret);

/* Adds the scaled size of image @name to @sums of the rows that have it. */
void images_add(const Images *images, Str name, int64_t *sums);

/* The score, 0 to 100, of @sum for a pod of @n_containers containers, init containers included. */
int64_t image_score(int64_t sum, size_t n_containers);
