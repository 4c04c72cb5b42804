#pragma once

/*
 * Explain: a decision with everything that led to it, per node.
 *
 * Runs the same evaluation as filter and prioritize over every node of the view, then evaluates
 * each rule by itself. Pure, like the verbs.
 *
 * Expensive details (which values caused a rejection, which change would avoid it, an expression
 * part by part) are computed on request.
 */

#include "extender/view.h"
#include "judge/main-reason.h"
#include "judge/probe.h"
#include "judge/remedy.h"
#include "model/pod.h"

typedef struct FailedRule {
    const Filter *filter;
    bool is_error;   /* its expression failed, and onError is reject */
    bool is_missing; /* it failed since a metric is absent, and onMissing is reject */
    Str detail; /* which value against which limit: "cpu: 100m would remain free, 500m required";
                   or the error; or which metric is missing. Empty: the rule has no message */
} FailedRule;

/* The score that a rule gives a node. */
typedef struct ScorePart {
    double raw;          /* the value of the expression */
    bool is_error;       /* it failed: onError counts */
    bool is_missing;     /* it failed since a metric is absent: onMissing counts */
    double value;        /* after onError, onMissing and normalize, 0..100 */
    double contribution; /* to the node's score: by its weight among all */
} ScorePart;

typedef enum NodeOutcome {
    NODE_PASSED,
    NODE_NARROWED, /* it passes, but others are better: not offered back */
    NODE_REJECTED,
} NodeOutcome;

#define EXPLAIN_NEVER 65536u

typedef struct NodeExplanation {
    Str node;
    uint32_t row;
    NodeOutcome outcome;
    const Filter *verdict; /* the filter that rejects the node; NULL: it passes */
    FailedRule *failed;    /* every rule it fails, those of mode Observe included */
    size_t n_failed;
    size_t n_acting;     /* of those, the ones that are not in mode Observe */
    uint32_t distance;   /* of a rejected node from eligible, as the main reason counts it
                            (judge/main-reason.h): blockers, and EXPLAIN_NEVER if it can never take
                            the pod */
    bool is_scored;      /* it passes, and score rules apply */
    uint32_t rank;       /* among those that pass, from 1, by score; of equals the first; or 0 */
    double score;        /* 0..100 */
    unsigned wire_score; /* as sent to kube-scheduler */
    ScorePart *parts;    /* by Explanation.scores */
} NodeExplanation;

/* Whether a policy is for the pod, and why not. */
typedef enum PolicyFit {
    FIT_APPLIES,
    FIT_OTHER_NAMESPACE,
    FIT_OTHER_NAMESPACE_LABELS, /* namespaceSelector */
    FIT_OTHER_LABELS,
    FIT_EXPRESSION_FALSE,
    FIT_NAMESPACE_FAILED, /* it and the next have an error */
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
    const Filter *filter; /* one of both is NULL */
    const Score *score;
    bool is_missing; /* onMissing decided, and not onError */
    size_t n;
    Str node, text; /* the first */
} RuleErrors;

typedef struct Explainer Explainer;

typedef struct Explanation {
    PolicyExplanation *policies; /* all there are */
    size_t n_policies;
    size_t n_applying;
    const Score **scores; /* those that apply */
    size_t n_scores;
    double weights;         /* sum of their weights */
    NodeExplanation *nodes; /* in the order of the cluster, or of the rows given */
    size_t n_nodes;
    const NodeExplanation **ranking; /* those that pass, the best first */
    size_t n_passed;                 /* those left out by narrowing included */
    size_t n_narrowed;
    uint32_t closest;   /* the least distance of a rejected node; UINT32_MAX: none is */
    uint32_t narrow_to; /* 0: all that pass go back */
    uint32_t wire_max;
    RuleErrors *errors;
    size_t n_errors;
    Explainer *explainer;
} Explanation;

/* As of @now_nsec, since 1970, and without a deadline: every node is judged, so the view's facts
 * must not be late. In @arena; view, pod and arena must outlive it. 0, or -ENOMEM. */
int extender_explain(
    const View *view, int64_t now_nsec, const Pod *pod, Arena *arena, Explanation *ret);

/* The same as if the cluster had only the nodes in @rows, which must outlive the arena: ranks and
 * normalized scores are among these. The nodes are in the order of @rows. */
int extender_explain_rows(const View *view, int64_t now_nsec, const Pod *pod, const uint32_t *rows,
    size_t n, Arena *arena, Explanation *ret);

/* The main reason (judge/main-reason.h) of a filter for @pod over @rows of @node_set, which was
 * adjusted to the pod; ret->n_nodes is 0 if a node passes. 0, or -ENOMEM. */
int extender_main_reason(const View *view, const RequestTime *time, const NodeSet *node_set,
    const Pod *pod, const uint32_t *rows, size_t n, Arena *arena, MainReason *ret) MUST_CHECK;

/* Why a rule fails a node, in full. In the arena given. */
typedef struct FailureDetails {
    CelLeaf values[PROBE_VALUES_MAX]; /* those that led to it */
    size_t n_values;
    Remedy remedies[REMEDIES_MAX]; /* what, all together, would make the rule pass; none: unknown */
    size_t n_remedies;
} FailureDetails;

/* 0, or -ENOMEM. */
int explain_failure(const Explanation *explanation, const NodeExplanation *node,
    const FailedRule *failed, Arena *arena, FailureDetails *ret);

/* The values that led to what an expression gives a node: into @ret, which has room for
 * PROBE_VALUES_MAX; how many through @ret_n. 0, or -ENOMEM. */
int explain_values(const Explanation *explanation, const NodeExplanation *node,
    const Expression *expression, Arena *arena, CelLeaf *ret, size_t *ret_n);

/* The annotations of a bind to that node (judge/judge.h). 0, or -ENOMEM. */
int explain_bind(const Explanation *explanation, const NodeExplanation *node, Arena *arena,
    BindValue **ret, size_t *ret_n);

/* An expression with the value of each part (cel/explain.h). @arena is for temporary data. 0, or
 * -ENOMEM. */
int explain_expression(const Explanation *explanation, const NodeExplanation *node,
    const Expression *expression, bool colour, Arena *arena, Buf *out);
