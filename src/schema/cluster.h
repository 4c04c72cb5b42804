#pragma once

/* The cluster as a value: totals over the rows of a table. */

#include "cluster/table.h"
#include "schema/record.h"

extern const SchemaRecord schema_cluster_record;

typedef struct ClusterValue {
    CelRecord head;
    const NodeTable *table;
    int64_t n_nodes, n_pods;
    int64_t *totals[_AMOUNT_KINDS]; /* by the table's resource, in its units */
} ClusterValue;

static inline const ClusterValue *cluster_value_of(CelValue cluster) {
    return OBJECT_OF(cluster.record, ClusterValue, head);
}
