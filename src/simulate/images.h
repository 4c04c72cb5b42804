#pragma once

/*
 * Images: which nodes have which container images.
 *
 * kube-scheduler scores a node by the images of the pod that it has already: by their size, scaled
 * by the share of nodes that have them, so that pods do not all go where an image happens to be. An
 * image has the size that the first node says.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "cluster/table.h"

typedef struct ImageState {
    int64_t size;
    uint32_t *rows;
    uint32_t n_rows, n_listed;
} ImageState;

typedef struct Images {
    Map index; /* name to number */
    ImageState *states;
    size_t n;
    size_t n_nodes;
} Images;

/* Everything lies in @arena, or is borrowed from @table. 0, or -ENOMEM. */
int images_build(const NodeTable *table, Arena *arena, Images *ret);

/* Adds to @sums, by row, what image @name counts for where it is. */
void images_add(const Images *images, Str name, int64_t *sums);

/* The score, 0 to 100, of @sum for a pod of @n_containers containers, init containers included. */
int64_t image_score(int64_t sum, size_t n_containers);
