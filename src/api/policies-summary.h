#pragma once

/*
 * PoliciesSummary: the effect and the cost of each policy and rule.
 *
 * Counters are those of /metrics. Two things are computed on request, by evaluating the
 * program in force once more (never on the path of a decision):
 *
 *   only blocker   of the pods that wait now, how many have a node that fails this policy (this
 *                  rule) and no other, and has the resources that they request, among the nodes of
 *                  their last filter. Never of a policy in
 *                  mode Observe, nor for a pod that some node would take by now
 *   cost           processor time of evaluating a rule by itself over all nodes, for some recent
 *                  pods: the median. Rules that read the node alone cost a lookup
 *
 * The first looks at POLICIES_SUMMARY_PODS_MAX pods at most; both stop after @cpu_nsec.
 */

#include "base/arena.h"

typedef struct ApiContext ApiContext;

#define POLICIES_SUMMARY_PODS_MAX 50u
#define POLICIES_SUMMARY_CPU_NSEC (500 * NSEC_PER_MSEC) /* for a page; the rest is left out */

typedef struct RuleSummary {
    Str name, kind, reason; /* kind: "expression", "nodeLabels", … */
    bool is_filter;
    uint64_t n_rejected, n_observed, n_failed, n_missing; /* nodes, since the start */
    size_t n_only_blocker;                                /* pods that wait now */
    double weight;                                        /* of a score */
    double cost_nsec;                                     /* a node; NaN: not measured */
} RuleSummary;

typedef struct PolicySummary {
    Str name, file;
    uint32_t line;
    bool is_observed;
    uint64_t n_matched, n_rejected_all, n_rejected; /* filters, of these, and nodes; in mode
                                                       Observe: that it would have rejected */
    size_t n_only_blocker;
    double cost_nsec;     /* a node, its filters together; NaN: not measured */
    int64_t matched_nsec; /* since 1970: the newest of n_matched; 0: none */
    RuleSummary *rules;   /* its filters, then its scores */
    size_t n_rules;
} PolicySummary;

typedef struct PoliciesSummary {
    PolicySummary *policies; /* in the order of the program */
    size_t n;
    size_t n_waiting;   /* pods that wait */
    size_t n_looked_at; /* of these, those that "only blocker" is about */
    bool is_whole;      /* false: time was up */
} PoliciesSummary;

/* In @arena, in @cpu_nsec of this thread. 0, or -ENOMEM. */
int policies_summary_make(ApiContext *api, int64_t cpu_nsec, Arena *arena, PoliciesSummary *ret)
    MUST_CHECK;
