#pragma once

/* Nodes as values: a row of a table. */

#include "cluster/table.h"
#include "schema/record.h"

typedef struct NodeValue {
    CelRecord head, metadata, spec, status;
    const NodeTable *table;
    const Node *node; /* of an empty row, one with nothing in it; never NULL */
    uint32_t row;
} NodeValue;

extern const SchemaRecord schema_node_record, schema_node_metadata, schema_node_spec,
    schema_node_status, schema_taint, schema_condition, schema_image;
extern const CelType schema_nodes_type; /* list(Node) */

/* @value stands for row @row of @table. */
void node_value_init(NodeValue *value, const NodeTable *table, uint32_t row);

static inline const NodeValue *node_value_of(CelValue node) {
    return OBJECT_OF(node.record, NodeValue, head);
}

/* The pods of @row in their order; NULL: none. */
const Pod *const *node_pods(const NodeTable *table, uint32_t row, uint32_t *ret_n);

/* Values; an error when there is no memory. @rows is borrowed. */
CelValue schema_row(CelRun *run, const NodeTable *table, uint32_t row);
CelValue schema_rows(CelRun *run, const NodeTable *table, const uint32_t *rows, size_t n);
