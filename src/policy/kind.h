#pragma once

/*
 * RuleKind: a built-in rule, written as plain fields instead of an expression.
 *
 *     headroom: {cpu: 500m}   ->   node.free.milliCPU >= pod.requests.milliCPU + 500.0
 *
 * A kind is a row in a table: its field, the shape of its value, and the CEL it generates. That
 * text is compiled and explained like a user's expression, and `berth check --print-cel` prints it.
 *
 * A filter's expression is true on nodes that pass; a score's is a double from 0.0 to 100.0.
 * Evaluation only fails if a metric is absent: then onMissing decides.
 *
 * The message of a filter is a string expression: explain shows it for a rejected node ("cpu: 100m
 * would remain free, 500m required").
 */

#include "policy/reader.h"

#define KIND_TEXT_MAX ((size_t)10 * 1024) /* CEL_SOURCE_MAX: the text of one rule */

typedef struct RuleText {
    Buf expression;
    Buf message;           /* filters; empty: none */
    const YamlNode *rules; /* the list with the rule; NULL: none */
} RuleText;

#define RULE_TEXT_INIT                                                                             \
    { .expression = BUF_INIT(KIND_TEXT_MAX), .message = BUF_INIT(KIND_TEXT_MAX) }
static inline void rule_text_done(RuleText *text) {
    buf_done(&text->expression);
    buf_done(&text->message);
}

struct RuleKind {
    Str field;
    const char *summary; /* for users: what it requires or prefers */
    const Shape *shape;

    /* Reads @value, reports its errors, and writes the CEL text. */
    void (*write)(YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret);
    /* Instead of @write, for a mapping whose entries must all hold (cel-text.h). */
    const struct TextPart *part;
    /* Instead of both, for a switch (`nodeReady: true`): the text itself. */
    const char *expression, *message;
};

/* All kinds, in the order of the documentation. */
extern const RuleKind *const filter_kinds[];
extern const size_t n_filter_kinds;
extern const RuleKind *const score_kinds[];
extern const size_t n_score_kinds;

void kind_write(YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret);

/* Appends the expression of a filter of @kind, after " && " if @out is not empty. */
void kind_write_condition(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, Buf *out);

/* Like kind_write_condition(), for each filter of @kind in the list @rules. Reports no errors:
 * rules are reported when they are read themselves. */
void kind_write_conditions(
    YamlReader *reader, const RuleKind *kind, const YamlNode *rules, Buf *out);

/* kind-node.c */
extern const RuleKind kind_node_ready, kind_node_conditions, kind_tolerations, kind_no_taints;
extern const RuleKind kind_node_age_range; /* the filter */
extern const RuleKind kind_node_age;       /* the score */
extern const RuleKind kind_image_locality;

/* kind-labels.c */
extern const RuleKind kind_node_labels, kind_node_annotations, kind_dedicated;
extern const RuleKind kind_node_label_preference, kind_label_order, kind_label_number;
extern const Shape kind_label_conditions_shape; /* the value of nodeLabels */

/* kind-resources.c */
extern const RuleKind kind_headroom, kind_bin_pack, kind_spread, kind_balance;

/* kind-pods.c */
extern const RuleKind kind_max_pods, kind_max_fresh_pods, kind_pod_affinity;
extern const RuleKind kind_pod_anti_affinity, kind_pod_spread, kind_pod_pack;

/* kind-topology-spread.c, kind-pool-headroom.c */
extern const RuleKind kind_topology_spread, kind_pool_headroom;

/* kind-metric.c */
extern const RuleKind kind_metric_limit, kind_metric_score;

/* The field `prefer` of scores. */
typedef enum Preferred { PREFER_LOW, PREFER_HIGH } Preferred;
extern const Shape kind_prefer_shape;
