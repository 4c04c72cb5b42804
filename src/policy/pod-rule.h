#pragma once

/*
 * PodRule: the common fields of rules by pods (kind-pods.c, kind-topology-spread.c). They select
 * the pods that count; all must match.
 *
 * Rules with sameOwner or matchLabelKeys do not apply to a pod without an owner or such a label.
 * Without a topologyKey the pods of the node count. A node without that label is in no domain, so
 * no pods count.
 *
 * Functions without a comment append a part of an expression or message.
 */

#include "policy/kind.h"

/* The fields of all kinds together. */
typedef struct PodRule {
    bool has_selector;
    Selector selector;
    bool is_same_owner;
    StrList label_keys;
    bool ignores_absent_keys; /* ignore label keys that the pod lacks */
    bool skips_terminating;   /* do not count pods with a deletionTimestamp */
    bool is_own_namespace;    /* only the pod's namespace */
    StrList namespaces;       /* empty: all */
    Str topology_key;         /* empty: only the node */

    int64_t limit;                           /* maxPods, maxFreshPods */
    unsigned per;                            /* maxPods */
    int64_t younger_than;                    /* maxFreshPods, in nanoseconds */
    int64_t max_skew;                        /* topologySpread */
    int64_t min_domains;                     /* topologySpread; 0: not given */
    unsigned affinity_policy, taints_policy; /* topologySpread */
    const YamlNode *node_labels;             /* topologySpread; NULL: not given */
    int64_t full;                            /* podPack */
} PodRule;

#define POD_COUNT_MAX 1000000            /* limit of numbers of pods in rules */
extern const Shape pod_rule_count_shape; /* 1 to POD_COUNT_MAX */
extern const Shape pod_rule_namespaces_shape;

#define FIELD_SELECTOR                                                                             \
    { OPTIONAL("podSelector"), INTO(PodRule, selector, shape_selector), "pods with these labels" }
#define FIELD_SAME_OWNER                                                                           \
    {                                                                                              \
        OPTIONAL("sameOwner"), INTO(PodRule, is_same_owner, shape_true),                           \
            "pods with the same controlling owner as the pod"                                      \
    }
#define FIELD_LABEL_KEYS                                                                           \
    {                                                                                              \
        OPTIONAL("matchLabelKeys"), INTO(PodRule, label_keys, shape_label_keys),                   \
            "pods with the same values of these labels as the pod"                                 \
    }
#define FIELD_NAMESPACES(text)                                                                     \
    { OPTIONAL("namespaces"), INTO(PodRule, namespaces, pod_rule_namespaces_shape), (text) }
#define FIELD_ALL_NAMESPACES FIELD_NAMESPACES("pods of these namespaces; default: all")
#define FIELD_OWN_NAMESPACE                                                                        \
    FIELD_NAMESPACES("pods of these namespaces, \"*\" for all; default: the pod's own")
#define FIELD_TOPOLOGY_KEY(text)                                                                   \
    { OPTIONAL("topologyKey"), INTO(PodRule, topology_key, shape_label_key), (text) }

/* Reads a mapping. With @is_own_namespace, the default is the pod's namespace, and a selection of
 * pods is required. */
PodRule pod_rule_read(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, bool is_own_namespace);

/* Reads the value of maxPods: a mapping, or only the limit. */
PodRule max_pods_read(YamlReader *reader, const YamlNode *value);

/* Appends the condition that the pod p counts; nothing if every pod counts. */
void pod_rule_predicate(Buf *out, const PodRule *rule);

/* Appends .filter(p, PREDICATE); nothing if every pod counts. */
void pod_rule_filter(Buf *out, const PodRule *rule);

/* Appends the condition that the rule applies to the pod, by its owner and labels (@op "!="), or
 * that it does not (@op "=="). Nothing if it always applies. */
void pod_rule_applies(Buf *out, const PodRule *rule, const char *op);

/* Appends the condition that the pod itself counts; nothing if it always does. */
void pod_rule_match(Buf *out, const PodRule *rule);

/* Appends "… || ", true for pods to which the rule does not apply, and with @counts for pods that
 * do not count themselves. */
void pod_rule_unless(Buf *out, const PodRule *rule, bool counts);

void pod_rule_pods(Buf *out, const PodRule *rule);
void pod_rule_count(Buf *out, const PodRule *rule);
void pod_rule_has_key(Buf *out, const PodRule *rule, const char *after);

/* For messages: "@before on the node@after", or "@before in KEY VALUE@after". */
void pod_rule_where(Buf *out, const PodRule *rule, const char *before, const char *after);

/* Appends the start of a message, for nodes without the topologyKey. */
void pod_rule_unless_absent(Buf *out, const PodRule *rule);

/* "matching " if not all pods count; else "". */
const char *pod_rule_adjective(const PodRule *rule);
void pod_rule_counted_message(Buf *out, const PodRule *rule, const char *before, const char *after);
