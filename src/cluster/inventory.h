#pragma once

/*
 * Inventory: the contents of a table in an order that does not depend on its history.
 *
 * Rows and lists of pods are in the order of events; equal clusters compare equal, and are written
 * as equal text, only after sorting.
 */

#include "cluster/table.h"

typedef struct InventoryPod {
    const Pod *pod;
    Str node; /* where it counts, which need not be its nodeName; empty: nominated only */
} InventoryPod;

typedef struct Inventory {
    uint32_t *rows; /* of the nodes, by name */
    size_t n_rows;
    InventoryPod *pods; /* by namespace, name and UID */
    size_t n_pods;
} Inventory;

/* Everything is borrowed from @table but the two arrays: inventory_done(). 0, or
 * -ENOMEM. */
int inventory_init(Inventory *inventory, const NodeTable *table);
void inventory_done(Inventory *inventory); /* takes a zeroed one */

/* The index of @pod, one of the table's, in pods. */
size_t inventory_get_pod(const Inventory *inventory, const Pod *pod);
