#pragma once

/*
 * PodChoice: which pods count for a rule, and where they are looked for; the fields that
 * several kinds share.
 *
 *     podSelector: {matchLabels: {app: web}}
 *     sameOwner: true                    # those with the same controlling owner as the pod
 *     matchLabelKeys: [app]              # those with the pod's own value of that label
 *     namespaces: [team-a]               # ["*"]: all
 *     topologyKey: topology.kubernetes.io/zone
 *
 * What is given must all hold. A pod without an owner, or without a value of such a label, is like
 * no other: rules by sameOwner and matchLabelKeys are not about it.
 *
 * Without a topologyKey it is the pods of the node itself. A node without that label is in no
 * domain: it has no pods to look at, and what that means is each kind's own.
 */

#include <stdbool.h>

#include "base/buf.h"
#include "policy/reader.h"

/* The first member of what a kind reads its fields into. */
typedef struct PodChoice {
    bool has_selector;
    Selector selector;
    bool is_same_owner;
    const Str *label_keys;
    size_t n_label_keys;
    bool is_own_namespace; /* the pod's; the default of some kinds */
    const Str *namespaces; /* these; none: all */
    size_t n_namespaces;
    Str topology_key; /* empty: the node itself */
} PodChoice;

/* Rows of a kind's table of fields. */
#define POD_CHOICE_SELECTOR                                                                        \
    {                                                                                              \
        .name = STR("podSelector"), .shape = &shape_selector, .about = "pods with these labels",   \
        .read = pod_choice_read_selector,                                                          \
    }
#define POD_CHOICE_SAME_OWNER                                                                      \
    {                                                                                              \
        .name = STR("sameOwner"), .shape = &shape_true,                                            \
        .about = "pods with the same controlling owner as the pod",                                \
        .read = pod_choice_read_same_owner,                                                        \
    }
#define POD_CHOICE_LABEL_KEYS                                                                      \
    {                                                                                              \
        .name = STR("matchLabelKeys"), .shape = &shape_scalars,                                    \
        .about = "pods with the same values of these labels as the pod",                           \
        .read = pod_choice_read_label_keys,                                                        \
    }
#define POD_CHOICE_NAMESPACES                                                                      \
    {                                                                                              \
        .name = STR("namespaces"), .shape = &shape_scalars,                                        \
        .about = "pods of these namespaces; of all unless given",                                  \
        .read = pod_choice_read_namespaces,                                                        \
    }
#define POD_CHOICE_OWN_NAMESPACE /* with is_own_namespace set */                                   \
    {                                                                                              \
        .name = STR("namespaces"), .shape = &shape_scalars,                                        \
        .about = "pods of these namespaces, \"*\": of all; of the pod's own unless given",         \
        .read = pod_choice_read_namespaces,                                                        \
    }
#define POD_CHOICE_TOPOLOGY_KEY                                                                    \
    {                                                                                              \
        .name = STR("topologyKey"), .shape = &shape_string,                                        \
        .about = "a label: all nodes with the same value of it count together",                    \
        .read = pod_choice_read_topology_key,                                                      \
    }

void pod_choice_read_selector(PolicyReader *reader, const YamlNode *value, void *into);
void pod_choice_read_same_owner(PolicyReader *reader, const YamlNode *value, void *into);
void pod_choice_read_label_keys(PolicyReader *reader, const YamlNode *value, void *into);
void pod_choice_read_namespaces(PolicyReader *reader, const YamlNode *value, void *into);
void pod_choice_read_topology_key(PolicyReader *reader, const YamlNode *value, void *into);

/* Reports a choice that names neither a selector nor an owner nor labels; @what is the rule. */
void pod_choice_require(
    PolicyReader *reader, const YamlNode *value, const char *what, const PodChoice *choice);

/* --- writing ------------------------------------------------------------------ */

/* The condition on p, a pod that may count: reads p and the pod only. To stand on either side of
 * &&. Empty when every pod counts. */
void pod_choice_write_predicate(Buf *out, const PodChoice *choice);

/* Whether the rule is about the pod at all: it has an owner and those labels. Empty when it always
 * is. To stand on either side of &&. The second is the opposite, for ||. */
void pod_choice_write_concern(Buf *out, const PodChoice *choice);
void pod_choice_write_unconcern(Buf *out, const PodChoice *choice);

/* Whether the pod, if it is concerned, is itself one that counts. Empty when it always is. To
 * stand on either side of &&. */
void pod_choice_write_match(Buf *out, const PodChoice *choice);

/* "… || ": pods that the rule is not about, and with @counts those that do not count themselves.
 * Nothing if there are none. */
void pod_choice_write_unless(Buf *out, const PodChoice *choice, bool counts);

/* node.pods, or node.domain('key').pods. */
void pod_choice_write_place(Buf *out, const PodChoice *choice);

/* .filter(p, PREDICATE); nothing when every pod counts. */
void pod_choice_write_filter(Buf *out, const PodChoice *choice);

/* How many count: an int. */
void pod_choice_write_count(Buf *out, const PodChoice *choice);

/* "matching " when only some count. */
const char *pod_choice_adjective(const PodChoice *choice);

/* A text around the place, as an expression: '@before' 'there' '@after', or "in KEY VALUE" instead
 * of "there". */
void pod_choice_write_located(
    Buf *out, const PodChoice *choice, const char *before, const char *after);

/* 'key' in node.metadata.labels; there must be a topologyKey. */
void pod_choice_write_has_key(Buf *out, const PodChoice *choice);

/* The beginning of a message: "label KEY is absent" where it is, and otherwise what the caller
 * writes next. Nothing without a topologyKey. */
void pod_choice_write_unless_absent(Buf *out, const PodChoice *choice);
