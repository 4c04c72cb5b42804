/* Affinity and topology spread constraints of pods as values, as their spec has them. */

#include "schema/schema-internal.h"

/* --- selectors ----------------------------------------------------------------------------- */

GET_ITEM(MatchExpression, expression_key, schema_text(item->key))
GET_ITEM(MatchExpression, expression_operator, schema_text(item->operator))
GET_ITEM(MatchExpression, expression_values, schema_strings(run, item->values, item->n_values))

#define EXPRESSION(X)                                                                              \
    X("key", TEXT(KEY_MAX_BYTES), expression_key, "of a label; in matchFields metadata.name")      \
    X("operator", TEXT(WORD_MAX_BYTES), expression_operator,                                       \
        "In, NotIn, Exists, DoesNotExist; of nodes also Gt, Lt")                                   \
    X("values", VALUE(schema_strings_type, LABELS_ASSUMED), expression_values, "its values")
SCHEMA_RECORD(schema_match_expression, "LabelSelectorRequirement", EXPRESSION);
SCHEMA_LIST_TYPE(expressions_type, &schema_match_expression.of);

/* The items of an array @items with @n of them, as records of @type. */
#define ITEMS(type, items, n) schema_items(run, &(type), (items), (n), sizeof(*(items)))
#define EXPRESSIONS(of, member) ITEMS(schema_match_expression, (of)->member, (of)->n_##member)

GET_ITEM(LabelSelector, selector_labels, schema_labels(run, &item->labels))
GET_ITEM(LabelSelector, selector_expressions, EXPRESSIONS(item, expressions))

#define SELECTOR(X)                                                                                \
    X("matchLabels", VALUE(schema_labels_type, LABELS_ASSUMED), selector_labels,                   \
        "labels with these values")                                                                \
    X("matchExpressions", VALUE(expressions_type, AFFINITY_ITEMS_MAX), selector_expressions,       \
        "and these conditions")
SCHEMA_RECORD(schema_label_selector, "LabelSelector", SELECTOR);

static CelValue selector(CelRun *run, const LabelSelector *of) {
    return of->is_given ? schema_item(run, &schema_label_selector, of) : cel_absent();
}

#define MAYBE_SELECTOR &schema_label_selector.of, MAYBE, 0

/* --- node affinity ------------------------------------------------------------------------- */

GET_ITEM(NodeSelectorTerm, node_term_expressions, EXPRESSIONS(item, expressions))
GET_ITEM(NodeSelectorTerm, node_term_fields, EXPRESSIONS(item, fields))

#define NODE_TERM(X)                                                                               \
    X("matchExpressions", VALUE(expressions_type, AFFINITY_ITEMS_MAX), node_term_expressions,      \
        "conditions on labels of the node")                                                        \
    X("matchFields", VALUE(expressions_type, AFFINITY_ITEMS_MAX), node_term_fields,                \
        "conditions on its name")
SCHEMA_RECORD(schema_node_term, "NodeSelectorTerm", NODE_TERM);
SCHEMA_LIST_TYPE(node_terms_type, &schema_node_term.of);

GET_ITEM(NodeSelectorTerm, preference_weight, cel_int(item->weight))
GET_ITEM(NodeSelectorTerm, preference_term, schema_item(run, &schema_node_term, item))

#define PREFERENCE(X)                                                                              \
    X("weight", INT, preference_weight, "1 to 100")                                                \
    X("preference", VALUE(schema_node_term.of, 0), preference_term, "the nodes")
SCHEMA_RECORD(schema_node_preference, "PreferredSchedulingTerm", PREFERENCE);
SCHEMA_LIST_TYPE(node_preferences_type, &schema_node_preference.of);

GET_ITEM(PodAffinity, selector_terms,
    ITEMS(schema_node_term, item->node_required, item->n_node_required))

