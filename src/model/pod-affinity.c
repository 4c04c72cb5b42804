/* Decodes affinity and topology spread constraints as they are written. */

#include "model/pod-affinity.h"

#include "base/vec.h"
#include "json/fields.h"

typedef void ReadItem(JsonReader *reader, Arena *arena, void *target);

/* --- lists --------------------------------------------------------------------------------- */

/* An array of items of @size bytes, @max at most. */
static void decode_items(JsonReader *reader, Arena *arena, size_t max, size_t size, ReadItem *read,
    const void **ret, size_t *ret_n) {
    void *items = NULL;
    size_t n = 0, room = 0;

    json_array(reader);
    while (json_element(reader)) {
        void *item = n < max ? vec_push(&items, &n, &room, size, arena) : NULL;

        if (item) {
            read(reader, arena, item);
            continue;
        }
        if (n < max)
            json_fail(reader, JSON_E_MEMORY, "an affinity");
        json_skip(reader, NULL);
    }
    *ret = items;
    *ret_n = n;
}

/* The reader of an array that is @member of @type. */
#define READ_LIST(name, type, member, max, read)                                                   \
    static void name(JsonReader *reader, Arena *arena, void *target) {                             \
        type *of = target;                                                                         \
        const void *items;                                                                         \
                                                                                                   \
        decode_items(reader, arena, (max), sizeof(*of->member), (read), &items, &of->n_##member);  \
        of->member = items;                                                                        \
    }

static void decode_text(JsonReader *reader, Arena *arena, void *target) {
    json_string(reader, arena, target);
}

/* --- selectors ----------------------------------------------------------------------------- */

READ_LIST(decode_values, MatchExpression, values, AFFINITY_VALUES_MAX, decode_text)

static void decode_expression(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"key", JSON_FIELD_TEXT, offsetof(MatchExpression, key), NULL},
        {"operator", JSON_FIELD_TEXT, offsetof(MatchExpression, operator), NULL},
        {"values", JSON_FIELD_CUSTOM, 0, decode_values},
    };

    JSON_READ_FIELDS(reader, arena, fields, target);
}

READ_LIST(
    decode_match_expressions, LabelSelector, expressions, AFFINITY_ITEMS_MAX, decode_expression)

static void decode_match_labels(JsonReader *reader, Arena *arena, void *target) {
    labels_decode(reader, arena, target);
}

static void decode_selector(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"matchLabels", JSON_FIELD_CUSTOM, offsetof(LabelSelector, labels), decode_match_labels},
        {"matchExpressions", JSON_FIELD_CUSTOM, 0, decode_match_expressions},
    };
    LabelSelector *selector = target;

    *selector = (LabelSelector){.is_given = !json_null(reader)};
    if (selector->is_given)
        JSON_READ_FIELDS(reader, arena, fields, selector);
}

/* --- node affinity ------------------------------------------------------------------------- */

READ_LIST(
    decode_term_expressions, NodeSelectorTerm, expressions, AFFINITY_ITEMS_MAX, decode_expression)
READ_LIST(decode_term_fields, NodeSelectorTerm, fields, AFFINITY_ITEMS_MAX, decode_expression)

static void decode_node_term(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"matchExpressions", JSON_FIELD_CUSTOM, 0, decode_term_expressions},
        {"matchFields", JSON_FIELD_CUSTOM, 0, decode_term_fields},
    };

    JSON_READ_FIELDS(reader, arena, fields, target);
}

static void decode_node_preference(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"weight", JSON_FIELD_INT, offsetof(NodeSelectorTerm, weight), NULL},
        {"preference", JSON_FIELD_CUSTOM, 0, decode_node_term},
    };

    JSON_READ_FIELDS(reader, arena, fields, target);
}

READ_LIST(decode_node_terms, PodAffinity, node_required, AFFINITY_ITEMS_MAX, decode_node_term)
READ_LIST(
    decode_node_preferred, PodAffinity, node_preferred, AFFINITY_ITEMS_MAX, decode_node_preference)

static void decode_node_required(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"nodeSelectorTerms", JSON_FIELD_CUSTOM, 0, decode_node_terms}};
    PodAffinity *affinity = target;

    affinity->is_node_required = !json_null(reader);
    if (affinity->is_node_required)
        JSON_READ_FIELDS(reader, arena, fields, affinity);
}

/* --- affinity to pods ---------------------------------------------------------------------- */

