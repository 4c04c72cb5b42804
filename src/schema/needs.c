/*
 * Finds the parts of a Node object that expressions read, in one walk over the graph. Fields of the
 * node's records name their part (record.h). A look-up of a label by a constant key needs that
 * label, any other use all of them. A node whose fields cannot be followed (in dyn, a comparison, a
 * message) needs all parts.
 */

#include "schema/schema.h"

#include "schema/metrics.h"
#include "schema/schema-internal.h"

/* --- collecting ---------------------------------------------------------------------------- */

static void need_label(SchemaNeeds *needs, Str key) {
    Str *added;

    for (size_t i = 0; i < needs->labels.n; i++)
        if (str_eq(needs->labels.items[i], key))
            return;
    key = arena_copy(needs->arena, key);
    added = key.ptr ? VEC_PUSH(&needs->labels, needs->arena) : NULL;
    if (!added) {
        needs->has_failed = true;
        return;
    }
    *added = key;
    needs->parts.labels = needs->labels.items;
    needs->parts.n_labels = needs->labels.n;
}

static void need_part(SchemaNeeds *needs, SchemaPart part) {
    bool *const parts[] = {
        [PART_LABELS] = &needs->parts.all_labels,
        [PART_TAINTS] = &needs->parts.taints,
        [PART_CONDITIONS] = &needs->parts.conditions,
        [PART_ALLOCATABLE] = &needs->parts.allocatable,
        [PART_REST] = &needs->parts.rest,
        [PART_DETAILS] = &needs->parts.details,
    };

    if (part != PART_NONE)
        *parts[part] = true;
}

static void need_everything(SchemaNeeds *needs) {
    for (SchemaPart part = PART_LABELS; part <= PART_DETAILS; part++)
        need_part(needs, part);
}

/* --- reads of a graph node --------------------------------------------------------------- */

static bool is_field(uint16_t op) {
    return op == OP_FIELD || op == OP_TEST_FIELD || op == OP_OPT_FIELD;
}

/* The part that a field is read from. Labels count where they are used. */
static SchemaPart part_of(const CelGraph *graph, const CelGraphNode *node) {
    const CelType *type;
    const SchemaRecord *record;

    if (!is_field(node->op))
        return PART_NONE;
    type = cel_graph_node(graph, node->args[0])->type;
    while (type->kind == CEL_T_OPTIONAL)
        type = cel_type_param(type, 0);
    record = schema_record_of(type);
    return record ? (SchemaPart)record->parts[node->immediate] : PART_NONE;
}

static bool is_labels(const CelGraph *graph, uint32_t number) {
    const CelGraphNode *node = cel_graph_node(graph, number);

    return node->op == OP_FIELD && part_of(graph, node) == PART_LABELS;
}

static bool is_text(const CelGraphNode *node) {
    return node->op == OP_CONSTANT && node->constant.kind == CEL_STRING;
}

/* The constant key by which @node looks a label up in its argument @arg; false: in another way. */
static bool find_label(const CelGraph *graph, const CelGraphNode *node, uint32_t arg, Str *ret) {
    const CelGraphNode *key = node;

    if (node->op == OP_IN_MAP && arg == 1)
        key = cel_graph_node(graph, node->args[0]);
    else if (node->op != OP_SELECT && node->op != OP_TEST_SELECT && node->op != OP_OPT_SELECT)
        return false;
    if (key != node && !is_text(key))
        return false;
    *ret = cel_str(key->constant);
    return true;
}

static bool calls(const CelGraphNode *node, CelFunction *fn) {
    return node->n_overloads == 1 && node->overloads[0]->spec->fn == fn;
}

/* Calls that group nodes by a label. */
static bool groups(const CelGraphNode *node) {
    return calls(node, schema_call_domain) || calls(node, schema_call_domains) ||
           calls(node, schema_call_nodes_by_label);
}

static void need_grouping(SchemaNeeds *needs, const CelGraph *graph, const CelGraphNode *call) {
    const CelGraphNode *key = cel_graph_node(graph, call->args[1]);

    if (is_text(key))
        need_label(needs, cel_str(key->constant));
    else
        need_part(needs, PART_LABELS);
}

/* --- nodes that cannot be followed ------------------------------------------------------- */