#define NODE_SELECTOR(X)                                                                           \
    X("nodeSelectorTerms", VALUE(node_terms_type, AFFINITY_ITEMS_MAX), selector_terms,             \
        "one of them must match; empty: nothing is required")
SCHEMA_RECORD(schema_node_selector, "NodeSelector", NODE_SELECTOR);

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

GET_ITEM(PodAffinity, node_required, schema_item(run, &schema_node_selector, item))
GET_ITEM(PodAffinity, node_preferred,
    ITEMS(schema_node_preference, item->node_preferred, item->n_node_preferred))

#define NODE_AFFINITY(X)                                                                           \
    X(REQUIRED, VALUE(schema_node_selector.of, 0), node_required,                                  \
        "nodes that it can run on; pod.selects(node) tests them")                                  \
    X(PREFERRED, VALUE(node_preferences_type, AFFINITY_ITEMS_MAX), node_preferred,                 \
        "nodes that it prefers")
SCHEMA_RECORD(schema_node_affinity, "NodeAffinity", NODE_AFFINITY);

/* --- affinity to pods ---------------------------------------------------------------------- */

GET_ITEM(PodAffinityTerm, pod_term_selector, selector(run, &item->selector))
GET_ITEM(PodAffinityTerm, pod_term_namespace_selector, selector(run, &item->namespace_selector))
GET_ITEM(
    PodAffinityTerm, pod_term_namespaces, schema_strings(run, item->namespaces, item->n_namespaces))
GET_ITEM(PodAffinityTerm, pod_term_topology_key, schema_text(item->topology_key))
GET_ITEM(
    PodAffinityTerm, pod_term_match_keys, schema_strings(run, item->match_keys, item->n_match_keys))
GET_ITEM(PodAffinityTerm, pod_term_mismatch_keys,
    schema_strings(run, item->mismatch_keys, item->n_mismatch_keys))

#define TEXTS VALUE(schema_strings_type, AFFINITY_ITEMS_MAX)
#define POD_TERM(X)                                                                                \
    X("labelSelector", MAYBE_SELECTOR, pod_term_selector, "the pods; absent: none")                \
    X("namespaceSelector", MAYBE_SELECTOR, pod_term_namespace_selector,                            \
        "their namespaces; absent: namespaces alone")                                              \
    X("namespaces", TEXTS, pod_term_namespaces,                                                    \
        "their namespaces; if there is no namespaceSelector either, the pod's own")                \
    X("topologyKey", TEXT(KEY_MAX_BYTES), pod_term_topology_key,                                   \
        "a label of nodes: near is the same value")                                                \
    X("matchLabelKeys", TEXTS, pod_term_match_keys,                                                \
        "labels that these pods have with the pod's value")                                        \
    X("mismatchLabelKeys", TEXTS, pod_term_mismatch_keys,                                          \
        "labels that these pods have with another value")
SCHEMA_RECORD(schema_pod_term, "PodAffinityTerm", POD_TERM);
SCHEMA_LIST_TYPE(pod_terms_type, &schema_pod_term.of);

GET_ITEM(PodAffinityTerm, weighted_weight, cel_int(item->weight))
GET_ITEM(PodAffinityTerm, weighted_term, schema_item(run, &schema_pod_term, item))

#define WEIGHTED(X)                                                                                \
    X("weight", INT, weighted_weight, "1 to 100")                                                  \
    X("podAffinityTerm", VALUE(schema_pod_term.of, 0), weighted_term, "the pods")
SCHEMA_RECORD(schema_weighted_pod_term, "WeightedPodAffinityTerm", WEIGHTED);
SCHEMA_LIST_TYPE(weighted_pod_terms_type, &schema_weighted_pod_term.of);

GET_ITEM(PodAffinityTerms, pods_required, ITEMS(schema_pod_term, item->required, item->n_required))
GET_ITEM(PodAffinityTerms, pods_preferred,
    ITEMS(schema_weighted_pod_term, item->preferred, item->n_preferred))

