/* Nodes and pods of a table, sorted. */

#include "cluster/inventory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static int compare_pods(const Pod *a, const Pod *b) {
    int r = pod_compare_names(a, b);

    return r != 0 ? r : str_cmp(a->uid, b->uid);
}

static int compare_items(const void *a, const void *b) {
    return compare_pods(((const InventoryPod *)a)->pod, ((const InventoryPod *)b)->pod);
}

static int compare_rows(const void *a, const void *b, void *context) {
    const NodeTable *table = context;

    return str_cmp(table_node(table, *(const uint32_t *)a)->name,
        table_node(table, *(const uint32_t *)b)->name);
}

static size_t count_pods(const NodeTable *table) {
    size_t n = table->n_nominated;

    for (uint32_t row = 0; row < table->n_rows; row++) {
        const PodList *list = table_chunk(table, row)->pods[table_slot(row)];

        n += list ? list->n : 0;
    }
    return n;
}

static void take_row(Inventory *inventory, const NodeTable *table, uint32_t row) {
    const PodList *list = table_chunk(table, row)->pods[table_slot(row)];
    const Node *node = table_node(table, row);

    if (!node)
        return;
    inventory->rows[inventory->n_rows++] = row;
    for (uint32_t i = 0; list && i < list->n; i++)
        inventory->pods[inventory->n_pods++] =
            (InventoryPod){.pod = list->items[i], .node = node->name};
}

int inventory_init(Inventory *inventory, const NodeTable *table) {
    NodeTable of = *table; /* qsort_r() takes no const */

    *inventory = (Inventory){
        .rows = calloc(table->n_rows + 1, sizeof(*inventory->rows)),
        .pods = calloc(count_pods(table) + 1, sizeof(*inventory->pods)),
    };
    if (!inventory->rows || !inventory->pods) {
        inventory_done(inventory);
        return -ENOMEM;
    }
    for (uint32_t row = 0; row < table->n_rows; row++)
        take_row(inventory, table, row);
    for (size_t i = 0; i < table->n_nominated; i++)
        inventory->pods[inventory->n_pods++] = (InventoryPod){.pod = table->nominated[i]};
    qsort_r(inventory->rows, inventory->n_rows, sizeof(*inventory->rows), compare_rows, &of);
    qsort(inventory->pods, inventory->n_pods, sizeof(*inventory->pods), compare_items);
    return 0;
}

void inventory_done(Inventory *inventory) {
    free(inventory->rows);
    free(inventory->pods);
    *inventory = (Inventory){0};
}

/* Binary search for the first that does not sort before @pod; among equal ones, @pod itself. */
size_t inventory_get_pod(const Inventory *inventory, const Pod *pod) {
    size_t low = 0, high = inventory->n_pods;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_pods(inventory->pods[middle].pod, pod) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    while (low < inventory->n_pods && inventory->pods[low].pod != pod)
        low++;
    assert(low < inventory->n_pods);
    return low;
}
