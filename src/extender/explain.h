#pragma once

/*
 * Explain: a decision with its causes, for each node.
 *
 * Runs the same evaluation as filter and prioritize over every node of the view, then evaluates
 * each rule by itself. A pure function, like the verbs.
 *
 * Expensive details (the values that caused a rejection, the change that would avoid it, the parts
 * of an expression) are computed by separate calls.
 */

#include "extender/view.h"
#include "judge/main-reason.h"
#include "judge/probe.h"
#include "judge/remedy.h"
#include "model/pod.h"

typedef struct FailedRule {
    const Filter *filter;
    bool is_error;   /* its expression failed, and onError is reject */
    bool is_missing; /* a metric is absent, and onMissing is reject */
    Str detail; /* value and limit ("cpu: 100m would remain free, 500m required"), the error, or the
                   missing metric; empty: the rule has no message */
} FailedRule;

/* The score that a rule gives a node. */
typedef struct ScorePart {
    double raw;          /* the value of the expression */
    bool is_error;       /* it failed: @value is onError */
    bool is_missing;     /* a metric is absent: @value is onMissing */
    double value;        /* after onError, onMissing and normalize, 0..100 */
    double contribution; /* part of the node's score: value × weight / sum of weights */
} ScorePart;

typedef enum NodeOutcome {
    NODE_PASSED,
    NODE_NARROWED, /* passes, but others are better: filter does not return it */
    NODE_REJECTED,
} NodeOutcome;

#define EXPLAIN_NEVER 65536u

typedef struct NodeExplanation {
    Str node;
    uint32_t row;
    NodeOutcome outcome;
    const Filter *verdict; /* the filter that rejects the node; NULL: it passes */
    FailedRule *failed;    /* all rules that it fails, also in mode Observe */
    size_t n_failed;
    size_t n_acting;   /* of these, rules not in mode Observe */
    uint32_t distance; /* rules that reject it, plus 1 if it lacks a resource, plus EXPLAIN_NEVER if
                          it can never take the pod (judge/main-reason.h) */
    bool is_scored;    /* it is not rejected, and score rules apply */
    uint32_t rank;     /* among nodes that pass, by score, from 1; 0: rejected */
    double score;      /* 0..100 */
    unsigned wire_score; /* as sent to kube-scheduler */
    ScorePart *parts;    /* in the order of Explanation.scores */
} NodeExplanation;

/* Whether a policy applies to the pod, and if not, why. */
typedef enum PolicyFit {
    FIT_APPLIES,
    FIT_OTHER_NAMESPACE,
    FIT_OTHER_NAMESPACE_LABELS, /* namespaceSelector */
    FIT_OTHER_LABELS,
    FIT_EXPRESSION_FALSE,
    FIT_NAMESPACE_FAILED, /* this and the next set PolicyExplanation.error */
    FIT_EXPRESSION_FAILED,
} PolicyFit;

typedef struct PolicyExplanation {
    const Policy *policy;
    PolicyFit fit;
    Str error; /* FIT_NAMESPACE_FAILED, FIT_EXPRESSION_FAILED */
} PolicyExplanation;

/* A rule whose expression failed on some nodes: because of a missing metric, or for another
 * reason. */
typedef struct RuleErrors {
    const Filter *filter; /* either this or @score is NULL */
    const Score *score;
    bool is_missing; /* a metric was absent: onMissing decided, not onError */
    size_t n;
    Str node, text; /* the first node, and its error */
} RuleErrors;

typedef struct Explainer Explainer;

typedef struct Explanation {
    PolicyExplanation *policies; /* all policies */
    size_t n_policies;
    size_t n_applying;
    const Score **scores; /* score rules that apply */
    size_t n_scores;
    double weights;         /* sum of their weights */
    NodeExplanation *nodes; /* in the order of the cluster, or of @rows */
    size_t n_nodes;
    const NodeExplanation **ranking; /* nodes that pass, the best first */
    size_t n_passed;                 /* with the narrowed ones */
    size_t n_narrowed;
    uint32_t closest;   /* the least distance of a rejected node; UINT32_MAX: no node is rejected */
    uint32_t narrow_to; /* 0: filter returns all that pass */
    uint32_t wire_max;
    RuleErrors *errors;
    size_t n_errors;
    Explainer *explainer;
} Explanation;

/* Explains the decision for @pod at @now_nsec (since 1970), over all nodes, without a deadline; the
 * view's facts must not be late. *ret lies in @arena and borrows view and pod. 0, or -ENOMEM. */
int extender_explain(
    const View *view, int64_t now_nsec, const Pod *pod, Arena *arena, Explanation *ret);

/* Like extender_explain(), with only @rows (borrowed) as candidates; ret->nodes has their order. */
int extender_explain_rows(const View *view, int64_t now_nsec, const Pod *pod, const uint32_t *rows,
    size_t n, Arena *arena, Explanation *ret);

/* The main reason (judge/main-reason.h) of a filter for @pod over @rows of @node_set, which
 * view_adjust() has adjusted to the pod; ret->n_nodes is 0 if a node passes. 0, or -ENOMEM. */
int extender_main_reason(const View *view, const RequestTime *time, const NodeSet *node_set,
    const Pod *pod, const uint32_t *rows, size_t n, Arena *arena, MainReason *ret) MUST_CHECK;

/* Details of a rule that rejects a node. */
typedef struct FailureDetails {
    CelLeaf values[PROBE_VALUES_MAX]; /* the values that caused it */
    size_t n_values;
    Remedy remedies[REMEDIES_MAX]; /* changes that together would make the rule pass; may be none */
    size_t n_remedies;
} FailureDetails;

/* Fills @ret, in @arena. 0, or -ENOMEM. */
int explain_failure(const Explanation *explanation, const NodeExplanation *node,
    const FailedRule *failed, Arena *arena, FailureDetails *ret);

/* Stores the values that caused the result of an expression for a node, in @arena, in @ret, which
 * has room for PROBE_VALUES_MAX, and their number in @ret_n. 0, or -ENOMEM. */
int explain_values(const Explanation *explanation, const NodeExplanation *node,
    const Expression *expression, Arena *arena, CelLeaf *ret, size_t *ret_n);

/* The annotations of a bind to @node (judge_bind_annotations()). 0, or -ENOMEM. */
int explain_bind(const Explanation *explanation, const NodeExplanation *node, Arena *arena,
    BindValue **ret, size_t *ret_n);

/* Prints an expression with the value of each part (cel/explain.h). @arena is for temporary data.
 * 0, or -ENOMEM. */
int explain_expression(const Explanation *explanation, const NodeExplanation *node,
    const Expression *expression, bool colour, Arena *arena, Buf *out);
