/* The cluster as a value. Sums are whole numbers in the table's units, saturating; they become
 * doubles when they are read. */

#include "schema/schema-internal.h"

#include "base/num.h"
#include "schema/amounts.h"

static CelValue totals(CelRun *run, const ClusterValue *value, AmountKind kind) {
    return schema_amounts_of_table(run, value->table, value->totals[kind]);
}

#define AMOUNTS VALUE(schema_amounts_type, TABLE_RESOURCES_MAX)
#define CLUSTER(X)                                                                                 \
    X(nodes, NUMBER(value->n_nodes), "number of nodes")                                            \
    X(pods, NUMBER(value->n_pods), "number of pods on them")                                       \
    X(allocatable, AMOUNTS, totals(run, value, AMOUNT_ALLOCATABLE), "sum of node.allocatable",     \
        PART_ALLOCATABLE)                                                                          \
    X(requested, AMOUNTS, totals(run, value, AMOUNT_REQUESTED), "sum of node.requested",           \
        PART_ALLOCATABLE)                                                                          \
    X(free, AMOUNTS, totals(run, value, AMOUNT_FREE), "sum of node.free", PART_ALLOCATABLE)
SCHEMA_RECORD(schema_cluster_record, "Cluster",
    const ClusterValue *value = OBJECT_OF(record, ClusterValue, head), CLUSTER);

static void add_row(ClusterValue *value, const NodeTable *table, uint32_t row) {
    if (!table_node(table, row))
        return;
    value->n_nodes++;
    value->n_pods += table_chunk(table, row)->n_pods[table_slot(row)];
    for (size_t i = 0; i < table->n_resources; i++)
        for (size_t kind = 0; kind < _AMOUNT_KINDS; kind++)
            value->totals[kind][i] = num_add_sat(value->totals[kind][i],
                amount_of_row(table, row, (AmountKind)kind, table->resources[i], i));
}

CelValue schema_cluster(const NodeTable *table, Arena *arena) {
    ClusterValue *value = ARENA_NEW(arena, ClusterValue);

    if (!value)
        return cel_absent();
    *value = (ClusterValue){.head = {.type = &schema_cluster_record.type}, .table = table};
    for (size_t kind = 0; kind < _AMOUNT_KINDS; kind++) {
        value->totals[kind] = ARENA_ARRAY(arena, int64_t, table->n_resources);
        if (!value->totals[kind])
            return cel_absent();
    }
    for (uint32_t row = 0; row < table->n_rows; row++)
        add_row(value, table, row);
    return cel_record(&value->head);
}
