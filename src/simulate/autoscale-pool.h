#pragma once

/*
 * AutoscalePool: nodes that an autoscaler can add. A file has one Node as kubectl prints it, with
 * labels, taints and what it can allocate; and as annotations
 *
 *     berth.dev/price-per-hour: "0.768"
 *     berth.dev/max-nodes: "100"           # default AUTOSCALE_POOL_DEFAULT
 *
 * All of them are rows of the simulated cluster from the start: a run hides those that it has not
 * added.
 */

#include "cluster/store.h"

#define AUTOSCALE_POOL_DEFAULT 1000u
#define AUTOSCALE_POOL_MAX 10000u

typedef struct AutoscalePool {
    Str name;     /* of the Node; nodes are NAME-1 and so on */
    double price; /* of a node-hour; 0: not given */
    Str *names;
    uint32_t *rows; /* set by autoscale_pool_find_rows() */
    size_t n;       /* 0: there is no pool */
} AutoscalePool;

/* Adds the nodes of the file to @store. 0; -EINVAL with @error (SIMULATION_ERROR_MAX) set; or
 * another negative errno. */
int autoscale_pool_read(
    const char *path, Store *store, Arena *arena, AutoscalePool *ret, char *error);

/* 0, or -ENOMEM. */
int autoscale_pool_find_rows(AutoscalePool *pool, const NodeTable *table, Arena *arena);