#define POD_AFFINITY_OF(X)                                                                         \
    X(REQUIRED, VALUE(pod_terms_type, AFFINITY_ITEMS_MAX), pods_required, "all of them must hold") \
    X(PREFERRED, VALUE(weighted_pod_terms_type, AFFINITY_ITEMS_MAX), pods_preferred,               \
        "the more hold, the better")
SCHEMA_RECORD(schema_pod_affinity, "PodAffinity", POD_AFFINITY_OF);

GET_ITEM(PodAffinity, affinity_nodes, schema_item(run, &schema_node_affinity, item))
GET_ITEM(PodAffinity, affinity_pods, schema_item(run, &schema_pod_affinity, &item->pods))
GET_ITEM(PodAffinity, affinity_anti, schema_item(run, &schema_pod_affinity, &item->anti))

#define AFFINITY(X)                                                                                \
    X("nodeAffinity", VALUE(schema_node_affinity.of, 0), affinity_nodes, "to nodes")               \
    X("podAffinity", VALUE(schema_pod_affinity.of, 0), affinity_pods,                              \
        "pods that it should run near")                                                            \
    X("podAntiAffinity", VALUE(schema_pod_affinity.of, 0), affinity_anti,                          \
        "pods that it should not run near")
SCHEMA_RECORD(schema_affinity, "Affinity", AFFINITY);

CelValue schema_affinity_of(CelRun *run, const PodAffinity *affinity) {
    static const PodAffinity none;

    return schema_item(run, &schema_affinity, affinity ? affinity : &none);
}

/* --- topology spread ----------------------------------------------------------------------- */

static CelValue word(Str text, Str otherwise) {
    return schema_text(str_is_empty(text) ? otherwise : text);
}

GET_ITEM(SpreadConstraint, spread_max_skew, cel_int(item->max_skew))
GET_ITEM(SpreadConstraint, spread_topology_key, schema_text(item->topology_key))
GET_ITEM(SpreadConstraint, spread_when, word(item->when_unsatisfiable, STR("DoNotSchedule")))
GET_ITEM(SpreadConstraint, spread_selector, selector(run, &item->selector))
GET_ITEM(SpreadConstraint, spread_min_domains,
    item->min_domains > 0 ? cel_int(item->min_domains) : cel_absent())
GET_ITEM(SpreadConstraint, spread_affinity_policy, word(item->node_affinity_policy, STR("Honor")))
GET_ITEM(SpreadConstraint, spread_taints_policy, word(item->node_taints_policy, STR("Ignore")))
GET_ITEM(
    SpreadConstraint, spread_match_keys, schema_strings(run, item->match_keys, item->n_match_keys))

#define SPREAD(X)                                                                                  \
    X("maxSkew", INT, spread_max_skew, "how far domains may differ")                               \
    X("topologyKey", TEXT(KEY_MAX_BYTES), spread_topology_key,                                     \
        "a label of nodes: a domain is a value of it")                                             \
    X("whenUnsatisfiable", TEXT(WORD_MAX_BYTES), spread_when, "DoNotSchedule or ScheduleAnyway")   \
    X("labelSelector", MAYBE_SELECTOR, spread_selector, "the pods that count; absent: none")       \
    X("minDomains", &cel_int_type, MAYBE, 0, spread_min_domains, "domains that there must be")     \
    X("nodeAffinityPolicy", TEXT(WORD_MAX_BYTES), spread_affinity_policy,                          \
        "Honor: only nodes that the pod selects count; or Ignore")                                 \
    X("nodeTaintsPolicy", TEXT(WORD_MAX_BYTES), spread_taints_policy,                              \
        "Honor: only nodes whose taints it tolerates count; or Ignore")                            \
    X("matchLabelKeys", TEXTS, spread_match_keys,                                                  \
        "labels that these pods have with the pod's value")
SCHEMA_RECORD(schema_spread_constraint, "TopologySpreadConstraint", SPREAD);
