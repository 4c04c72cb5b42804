#pragma once

/*
 * PodFit: whether a node has the resources that a pod requests, by columns of a table.
 *
 * Amounts only: everything else that kube-scheduler looks at is its own.
 */

#include "cluster/table.h"
#include "model/pod.h"

typedef struct PodFit {
    struct {
        Str name;
        size_t column; /* SIZE_MAX: no node of the table offers it */
        int64_t amount;
    } requests[RESOURCES_MAX + 1];
    size_t n;
} PodFit;

/* Names are borrowed from @pod. A pod takes one pod slot, where nodes offer those. */
void pod_fit_init(PodFit *fit, const NodeTable *table, const Pod *pod);

/* The first request that @row cannot meet: AMOUNT_ALLOCATABLE, it never could; AMOUNT_FREE, not
 * now. SIZE_MAX: none, or the amounts of the node are not known (it has neither cpu nor memory,
 * because they were not decoded). */
size_t pod_fit_lacking(const PodFit *fit, const NodeTable *table, uint32_t row, AmountKind kind);
