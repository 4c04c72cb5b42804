#pragma once

/*
 * Amounts as plain numbers: node.free, node.requested, node.allocatable, pod.requests, pod.limits,
 * those of containers, and the totals of the cluster.
 *
 * map(string, double): cpu in cores, everything else in whole units. m[key] of an absent resource
 * is 0.0; `key in m` tests whether it is present. AMOUNT_MILLI_CPU, a key that is not listed, reads
 * cpu in thousandths, as whole numbers. Every pod requests one of the resource `pods`.
 *
 * A row lists the resources that its node offers, also those with amount 0. node.free of a resource
 * that the node does not offer is 0.0, whatever its pods request; it is negative when the node is
 * overcommitted.
 */

#include "cluster/table.h"
#include "model/resources.h"
#include "schema/record.h"

#define AMOUNT_MILLI_CPU "milliCPU"

extern const CelType schema_amounts_type;    /* map(string, double) */
extern const CelType schema_quantities_type; /* map(string, kubernetes.Quantity) */

/* The resource that a key reads, and how its amount becomes a number. */
typedef struct AmountKey {
    Str resource;
    double scale; /* table units in 1.0: 1000.0 for cpu, which a row counts in thousandths */
} AmountKey;

AmountKey amount_key(Str key);

static inline double amount_number(AmountKey key, int64_t amount) {
    return (double)amount / key.scale;
}

/* An amount of one row, in the table's units. @column: table_find_resource() of @resource. */
int64_t amount_of_row(
    const NodeTable *table, uint32_t row, AmountKind kind, Str resource, size_t column);

/* Whether the row's map has the resource. */
bool amount_is_there(
    const NodeTable *table, uint32_t row, AmountKind kind, Str resource, size_t column);

/* Values; an error when there is no memory. */
CelValue schema_amounts_of_row(
    CelRun *run, const NodeTable *table, uint32_t row, const Node *node, AmountKind kind);
CelValue schema_amounts_of(CelRun *run, const Resources *resources);       /* requests of a pod */
CelValue schema_plain_amounts_of(CelRun *run, const Resources *resources); /* `pods` not added */
CelValue schema_quantities_of(CelRun *run, const Resources *resources);    /* absent: an error */

/* The sums @totals, by column of the table; lists the table's resources. */
CelValue schema_amounts_of_table(CelRun *run, const NodeTable *table, const int64_t *totals);
