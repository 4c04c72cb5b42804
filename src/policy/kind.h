#pragma once

/*
 * Kind: a built-in rule, as plain fields of a policy file instead of an expression.
 *
 *     headroom: {cpu: 500m}   ->   node.free.milliCPU >= pod.requests.milliCPU + 500.0
 *
 * A kind is a row in a table: the field that names it, the shape of what stands there, and a
 * function that writes the CEL expression it stands for. That text is compiled like
 * one that a person wrote: one evaluator, one explanation, and `berth check --print-cel`
 * shows it.
 *
 * A filter's expression is true where a pod may go; a score's is a double from 0.0 to 100.0.
 * Neither ever ends in an error, whatever the node has or lacks; but those of metrics do where the
 * value is absent, since the rule's onMissing says what counts then.
 *
 * The message of a filter, which explain shows for a node that failed, is an expression too: a
 * string that tells which value met which limit ("cpu: 100m would be left, 500m must be").
 */

#include "base/buf.h"
#include "base/str.h"
#include "policy/reader.h"
#include "policy/shape.h"
#include "yaml/document.h"

#define KIND_TEXT_MAX ((size_t)10 * 1024) /* CEL_SOURCE_MAX: what one rule may become */

typedef struct RuleText {
    Buf expression;
    Buf message; /* filters; empty: none */
} RuleText;

struct RuleKind {
    Str field;
    const char *summary; /* for people: what it asks of a node, or what it prefers */
    const Shape *shape;

    /* Reads @value, reports what is wrong with it to the reader, and writes the text. */
    void (*write)(PolicyReader *reader, const YamlNode *value, RuleText *ret);
};

/* All kinds, in the order they are documented. */
extern const RuleKind *const filter_kinds[];
extern const size_t n_filter_kinds;
extern const RuleKind *const score_kinds[];
extern const size_t n_score_kinds;

/* Filters. */
extern const RuleKind kind_node_labels;
extern const RuleKind kind_node_annotations;
extern const RuleKind kind_node_ready;
extern const RuleKind kind_node_conditions;
extern const RuleKind kind_no_taints;
extern const RuleKind kind_tolerations;
extern const RuleKind kind_dedicated;
extern const RuleKind kind_node_age_range;
extern const RuleKind kind_headroom;
extern const RuleKind kind_max_pods;
extern const RuleKind kind_max_fresh_pods;
extern const RuleKind kind_pod_affinity;
extern const RuleKind kind_pod_anti_affinity;
extern const RuleKind kind_topology_spread;
extern const RuleKind kind_metric_limit;

/* Scores. */
extern const RuleKind kind_bin_pack;
extern const RuleKind kind_spread;
extern const RuleKind kind_balance;
extern const RuleKind kind_node_label_preference;
extern const RuleKind kind_label_order;
extern const RuleKind kind_label_number;
extern const RuleKind kind_node_age;
extern const RuleKind kind_image_locality;
extern const RuleKind kind_pod_spread;
extern const RuleKind kind_pod_pack;
extern const RuleKind kind_metric_score;

/* --- for the kinds --------------------------------------------------------------- */

/* `nodeReady: true`: a rule with nothing to say but that it is wanted. Anything but true is
 * reported. */
void kind_read_switch(PolicyReader *reader, const YamlNode *value, const char *what);

/* The field `prefer` of scores by a number: low or high; what is neither is reported. */
void kind_read_prefer(PolicyReader *reader, const YamlNode *value, bool *ret_is_low);
extern const Shape kind_prefer_shape;
