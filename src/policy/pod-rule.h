#pragma once

/*
 * PodRule: the fields that the rules by pods share (kind-pods.c, kind-topology-spread.c). They
 * select the pods that count; all of them must hold.
 *
 * Rules by sameOwner and matchLabelKeys do not apply to a pod without an owner, or without such a
 * label. Without a topologyKey the pods of the node itself count. A node without that label is in
 * no domain, and has no pods to count.
 *
 * Functions without a comment write a part of an expression or message.
 */

#include "policy/kind.h"

/* The fields of any of the kinds. */
typedef struct PodRule {
    bool has_selector;
    Selector selector;
    bool is_same_owner;
    StrList label_keys;
    bool ignores_absent_keys; /* label keys that the pod lacks: they select nothing */
    bool skips_terminating;   /* pods with a deletionTimestamp do not count */
    bool is_own_namespace;    /* the pod's; the default of some kinds */
    StrList namespaces;       /* empty: all */
    Str topology_key;         /* empty: the node itself */

    int64_t limit;                           /* maxPods, maxFreshPods */
    unsigned per;                            /* maxPods */
    int64_t younger_than;                    /* maxFreshPods, in nanoseconds */
    int64_t max_skew;                        /* topologySpread */
    int64_t min_domains;                     /* topologySpread; 0: not given */
    unsigned affinity_policy, taints_policy; /* topologySpread */
    const YamlNode *node_labels;             /* topologySpread; NULL: not given */
    int64_t full;                            /* podPack */
} PodRule;

#define POD_COUNT_MAX 1000000            /* of any number of pods in a rule */
extern const Shape pod_rule_count_shape; /* 1 to that */
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

/* Reads a mapping. With @is_own_namespace other namespaces must be named explicitly, and so must a
 * selection of pods. */
PodRule pod_rule_read(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, bool is_own_namespace);

/* The value of maxPods: a mapping, or the limit alone. */
PodRule max_pods_read(YamlReader *reader, const YamlNode *value);

/* The condition on p, a pod that may count. Empty when every pod counts. */
void pod_rule_predicate(Buf *out, const PodRule *rule);

/* .filter(p, PREDICATE); nothing when every pod counts. */
void pod_rule_filter(Buf *out, const PodRule *rule);

/* Whether the rule applies to the pod: it has an owner and those labels (@op "!=", joined by &&);
 * or whether it does not ("==", joined by ||). Empty when it always applies. */
void pod_rule_applies(Buf *out, const PodRule *rule, const char *op);

/* Whether the pod itself is one that counts. Empty when it always is. */
void pod_rule_match(Buf *out, const PodRule *rule);

/* "… || " for pods that the rule does not apply to, and with @counts for those that do not count
 * themselves. */
void pod_rule_unless(Buf *out, const PodRule *rule, bool counts);

void pod_rule_pods(Buf *out, const PodRule *rule);
void pod_rule_count(Buf *out, const PodRule *rule);
void pod_rule_has_key(Buf *out, const PodRule *rule, const char *after);

/* For messages: "@before on the node@after", or "in KEY VALUE". */
void pod_rule_where(Buf *out, const PodRule *rule, const char *before, const char *after);

/* The beginning of a message: for nodes without the topologyKey. */
void pod_rule_unless_absent(Buf *out, const PodRule *rule);

/* "matching ", if not all pods count. */
const char *pod_rule_adjective(const PodRule *rule);
void pod_rule_counted_message(Buf *out, const PodRule *rule, const char *before, const char *after);
