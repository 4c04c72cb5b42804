#pragma once

/*
 * PodFit: whether a node has the resources that a pod requests, by columns of a table.
 *
 * Amounts only: kube-scheduler checks everything else.
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

/* Names are borrowed from @pod. A pod takes one pod slot, if nodes offer any. */
void pod_fit_init(PodFit *fit, const NodeTable *table, const Pod *pod);

/* The index of the first request that @row can never meet (@kind AMOUNT_ALLOCATABLE) or not now
 * (AMOUNT_FREE). SIZE_MAX: none, or the amounts of the node are unknown (it has neither cpu nor
 * memory, because they were not decoded). */
size_t pod_fit_lacking(const PodFit *fit, const NodeTable *table, uint32_t row, AmountKind kind);
