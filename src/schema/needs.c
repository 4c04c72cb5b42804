/*
 * Finds the parts of a Node object and of running pods that expressions read, in one walk over the
 * graph. Fields of their records name their part (record.h). A look-up of a label by a constant key
 * needs that label, any other use all labels; likewise for annotations of running pods. If the
 * fields of a node or pod cannot be followed (in dyn, a comparison, a message), it needs all parts.
 */

#include "schema/metrics.h"
#include "schema/schema-internal.h"

static void add_key(SchemaNeeds *needs, SchemaKeys *keys, Str key) {
    if (!str_is_one_of(key, keys->items, keys->n))
        (void)VEC_ADD(keys, needs->arena, arena_copy(needs->arena, key));
}

/* @part: PART_LABELS, or annotations of pods. */
static void need_key(SchemaNeeds *needs, SchemaPart part, Str key) {
    add_key(needs, part == PART_LABELS ? &needs->labels : &needs->annotations, key);
    needs->parts.labels = needs->labels.items;
    needs->parts.n_labels = needs->labels.n;
    needs->pods.annotations = needs->annotations.items;
    needs->pods.n_annotations = needs->annotations.n;
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

    if (part >= PART_POD)
        needs->pods.fields |= POD_BIT(part - PART_POD);
    else if (part != PART_NONE)
        *parts[part] = true;
}

/* Values that contain fields of parts. In increasing order: later ones contain the earlier. */
typedef enum Holding {
    HOLDS_NOTHING,
    HOLDS_CONTAINER,
    HOLDS_POD,
    HOLDS_NODE,
} Holding;

#define OF_CONTAINER                                                                               \
    (POD_BIT(POD_CONTAINER_NAMES) | POD_BIT(POD_CONTAINER_AMOUNTS) |                               \
        POD_BIT(POD_CONTAINER_PORTS) | POD_BIT(POD_CONTAINER_ENV))

static void need_all_of(SchemaNeeds *needs, Holding holding) {
    if (holding >= HOLDS_CONTAINER)
        needs->pods.fields |= OF_CONTAINER;
    if (holding >= HOLDS_POD)
        needs->pods.fields |= pod_parts_all.fields;
    for (SchemaPart part = PART_LABELS; holding >= HOLDS_NODE && part <= PART_DETAILS; part++)
        need_part(needs, part);
}

/* Containers of the pod to be placed have the same record, so reads of fields of containers count
 * only if the containers of running pods are read. */
PodParts schema_kept_pods(const SchemaNeeds *needs) {
    PodParts kept = needs->pods;

    if (!(kept.fields & POD_BIT(POD_CONTAINERS)))
        kept.fields &= ~OF_CONTAINER;
    return kept;
}

/* Whether @record is one of the pod to be placed, which always has all fields. */
static bool is_placed(const SchemaRecord *record) {
    return record == &schema_pod_record || record == &schema_pod_metadata ||
           record == &schema_pod_spec || record == &schema_pod_status;
}

/* The part that @node reads a field from. */
static SchemaPart part_of(const CelGraph *graph, const CelGraphNode *node) {
    const SchemaRecord *record;

    if (!schema_is_field(node))
        return PART_NONE;
    record = schema_record_in(cel_graph_node(graph, node->args[0])->type);
    if (!record || is_placed(record))
        return PART_NONE;
    return (SchemaPart)record->parts[node->immediate];
}

/* Whether @part is a map of which single keys can be kept. */
static bool is_keyed(SchemaPart part) {
    return part == PART_LABELS || part == OF_POD(POD_ANNOTATIONS);
}

/* The part if node @number is such a map; else PART_NONE. */
static SchemaPart keyed_part(const CelGraph *graph, uint32_t number) {
    const CelGraphNode *node = cel_graph_node(graph, number);
    SchemaPart part = node->op == OP_FIELD ? part_of(graph, node) : PART_NONE;

    return is_keyed(part) ? part : PART_NONE;
}

static bool is_text(const CelGraphNode *node) {
    return node->op == OP_CONSTANT && node->constant.kind == CEL_STRING;
}

