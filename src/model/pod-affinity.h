#pragma once

/*
 * PodAffinity: a pod's affinity and topology spread constraints as its spec has them, for policies
 * that read them. kube-scheduler applies them; berth itself matches only required node affinity
 * (model/node-affinity.h).
 */

#include "model/labels.h"

/* Per pod; beyond that the rest is left out. */
#define AFFINITY_ITEMS_MAX 256u   /* of any list but values */
#define AFFINITY_VALUES_MAX 4096u /* of one expression */

typedef struct MatchExpression {
    Str key, operator;
    const Str *values;
    size_t n_values;
    bool is_cut; /* there were more */
} MatchExpression;

typedef struct LabelSelector {
    bool is_given;
    Labels labels;
    const MatchExpression *expressions;
    size_t n_expressions;
} LabelSelector;

typedef struct NodeSelectorTerm {
    int64_t weight; /* of a preferred one; else 0 */
    const MatchExpression *expressions, *fields;
    size_t n_expressions, n_fields;
    bool is_cut; /* there were more of either */
} NodeSelectorTerm;

typedef struct PodAffinityTerm {
    int64_t weight; /* of a preferred one; else 0 */
    Str topology_key;
    LabelSelector selector, namespace_selector;
    const Str *namespaces, *match_keys, *mismatch_keys;
    size_t n_namespaces, n_match_keys, n_mismatch_keys;
} PodAffinityTerm;

/* podAffinity, or podAntiAffinity. */
typedef struct PodAffinityTerms {
    const PodAffinityTerm *required, *preferred;
    size_t n_required, n_preferred;
} PodAffinityTerms;

typedef struct PodAffinity {
    bool is_node_required;     /* nodeAffinity.required… is there, perhaps empty */
    bool is_node_required_cut; /* there were more terms */
    const NodeSelectorTerm *node_required, *node_preferred;
    size_t n_node_required, n_node_preferred;
    PodAffinityTerms pods, anti;
} PodAffinity;

typedef struct SpreadConstraint {
    Str topology_key, when_unsatisfiable, node_affinity_policy, node_taints_policy;
    int64_t max_skew, min_domains; /* min_domains 0: not given */
    LabelSelector selector;
    const Str *match_keys;
    size_t n_match_keys;
} SpreadConstraint;

/* The value of spec.affinity. Errors are the reader's. */
void pod_affinity_decode(JsonReader *reader, Arena *arena, PodAffinity *ret);

/* The required terms of a node affinity into a PodAffinity; and a preferred one into a
 * NodeSelectorTerm. */
JsonRead node_required_decode, node_preference_decode;

/* An item of spec.topologySpreadConstraints, into a SpreadConstraint. */
JsonRead spread_constraint_decode;
