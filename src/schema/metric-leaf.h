#pragma once

/*
 * Leaves (leaf.h) of what was measured:
 *
 *     metrics.load, has(metrics.load)
 *     metrics.?load.hasValue(), .value(), .orValue(0.5)
 *     metrics.load.measured, and the time that metrics.load.age is counted from
 */

#include "schema/leaf.h"

/* As leaf_read(). */
bool metric_leaf_read(const CelGraph *graph, uint32_t node, uint32_t row_slot, Leaf *ret);

/* As leaf_load(), for LEAF_METRIC, LEAF_MEASURED and LEAF_MEASURED_AT; states are set. */
void metric_leaf_load(
    const Leaf *leaf, const NodeTable *table, const uint32_t *rows, size_t n, Column *ret);