/* Whether @node reads its argument @arg by a constant key; *@ret: the key. */
static bool find_key(const CelGraph *graph, const CelGraphNode *node, uint32_t arg, Str *ret) {
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

/* Calls that group nodes by a label. */
static bool groups(const CelGraphNode *node) {
    return schema_calls(node, schema_call_domain) || schema_calls(node, schema_call_domains) ||
           schema_calls(node, schema_call_nodes_by_label);
}

/* Calls that read labels whose keys are not known here. */
static bool selects(const CelGraphNode *node) {
    return schema_calls(node, schema_call_selects) || schema_calls(node, schema_call_claim_selects);
}

/* Whether values of @type lead to fields of a node, a running pod or a container. Recursive up to
 * CEL_TYPE_DEPTH_MAX. */
static Holding holding_of(const CelType *type) {
    const SchemaRecord *record = schema_record_of(type);
    Holding most = HOLDS_NOTHING;

    for (size_t i = 0; i < type->n_params; i++) {
        Holding param = holding_of(type->params[i]);

        most = param > most ? param : most;
    }
    if (record == &schema_node_record || record == &schema_node_metadata ||
        record == &schema_node_spec || record == &schema_node_status || record == &schema_domain ||
        record == &schema_cluster_record)
        return HOLDS_NODE;
    if (record == &schema_node_pod || record == &schema_node_pod_metadata ||
        record == &schema_node_pod_spec || record == &schema_node_pod_status)
        return HOLDS_POD;
    return record == &schema_container ? HOLDS_CONTAINER : most;
}

/* Calls that read measured values, which are not part of a Node object. */
static bool is_measured(const CelGraphNode *node) {
    return schema_calls(node, schema_call_metrics) || schema_calls(node, schema_call_measured) ||
           schema_calls(node, schema_call_measured_at);
}

/* Calls that return elements of their list without reading them. */
static bool passes_on(const CelGraphNode *call) {
    static const Str names[] = {STR("first"), STR("last"), STR("reverse"), STR("slice"),
        STR("flatten"), STR("@sortByAssociatedKeys")};

    return str_is_one_of(call->overloads[0]->name, names, ELEMENTS_OF(names));
}

/* Whether @node reads the contents of its argument, which is @holding, in a way that cannot be
 * followed here: not by a field, not by passing it on. */
static bool looks_inside(const CelGraphNode *node, uint32_t arg, Holding holding) {
    if (schema_is_field(node) || groups(node) || is_measured(node) || node->op == OP_OPT_HAS ||
        selects(node) || schema_calls(node, schema_call_tolerates) ||
        schema_calls(node, schema_call_tolerates_text))
        return false;
    if (node->op == OP_CALL || node->op == OP_CALL_CHECKED || node->op == OP_DISPATCH)
        return !str_is(node->overloads[0]->name, "size") && !passes_on(node);
    if (cel_op_is_loop(node->op) && arg == 0)
        return false;
    return holding_of(node->type) < holding;
}

static void need_entry(
    SchemaNeeds *needs, const CelGraph *graph, const CelGraphNode *node, uint32_t arg) {
    SchemaPart part = keyed_part(graph, node->args[arg]);
    Str key;

    if (find_key(graph, node, arg, &key))
        need_key(needs, part, key);
    else
        need_part(needs, part);
}

static void need_node(SchemaNeeds *needs, const CelGraph *graph, const CelGraphNode *node) {
    SchemaPart part = part_of(graph, node);

    if (!is_keyed(part) || node->op == OP_OPT_FIELD)
        need_part(needs, part);
    if (groups(node) && is_text(cel_graph_node(graph, node->args[1])))
        need_key(needs, PART_LABELS, cel_str(cel_graph_node(graph, node->args[1])->constant));
    else if (groups(node) || selects(node))
        need_part(needs, PART_LABELS);
    /* A running pod (NodePod) needs its tolerations. */
    if ((schema_calls(node, schema_call_tolerates) ||
            schema_calls(node, schema_call_tolerates_text)) &&
        schema_record_of(cel_graph_node(graph, node->args[0])->type) != &schema_pod_record)
        need_part(needs, OF_POD(POD_TOLERATIONS));
    for (uint32_t i = 0; i < node->n_args; i++) {
        Holding holding = holding_of(cel_graph_node(graph, node->args[i])->type);

        if (keyed_part(graph, node->args[i]) != PART_NONE)
            need_entry(needs, graph, node, i);
        else if (holding != HOLDS_NOTHING && looks_inside(node, i, holding))
            need_all_of(needs, holding);
    }
}

void schema_need(const Schema *schema, const CelGraph *graph, const uint32_t *roots, size_t n,
    SchemaNeeds *needs) {
    const bool *marks = cel_graph_mark(graph, roots, n, needs->arena);

    if (!marks)
        return;
    for (size_t i = 0; i < n; i++) {
        need_part(needs, keyed_part(graph, roots[i]));
        need_all_of(needs, holding_of(cel_graph_node(graph, roots[i])->type));
    }
    for (uint32_t i = 0; i < cel_graph_size(graph); i++) {
        const CelGraphNode *node = cel_graph_node(graph, i);

        if (!marks[i])
            continue;
        /* Fields of a variable of unknown type (CelChecked.is_loose) cannot be followed. */
        if (node->op == OP_VARIABLE && holding_of(node->type) != HOLDS_NODE &&
            (node->immediate == schema->node_slot || node->immediate == schema->cluster_slot))
            need_all_of(needs, HOLDS_NODE);
        need_node(needs, graph, node);
    }
}

bool schema_check_annotations(
    const CelGraph *graph, uint32_t root, Arena *scratch, SchemaReport *report, void *context) {
    const bool *marks = cel_graph_mark(graph, &root, 1, scratch);

    if (!marks)
        return false;
    if (keyed_part(graph, root) == OF_POD(POD_ANNOTATIONS))
        report(context, cel_graph_node(graph, root));
    for (uint32_t i = cel_graph_size(graph); i-- > 0;) {
        const CelGraphNode *node = cel_graph_node(graph, i);

        if (marks[i] && node->op == OP_OPT_FIELD && part_of(graph, node) == OF_POD(POD_ANNOTATIONS))
            report(context, node);
        for (uint32_t k = 0; marks[i] && k < node->n_args; k++) {
            Str key;

            if (keyed_part(graph, node->args[k]) == OF_POD(POD_ANNOTATIONS) &&
                !find_key(graph, node, k, &key)) /* the key is not known */
                report(context, cel_graph_node(graph, node->args[k]));
        }
    }
    return true;
}