READ_LIST(decode_namespaces, PodAffinityTerm, namespaces, AFFINITY_ITEMS_MAX, decode_text)
READ_LIST(decode_match_keys, PodAffinityTerm, match_keys, AFFINITY_ITEMS_MAX, decode_text)
READ_LIST(decode_mismatch_keys, PodAffinityTerm, mismatch_keys, AFFINITY_ITEMS_MAX, decode_text)

static void decode_pod_term(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"topologyKey", JSON_FIELD_TEXT, offsetof(PodAffinityTerm, topology_key), NULL},
        {"labelSelector", JSON_FIELD_CUSTOM, offsetof(PodAffinityTerm, selector), decode_selector},
        {"namespaceSelector", JSON_FIELD_CUSTOM, offsetof(PodAffinityTerm, namespace_selector),
            decode_selector},
        {"namespaces", JSON_FIELD_CUSTOM, 0, decode_namespaces},
        {"matchLabelKeys", JSON_FIELD_CUSTOM, 0, decode_match_keys},
        {"mismatchLabelKeys", JSON_FIELD_CUSTOM, 0, decode_mismatch_keys},
    };

    JSON_READ_FIELDS(reader, arena, fields, target);
}

static void decode_pod_preference(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"weight", JSON_FIELD_INT, offsetof(PodAffinityTerm, weight), NULL},
        {"podAffinityTerm", JSON_FIELD_CUSTOM, 0, decode_pod_term},
    };

    JSON_READ_FIELDS(reader, arena, fields, target);
}

READ_LIST(decode_required, PodAffinityTerms, required, AFFINITY_ITEMS_MAX, decode_pod_term)
READ_LIST(decode_preferred, PodAffinityTerms, preferred, AFFINITY_ITEMS_MAX, decode_pod_preference)

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

void pod_affinity_decode(JsonReader *reader, Arena *arena, PodAffinity *ret) {
    static const JsonField fields[] = {
        {"nodeAffinity." REQUIRED, JSON_FIELD_CUSTOM, 0, decode_node_required},
        {"nodeAffinity." PREFERRED, JSON_FIELD_CUSTOM, 0, decode_node_preferred},
        {"podAffinity." REQUIRED, JSON_FIELD_CUSTOM, offsetof(PodAffinity, pods), decode_required},
        {"podAffinity." PREFERRED, JSON_FIELD_CUSTOM, offsetof(PodAffinity, pods),
            decode_preferred},
        {"podAntiAffinity." REQUIRED, JSON_FIELD_CUSTOM, offsetof(PodAffinity, anti),
            decode_required},
        {"podAntiAffinity." PREFERRED, JSON_FIELD_CUSTOM, offsetof(PodAffinity, anti),
            decode_preferred},
    };

    *ret = (PodAffinity){0};
    JSON_READ_FIELDS(reader, arena, fields, ret);
}

/* --- topology spread ----------------------------------------------------------------------- */

READ_LIST(decode_spread_keys, SpreadConstraint, match_keys, AFFINITY_ITEMS_MAX, decode_text)

static void decode_constraint(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"topologyKey", JSON_FIELD_TEXT, offsetof(SpreadConstraint, topology_key), NULL},
        {"whenUnsatisfiable", JSON_FIELD_TEXT, offsetof(SpreadConstraint, when_unsatisfiable),
            NULL},
        {"nodeAffinityPolicy", JSON_FIELD_TEXT, offsetof(SpreadConstraint, node_affinity_policy),
            NULL},
        {"nodeTaintsPolicy", JSON_FIELD_TEXT, offsetof(SpreadConstraint, node_taints_policy), NULL},
        {"maxSkew", JSON_FIELD_INT, offsetof(SpreadConstraint, max_skew), NULL},
        {"minDomains", JSON_FIELD_INT, offsetof(SpreadConstraint, min_domains), NULL},
        {"labelSelector", JSON_FIELD_CUSTOM, offsetof(SpreadConstraint, selector), decode_selector},
        {"matchLabelKeys", JSON_FIELD_CUSTOM, 0, decode_spread_keys},
    };

    JSON_READ_FIELDS(reader, arena, fields, target);
}

void spread_constraints_decode(
    JsonReader *reader, Arena *arena, const SpreadConstraint **ret, size_t *ret_n) {
    const void *items;

    decode_items(
        reader, arena, AFFINITY_ITEMS_MAX, sizeof(**ret), decode_constraint, &items, ret_n);
    *ret = items;
}
