#pragma once

/*
 * Fleet: what the demo's nodes are.
 *
 * Four pools, each of a few machine types, spread over three zones. A node is
 * written as the JSON object an API server would give; everything else in the
 * demo is read back from that, so there is one description of a node only.
 */

#include <stddef.h>

#include "demo/dice.h"
#include "json/write.h"

typedef enum Pool {
    POOL_GENERAL,
    POOL_BATCH,
    POOL_WORKSPACE,
    POOL_GPU,
    _POOL_MAX,
} Pool;

#define FLEET_GPU "nvidia.com/gpu"

/* The pool of node number @index; neighbours are of different pools, as they are
 * in kube-scheduler's list. */
Pool fleet_pool(size_t index);

/* Writes node number @index. Rolls the dice for all that is left open. */
void fleet_write_node(size_t index, Dice *dice, JsonWriter *writer);
