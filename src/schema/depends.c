/*
 * Finds out what a rule depends on, by the fields that it reads, in one walk over the graph:
 *
 *     properties that a node keeps    an allow-list; all else (free amounts, pods, conditions,
 *                                     annotations, metrics, the time) may change while a pod is
 *                                     pending
 *     the pods that are on nodes      a list of the fields that count or sum them
 */

#include "schema/schema-internal.h"

typedef struct FieldName {
    const SchemaRecord *record;
    const char *field;
} FieldName;

static const FieldName kept_fields[] = {
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

static const FieldName counted_fields[] = {
    {&schema_node_record, "free"},
    {&schema_node_record, "requested"},
    {&schema_node_record, "pods"},
    {&schema_domain, "pods"},
    {&schema_cluster_record, "free"},
    {&schema_cluster_record, "requested"},
    {&schema_cluster_record, "pods"},
};

static bool is_node_record(const SchemaRecord *record) {
    return record == &schema_node_record || record == &schema_node_metadata ||
           record == &schema_node_spec || record == &schema_node_status;
}

/* Whether @node reads one of the @n @fields of @record. */
static bool is_field_of(
    const CelGraphNode *node, const SchemaRecord *record, const FieldName *fields, size_t n) {
    for (size_t i = 0; schema_is_field(node) && i < n; i++)
        if (fields[i].record == record &&
            str_is(record->type.fields[node->immediate].name, fields[i].field))
            return true;
    return false;
}

/* Whether @node reads a Node, or a part of it, as a whole or by a field that may change. */
static bool reads_changing(const CelGraph *graph, const CelGraphNode *node) {
    for (uint32_t i = 0; i < node->n_args; i++) {
        const SchemaRecord *record = schema_record_in(cel_graph_node(graph, node->args[i])->type);

        if (is_node_record(record) &&
            !is_field_of(node, record, kept_fields, ELEMENTS_OF(kept_fields)))
            return true;
    }
    return false;
}

static bool reads_counted(const CelGraph *graph, const CelGraphNode *node) {
    for (uint32_t i = 0; i < node->n_args; i++) {
        const SchemaRecord *record = schema_record_in(cel_graph_node(graph, node->args[i])->type);

        if (is_field_of(node, record, counted_fields, ELEMENTS_OF(counted_fields)))
            return true;
        /* The field is not known from the type: dyn(node).free, optional.of(node).free. */
        if ((record == &schema_node_record || record == &schema_domain ||
                record == &schema_cluster_record) &&
            (node->type->kind == CEL_T_DYN || node->op == OP_SELECT || node->op == OP_TEST_SELECT ||
                node->op == OP_OPT_SELECT))
            return true;
    }
    return false;
}

/* Whether it is a variable of unknown type (CelChecked.is_loose): its fields cannot be followed. */
static bool is_untyped(const Schema *schema, const CelGraphNode *node) {
    if (node->op != OP_VARIABLE)
        return false;
    return (node->immediate == schema->node_slot &&
               !is_node_record(schema_record_in(node->type))) ||
           (node->immediate == schema->cluster_slot &&
               schema_record_in(node->type) != &schema_cluster_record);
}

const uint8_t *schema_dependence(const Schema *schema, const CelGraph *graph, Arena *arena) {
    uint8_t *ret = ARENA_ARRAY(arena, uint8_t, cel_graph_size(graph));

    for (uint32_t i = 0; ret && i < cel_graph_size(graph); i++) { /* arguments come first */
        const CelGraphNode *node = cel_graph_node(graph, i);

        if (is_untyped(schema, node) || reads_changing(graph, node))
            ret[i] |= SCHEMA_MAY_CHANGE;
        if (is_untyped(schema, node) || reads_counted(graph, node))
            ret[i] |= SCHEMA_MAY_COUNT_PODS;
        for (uint32_t k = 0; k < node->n_args; k++)
            ret[i] |= ret[node->args[k]];
    }
    return ret;
}

bool schema_is_permanent(const CelGraph *graph, const uint8_t *dependence, uint32_t root) {
    uint8_t groups = cel_graph_node(graph, root)->groups;

    return groups & SCHEMA_BIT(SCHEMA_NODE) &&
           !(groups & (SCHEMA_BIT(SCHEMA_CLUSTER) | SCHEMA_BIT(SCHEMA_NOW))) &&
           !(dependence[root] & SCHEMA_MAY_CHANGE);
}

bool schema_counts_pods(const CelGraph *graph, const uint8_t *dependence, uint32_t root) {
    uint8_t groups = cel_graph_node(graph, root)->groups;

    return groups & (SCHEMA_BIT(SCHEMA_NODE) | SCHEMA_BIT(SCHEMA_CLUSTER)) &&
           dependence[root] & SCHEMA_MAY_COUNT_PODS;
}
