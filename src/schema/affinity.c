/* Affinity and topology spread constraints of pods as values, as their spec has them. */

#include "schema/schema-internal.h"

#define EXPRESSION(X)                                                                              \
    X(key, KEY(item->key), "of a label; in matchFields metadata.name")                             \
    X(operator, WORD(item->operator), "In, NotIn, Exists, DoesNotExist; of nodes also Gt, Lt")     \
    X(values, STRINGS(LABELS_ASSUMED, item->values, item->n_values), "its values")
SCHEMA_RECORD(
    schema_match_expression, "LabelSelectorRequirement", ITEM(MatchExpression), EXPRESSION);
SCHEMA_LIST_TYPE(expressions_type, &schema_match_expression.of);

#define EXPRESSIONS(of, member) ITEMS(schema_match_expression, (of)->member, (of)->n_##member)

#define SELECTOR(X)                                                                                \
    X(matchLabels, LABELS(item->labels), "labels with these values")                               \
    X(matchExpressions, VALUE(expressions_type, AFFINITY_ITEMS_MAX),                               \
        EXPRESSIONS(item, expressions), "and these conditions")
SCHEMA_RECORD(schema_label_selector, "LabelSelector", ITEM(LabelSelector), SELECTOR);

static CelValue selector(CelRun *run, const LabelSelector *of) {
    return of->is_given ? schema_item(run, &schema_label_selector, of) : cel_absent();
}

#define MAYBE_SELECTOR &schema_label_selector.of, MAYBE, 0

#define NODE_TERM(X)                                                                               \
    X(matchExpressions, VALUE(expressions_type, AFFINITY_ITEMS_MAX),                               \
        EXPRESSIONS(item, expressions), "conditions on labels of the node")                        \
    X(matchFields, VALUE(expressions_type, AFFINITY_ITEMS_MAX), EXPRESSIONS(item, fields),         \
        "conditions on its name")
SCHEMA_RECORD(schema_node_term, "NodeSelectorTerm", ITEM(NodeSelectorTerm), NODE_TERM);
SCHEMA_LIST_TYPE(node_terms_type, &schema_node_term.of);

#define PREFERENCE(X)                                                                              \
    X(weight, NUMBER(item->weight), "1 to 100")                                                    \
    X(preference, RECORD(schema_node_term, item), "the nodes")
SCHEMA_RECORD(
    schema_node_preference, "PreferredSchedulingTerm", ITEM(NodeSelectorTerm), PREFERENCE);
SCHEMA_LIST_TYPE(node_preferences_type, &schema_node_preference.of);

#define NODE_SELECTOR(X)                                                                           \
    X(nodeSelectorTerms, VALUE(node_terms_type, AFFINITY_ITEMS_MAX),                               \
        ITEMS(schema_node_term, item->node_required, item->n_node_required),                       \
        "one of them must match; empty: nothing is required")
SCHEMA_RECORD(schema_node_selector, "NodeSelector", ITEM(PodAffinity), NODE_SELECTOR);

#define NODE_AFFINITY(X)                                                                           \
    X(requiredDuringSchedulingIgnoredDuringExecution, RECORD(schema_node_selector, item),          \
        "nodes that it can run on; pod.selects(node) tests them")                                  \
    X(preferredDuringSchedulingIgnoredDuringExecution,                                             \
        VALUE(node_preferences_type, AFFINITY_ITEMS_MAX),                                          \
        ITEMS(schema_node_preference, item->node_preferred, item->n_node_preferred),               \
        "nodes that it prefers")
SCHEMA_RECORD(schema_node_affinity, "NodeAffinity", ITEM(PodAffinity), NODE_AFFINITY);

#define TEXTS VALUE(schema_strings_type, AFFINITY_ITEMS_MAX)
#define POD_TERM(X)                                                                                \
    X(labelSelector, MAYBE_SELECTOR, selector(run, &item->selector), "the pods; absent: none")     \
    X(namespaceSelector, MAYBE_SELECTOR, selector(run, &item->namespace_selector),                 \
        "their namespaces; absent: namespaces alone")                                              \
    X(namespaces, TEXTS, schema_strings(run, item->namespaces, item->n_namespaces),                \
        "their namespaces; if there is no namespaceSelector either, the pod's own")                \
    X(topologyKey, KEY(item->topology_key), "a label of nodes: near is the same value")            \
    X(matchLabelKeys, TEXTS, schema_strings(run, item->match_keys, item->n_match_keys),            \
        "labels that these pods have with the pod's value")                                        \
    X(mismatchLabelKeys, TEXTS, schema_strings(run, item->mismatch_keys, item->n_mismatch_keys),   \
        "labels that these pods have with another value")