/* Records from which one comes to the fields of a node. Recursion: CEL_TYPE_DEPTH_MAX bounds it. */
static bool holds_node(const CelType *type) {
    const SchemaRecord *record = schema_record_of(type);

    for (size_t i = 0; i < type->n_params; i++)
        if (holds_node(type->params[i]))
            return true;
    return record == &schema_node_record || record == &schema_node_metadata ||
           record == &schema_node_spec || record == &schema_node_status ||
           record == &schema_domain || record == &schema_cluster_record;
}

static bool is_call(uint16_t op) {
    return op == OP_CALL || op == OP_CALL_CHECKED || op == OP_DISPATCH;
}

/* Measured values are not part of a Node object. */
static bool is_measured(const CelGraphNode *node) {
    return calls(node, schema_call_metrics) || calls(node, schema_call_measured) ||
           calls(node, schema_call_measured_at);
}

/* Whether @node reads the contents of its argument, which holds a node, in a way that cannot be
 * followed here: not by a field, not by passing it on. */
static bool looks_inside(const CelGraphNode *node, uint32_t arg) {
    if (is_field(node->op) || groups(node) || is_measured(node) || node->op == OP_OPT_HAS ||
        calls(node, schema_call_selects))
        return false;
    if (is_call(node->op))
        return !str_is(node->overloads[0]->name, "size");
    if (cel_op_is_loop(node->op) && arg == 0)
        return false;
    return !holds_node(node->type);
}

/* A variable whose type was lost (CelChecked.is_loose): nothing can be followed. */
static bool is_untyped(const Schema *schema, const CelGraphNode *node) {
    return node->op == OP_VARIABLE && !holds_node(node->type) &&
           (node->immediate == schema->node_slot || node->immediate == schema->cluster_slot);
}

/* --- the walk ----------------------------------------------------------------------------- */

static void need_labels_of(
    SchemaNeeds *needs, const CelGraph *graph, const CelGraphNode *node, uint32_t arg) {
    Str key;

    if (find_label(graph, node, arg, &key))
        need_label(needs, key);
    else
        need_part(needs, PART_LABELS);
}

static void need_node(SchemaNeeds *needs, const CelGraph *graph, const CelGraphNode *node) {
    SchemaPart part = part_of(graph, node);

    if (part != PART_LABELS || node->op == OP_OPT_FIELD)
        need_part(needs, part);
    if (groups(node))
        need_grouping(needs, graph, node);
    if (calls(node, schema_call_selects))
        need_part(needs, PART_LABELS);
    for (uint32_t i = 0; i < node->n_args; i++) {
        if (is_labels(graph, node->args[i]))
            need_labels_of(needs, graph, node, i);
        else if (holds_node(cel_graph_node(graph, node->args[i])->type) && looks_inside(node, i))
            need_everything(needs);
    }
}

static void need_root(SchemaNeeds *needs, const CelGraph *graph, uint32_t root) {
    if (is_labels(graph, root))
        need_part(needs, PART_LABELS);
    if (holds_node(cel_graph_node(graph, root)->type))
        need_everything(needs);
}

static uint32_t highest_of(const uint32_t *roots, size_t n) {
    uint32_t highest = 0;

    for (size_t i = 0; i < n; i++)
        highest = roots[i] > highest ? roots[i] : highest;
    return highest;
}

void schema_need(const Schema *schema, const CelGraph *graph, const uint32_t *roots, size_t n,
    SchemaNeeds *needs) {
    size_t n_nodes = n > 0 ? highest_of(roots, n) + (size_t)1 : 0;
    bool *is_seen = ARENA_ARRAY(needs->arena, bool, n_nodes);

    if (!is_seen) {
        needs->has_failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        is_seen[roots[i]] = true;
        need_root(needs, graph, roots[i]);
    }
    for (size_t i = n_nodes; i-- > 0;) { /* arguments have lower numbers */
        const CelGraphNode *node = cel_graph_node(graph, (uint32_t)i);

        if (!is_seen[i])
            continue;
        if (is_untyped(schema, node))
            need_everything(needs);
        need_node(needs, graph, node);
        for (uint32_t k = 0; k < node->n_args; k++)
            is_seen[node->args[k]] = true;
    }
}
