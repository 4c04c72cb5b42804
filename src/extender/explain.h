#pragma once

/*
 * Explain: a decision with everything that led to it, per node.
 *
 * Runs the same evaluation as filter and prioritize over every node of the view,
 * then asks each rule by itself for its part. Pure, like the verbs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "extender/view.h"
#include "model/pod.h"

typedef struct FailedRule {
    const Filter *filter;
    Str detail; /* which value against which limit: "cpu: 100m would be left, 500m must be" */
} FailedRule;

typedef struct NodeExplanation {
    Str node;
    const Filter *verdict; /* the filter that speaks against the node; NULL: it passes */
    FailedRule *failed;    /* every rule it fails, those of mode Observe included */
    size_t n_failed;
    bool is_scored;      /* it passes, and score rules apply */
    double score;        /* 0..100 */
    unsigned wire_score; /* what kube-scheduler is told, 0..10 */
    double *parts;       /* by Explanation.scores: the rule's own value, 0..100 */
} NodeExplanation;

typedef struct Explanation {
    const Policy **policies; /* those that match the pod */
    size_t n_policies;
    const Score **scores; /* those that apply */
    size_t n_scores;
    double weights;         /* sum of their weights */
    NodeExplanation *nodes; /* in the order of the cluster */
    size_t n_nodes;
    size_t n_passed;
} Explanation;

/* 0, or -ENOMEM. */
int extender_explain(
    const View *view, const Moment *moment, const Pod *pod, Arena *arena, Explanation *ret);
