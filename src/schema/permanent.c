/*
 * Finds out whether a rule reads only properties that a node keeps: an allow-list of fields, in one
 * walk over the graph. Everything else (free amounts, pods, conditions, annotations, metrics, the
 * time) may change while a pod is pending.
 */

#include "schema/schema.h"

#include "schema/schema-internal.h"

static const struct {
    const SchemaRecord *record;
    const char *field;
} kept_fields[] = {
    {&schema_node_record, "metadata"},
    {&schema_node_record, "spec"},
    {&schema_node_record, "status"},
    {&schema_node_record, "allocatable"},
    {&schema_node_metadata, "name"},
    {&schema_node_metadata, "uid"},
    {&schema_node_metadata, "labels"},
    {&schema_node_spec, "taints"},
    {&schema_node_status, "allocatable"},
};

static bool is_node_record(const SchemaRecord *record) {
    return record == &schema_node_record || record == &schema_node_metadata ||
           record == &schema_node_spec || record == &schema_node_status;
}

static const SchemaRecord *record_of(const CelType *type) {
    while (type->kind == CEL_T_OPTIONAL)
        type = cel_type_param(type, 0);
    return schema_record_of(type);
}

/* A node, or a part of one, is read by one of the fields above, and in no other way. */
static bool reads_kept(const CelGraph *graph, const CelGraphNode *node) {
    bool is_field = node->op == OP_FIELD || node->op == OP_TEST_FIELD || node->op == OP_OPT_FIELD;

    for (uint32_t i = 0; i < node->n_args; i++) {
        const SchemaRecord *record = record_of(cel_graph_node(graph, node->args[i])->type);
        bool is_kept = false;

        if (!is_node_record(record))
            continue;
        for (size_t k = 0; is_field && k < ELEMENTS_OF(kept_fields); k++)
            is_kept |= kept_fields[k].record == record &&
                       str_is(record->type.fields[node->immediate].name, kept_fields[k].field);
        if (!is_kept)
            return false;
    }
    return true;
}

/* A variable whose type was lost (CelChecked.is_loose): its fields cannot be followed. */
static bool is_untyped(const Schema *schema, const CelGraphNode *node) {
    return node->op == OP_VARIABLE && node->immediate == schema->node_slot &&
           !is_node_record(record_of(node->type));
}

bool schema_is_permanent(
    const Schema *schema, const CelGraph *graph, uint32_t root, Arena *scratch) {
    uint8_t groups = cel_graph_node(graph, root)->groups;
    bool *is_seen;

    if (!(groups & SCHEMA_BIT(SCHEMA_NODE)) ||
        (groups & (SCHEMA_BIT(SCHEMA_CLUSTER) | SCHEMA_BIT(SCHEMA_NOW))))
        return false;
    arena_reset(scratch);
    is_seen = ARENA_ARRAY(scratch, bool, root + (size_t)1);
    if (!is_seen)
        return false;
    is_seen[root] = true;
    for (size_t i = root + (size_t)1; i-- > 0;) { /* arguments have lower numbers */
        const CelGraphNode *node = cel_graph_node(graph, (uint32_t)i);

        if (!is_seen[i])
            continue;
        if (is_untyped(schema, node) || !reads_kept(graph, node))
            return false;
        for (uint32_t k = 0; k < node->n_args; k++)
            is_seen[node->args[k]] = true;
    }
    return true;
}
