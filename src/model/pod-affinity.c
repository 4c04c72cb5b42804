/* Decodes affinity and topology spread constraints as they are written. */

#include "model/pod-affinity.h"

static const JsonField expression_fields[] = {
    JSON_MEMBER("key", TEXT, MatchExpression, key),
    JSON_MEMBER("operator", TEXT, MatchExpression, operator),
    JSON_LIST_CUT(
        "values", MatchExpression, values, n_values, is_cut, AFFINITY_VALUES_MAX, json_read_text),
};

static void decode_selector(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_CUSTOM("matchLabels", LabelSelector, labels, labels_decode),
        JSON_LIST_OF("matchExpressions", LabelSelector, expressions, n_expressions,
            AFFINITY_ITEMS_MAX, expression_fields),
    };
    LabelSelector *selector = target;

    *selector = (LabelSelector){.is_given = !json_null(reader)};
    if (selector->is_given)
        JSON_READ_FIELDS(reader, arena, fields, selector);
}

static const JsonField node_term_fields[] = {
    JSON_LIST_CUT("matchExpressions", NodeSelectorTerm, expressions, n_expressions, is_cut,
        AFFINITY_ITEMS_MAX, NULL, JSON_FIELDS(expression_fields)),
    JSON_LIST_CUT("matchFields", NodeSelectorTerm, fields, n_fields, is_cut, AFFINITY_ITEMS_MAX,
        NULL, JSON_FIELDS(expression_fields)),
};

void node_preference_decode(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("weight", INT, NodeSelectorTerm, weight),
        {"preference", JSON_FIELD_CUSTOM, JSON_FIELDS(node_term_fields)},
    };

    JSON_READ_FIELDS(reader, arena, fields, target);
}

void node_required_decode(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_LIST_CUT("nodeSelectorTerms", PodAffinity, node_required, n_node_required,
            is_node_required_cut, AFFINITY_ITEMS_MAX, NULL, JSON_FIELDS(node_term_fields)),
    };
    PodAffinity *affinity = target;

    affinity->is_node_required = !json_null(reader);
    if (affinity->is_node_required)
        JSON_READ_FIELDS(reader, arena, fields, affinity);
}

static const JsonField pod_term_fields[] = {
    JSON_MEMBER("topologyKey", TEXT, PodAffinityTerm, topology_key),
    JSON_CUSTOM("labelSelector", PodAffinityTerm, selector, decode_selector),
    JSON_CUSTOM("namespaceSelector", PodAffinityTerm, namespace_selector, decode_selector),
    JSON_LIST("namespaces", PodAffinityTerm, namespaces, n_namespaces, AFFINITY_ITEMS_MAX,
        json_read_text),
    JSON_LIST("matchLabelKeys", PodAffinityTerm, match_keys, n_match_keys, AFFINITY_ITEMS_MAX,
        json_read_text),
    JSON_LIST("mismatchLabelKeys", PodAffinityTerm, mismatch_keys, n_mismatch_keys,
        AFFINITY_ITEMS_MAX, json_read_text),
};

static const JsonField pod_preference_fields[] = {
    JSON_MEMBER("weight", INT, PodAffinityTerm, weight),
    {"podAffinityTerm", JSON_FIELD_CUSTOM, JSON_FIELDS(pod_term_fields)},
};

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

static const JsonField node_fields[] = {
    {REQUIRED, JSON_FIELD_CUSTOM, 0, node_required_decode},
    JSON_LIST(PREFERRED, PodAffinity, node_preferred, n_node_preferred, AFFINITY_ITEMS_MAX,
        node_preference_decode),
};

static const JsonField pod_fields[] = {
    JSON_LIST_OF(
        REQUIRED, PodAffinityTerms, required, n_required, AFFINITY_ITEMS_MAX, pod_term_fields),
    JSON_LIST_OF(PREFERRED, PodAffinityTerms, preferred, n_preferred, AFFINITY_ITEMS_MAX,
        pod_preference_fields),
};

void pod_affinity_decode(JsonReader *reader, Arena *arena, PodAffinity *ret) {
    static const JsonField fields[] = {
        {"nodeAffinity", JSON_FIELD_CUSTOM, JSON_FIELDS(node_fields)},
        JSON_CUSTOM("podAffinity", PodAffinity, pods, NULL, JSON_FIELDS(pod_fields)),
        JSON_CUSTOM("podAntiAffinity", PodAffinity, anti, NULL, JSON_FIELDS(pod_fields)),
    };

    *ret = (PodAffinity){0};
    JSON_READ_FIELDS(reader, arena, fields, ret);
}

void spread_constraint_decode(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("topologyKey", TEXT, SpreadConstraint, topology_key),
        JSON_MEMBER("whenUnsatisfiable", TEXT, SpreadConstraint, when_unsatisfiable),
        JSON_MEMBER("nodeAffinityPolicy", TEXT, SpreadConstraint, node_affinity_policy),
        JSON_MEMBER("nodeTaintsPolicy", TEXT, SpreadConstraint, node_taints_policy),
        JSON_MEMBER("maxSkew", INT, SpreadConstraint, max_skew),
        JSON_MEMBER("minDomains", INT, SpreadConstraint, min_domains),
        JSON_CUSTOM("labelSelector", SpreadConstraint, selector, decode_selector),
        JSON_LIST("matchLabelKeys", SpreadConstraint, match_keys, n_match_keys, AFFINITY_ITEMS_MAX,
            json_read_text),
    };

    JSON_READ_FIELDS(reader, arena, fields, target);
}
