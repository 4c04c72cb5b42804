/*
 * The cluster as a value. Sums are whole numbers in the table's units, saturating, added in the
 * order of the rows; they become doubles when they are read.
 */

#include "schema/schema-internal.h"

#include "base/num.h"
#include "schema/amounts.h"

static const ClusterValue *value_of(const CelRecord *record) {
    return OBJECT_OF(record, ClusterValue, head);
}

static CelValue totals(CelRun *run, const ClusterValue *value, AmountKind kind) {
    return schema_amounts_of_table(run, value->table, value->totals[kind]);
}

GET(cluster_nodes, cel_int(value_of(record)->n_nodes))
GET(cluster_pods, cel_int(value_of(record)->n_pods))
GET(cluster_allocatable, totals(run, value_of(record), AMOUNT_ALLOCATABLE))
GET(cluster_requested, totals(run, value_of(record), AMOUNT_REQUESTED))
GET(cluster_free, totals(run, value_of(record), AMOUNT_FREE))

#define AMOUNTS VALUE(schema_amounts_type, TABLE_RESOURCES_MAX)
#define CLUSTER(X)                                                                                 \
    X("nodes", INT, cluster_nodes, "number of nodes")                                              \
    X("pods", INT, cluster_pods, "number of pods on them")                                         \
    X("allocatable", AMOUNTS, cluster_allocatable, "sum of node.allocatable", PART_ALLOCATABLE)    \
    X("requested", AMOUNTS, cluster_requested, "sum of node.requested", PART_ALLOCATABLE)          \
    X("free", AMOUNTS, cluster_free, "sum of node.free", PART_ALLOCATABLE)
SCHEMA_RECORD(schema_cluster_record, "Cluster", CLUSTER);

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
