/* Decodes affinity and topology spread constraints as they are written. */

#include "model/pod-affinity.h"

static const JsonField expression_fields[] = {
    {"key", JSON_FIELD_TEXT, offsetof(MatchExpression, key)},
    {"operator", JSON_FIELD_TEXT, offsetof(MatchExpression, operator)},
    JSON_LIST("values", MatchExpression, values, n_values, AFFINITY_VALUES_MAX, json_read_text),
};

static void decode_selector(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"matchLabels", JSON_FIELD_CUSTOM, offsetof(LabelSelector, labels), labels_decode},
        JSON_LIST_OF("matchExpressions", LabelSelector, expressions, n_expressions, AFFINITY_ITEMS_MAX,
            expression_fields),
    };
    LabelSelector *selector = target;

    *selector = (LabelSelector){.is_given = !json_null(reader)};
    if (selector->is_given)
        JSON_READ_FIELDS(reader, arena, fields, selector);
}

static void decode_node_term(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_LIST_OF("matchExpressions", NodeSelectorTerm, expressions, n_expressions,
            AFFINITY_ITEMS_MAX, expression_fields),
        JSON_LIST_OF("matchFields", NodeSelectorTerm, fields, n_fields, AFFINITY_ITEMS_MAX,
            expression_fields),
    };

    JSON_READ_FIELDS(reader, arena, fields, target);
}

static const JsonField node_preference_fields[] = {
    {"weight", JSON_FIELD_INT, offsetof(NodeSelectorTerm, weight)},
    {"preference", JSON_FIELD_CUSTOM, 0, decode_node_term},
};

static void decode_node_required(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_LIST("nodeSelectorTerms", PodAffinity, node_required, n_node_required,
            AFFINITY_ITEMS_MAX, decode_node_term),
    };
    PodAffinity *affinity = target;

    affinity->is_node_required = !json_null(reader);
    if (affinity->is_node_required)
        JSON_READ_FIELDS(reader, arena, fields, affinity);
}

static void decode_pod_term(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"topologyKey", JSON_FIELD_TEXT, offsetof(PodAffinityTerm, topology_key)},
        {"labelSelector", JSON_FIELD_CUSTOM, offsetof(PodAffinityTerm, selector), decode_selector},
        {"namespaceSelector", JSON_FIELD_CUSTOM, offsetof(PodAffinityTerm, namespace_selector),
            decode_selector},
        JSON_LIST("namespaces", PodAffinityTerm, namespaces, n_namespaces, AFFINITY_ITEMS_MAX,
            json_read_text),
        JSON_LIST("matchLabelKeys", PodAffinityTerm, match_keys, n_match_keys, AFFINITY_ITEMS_MAX,
            json_read_text),
        JSON_LIST("mismatchLabelKeys", PodAffinityTerm, mismatch_keys, n_mismatch_keys,
            AFFINITY_ITEMS_MAX, json_read_text),
    };

    JSON_READ_FIELDS(reader, arena, fields, target);
}

static const JsonField pod_preference_fields[] = {
    {"weight", JSON_FIELD_INT, offsetof(PodAffinityTerm, weight)},
    {"podAffinityTerm", JSON_FIELD_CUSTOM, 0, decode_pod_term},
};

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

void pod_affinity_decode(JsonReader *reader, Arena *arena, PodAffinity *ret) {
    static const JsonField fields[] = {
        {"nodeAffinity." REQUIRED, JSON_FIELD_CUSTOM, 0, decode_node_required},
        JSON_LIST_OF("nodeAffinity." PREFERRED, PodAffinity, node_preferred, n_node_preferred,
            AFFINITY_ITEMS_MAX, node_preference_fields),
        JSON_LIST("podAffinity." REQUIRED, PodAffinity, pods.required, pods.n_required,
            AFFINITY_ITEMS_MAX, decode_pod_term),
        JSON_LIST_OF("podAffinity." PREFERRED, PodAffinity, pods.preferred, pods.n_preferred,
            AFFINITY_ITEMS_MAX, pod_preference_fields),
        JSON_LIST("podAntiAffinity." REQUIRED, PodAffinity, anti.required, anti.n_required,
            AFFINITY_ITEMS_MAX, decode_pod_term),
        JSON_LIST_OF("podAntiAffinity." PREFERRED, PodAffinity, anti.preferred, anti.n_preferred,
            AFFINITY_ITEMS_MAX, pod_preference_fields),
    };

    *ret = (PodAffinity){0};
    JSON_READ_FIELDS(reader, arena, fields, ret);
}

void spread_constraint_decode(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"topologyKey", JSON_FIELD_TEXT, offsetof(SpreadConstraint, topology_key)},
        {"whenUnsatisfiable", JSON_FIELD_TEXT, offsetof(SpreadConstraint, when_unsatisfiable)},
        {"nodeAffinityPolicy", JSON_FIELD_TEXT, offsetof(SpreadConstraint, node_affinity_policy)},
        {"nodeTaintsPolicy", JSON_FIELD_TEXT, offsetof(SpreadConstraint, node_taints_policy)},
        {"maxSkew", JSON_FIELD_INT, offsetof(SpreadConstraint, max_skew)},
        {"minDomains", JSON_FIELD_INT, offsetof(SpreadConstraint, min_domains)},
        {"labelSelector", JSON_FIELD_CUSTOM, offsetof(SpreadConstraint, selector), decode_selector},
        JSON_LIST("matchLabelKeys", SpreadConstraint, match_keys, n_match_keys, AFFINITY_ITEMS_MAX,
            json_read_text),
    };

    JSON_READ_FIELDS(reader, arena, fields, target);
}