SCHEMA_RECORD(schema_pod_term, "PodAffinityTerm", ITEM(PodAffinityTerm), POD_TERM);
SCHEMA_LIST_TYPE(pod_terms_type, &schema_pod_term.of);

#define WEIGHTED(X)                                                                                \
    X(weight, NUMBER(item->weight), "1 to 100")                                                    \
    X(podAffinityTerm, RECORD(schema_pod_term, item), "the pods")
SCHEMA_RECORD(schema_weighted_pod_term, "WeightedPodAffinityTerm", ITEM(PodAffinityTerm), WEIGHTED);
SCHEMA_LIST_TYPE(weighted_pod_terms_type, &schema_weighted_pod_term.of);

#define POD_AFFINITY_OF(X)                                                                         \
    X(requiredDuringSchedulingIgnoredDuringExecution, VALUE(pod_terms_type, AFFINITY_ITEMS_MAX),   \
        ITEMS(schema_pod_term, item->required, item->n_required), "all of them must hold")         \
    X(preferredDuringSchedulingIgnoredDuringExecution,                                             \
        VALUE(weighted_pod_terms_type, AFFINITY_ITEMS_MAX),                                        \
        ITEMS(schema_weighted_pod_term, item->preferred, item->n_preferred),                       \
        "the more hold, the better")
SCHEMA_RECORD(schema_pod_affinity, "PodAffinity", ITEM(PodAffinityTerms), POD_AFFINITY_OF);

#define AFFINITY(X)                                                                                \
    X(nodeAffinity, RECORD(schema_node_affinity, item), "to nodes")                                \
    X(podAffinity, RECORD(schema_pod_affinity, &item->pods), "pods that it should run near")       \
    X(podAntiAffinity, RECORD(schema_pod_affinity, &item->anti), "pods that it should not run near")
SCHEMA_RECORD(schema_affinity, "Affinity", ITEM(PodAffinity), AFFINITY);

CelValue schema_affinity_of(CelRun *run, const PodAffinity *affinity) {
    static const PodAffinity none;

    return schema_item(run, &schema_affinity, affinity ? affinity : &none);
}

static CelValue word(Str text, Str otherwise) {
    return schema_text(str_is_empty(text) ? otherwise : text);
}

#define SPREAD(X)                                                                                  \
    X(maxSkew, NUMBER(item->max_skew), "how far domains may differ")                               \
    X(topologyKey, KEY(item->topology_key), "a label of nodes: a domain is a value of it")         \
    X(whenUnsatisfiable, TEXT(WORD_MAX_BYTES),                                                     \
        word(item->when_unsatisfiable, STR("DoNotSchedule")), "DoNotSchedule or ScheduleAnyway")   \
    X(labelSelector, MAYBE_SELECTOR, selector(run, &item->selector),                               \
        "the pods that count; absent: none")                                                       \
    X(minDomains, &cel_int_type, MAYBE, 0,                                                         \
        item->min_domains > 0 ? cel_int(item->min_domains) : cel_absent(),                         \
        "domains that there must be")                                                              \
    X(nodeAffinityPolicy, TEXT(WORD_MAX_BYTES), word(item->node_affinity_policy, STR("Honor")),    \
        "Honor: only nodes that the pod selects count; or Ignore")                                 \
    X(nodeTaintsPolicy, TEXT(WORD_MAX_BYTES), word(item->node_taints_policy, STR("Ignore")),       \
        "Honor: only nodes whose taints it tolerates count; or Ignore")                            \
    X(matchLabelKeys, TEXTS, schema_strings(run, item->match_keys, item->n_match_keys),            \
        "labels that these pods have with the pod's value")
SCHEMA_RECORD(schema_spread_constraint, "TopologySpreadConstraint", ITEM(SpreadConstraint), SPREAD);
