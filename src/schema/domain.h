#pragma once

/*
 * Domains: the rows of a table that share the value of a label, such as a zone.
 *
 * Domains are in the order of their first row, rows in that of the table, pods in that of their
 * lists: sums are always added in the same order. A node without the label is in no domain.
 */

#include "cluster/table.h"
#include "schema/record.h"

extern const SchemaRecord schema_domain;

/* How many domains the label @key makes of the first @n_rows rows, and through
 * @ret_group_of_row the number of each row's, UINT32_MAX for none. */
uint32_t domain_groups(const NodeTable *table, Str key, size_t n_rows, uint32_t *ret_group_of_row);

/* Values; an error when out of memory or fuel: each looks at every row of the table. */
CelValue schema_domain_of_row(CelRun *run, const NodeTable *table, uint32_t row, Str key);
CelValue schema_domains(CelRun *run, const NodeTable *table, Str key);
CelValue schema_nodes_by_label(CelRun *run, const NodeTable *table, Str key);
