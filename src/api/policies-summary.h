#pragma once

/*
 * PoliciesSummary: the effect and the cost of each policy and rule.
 *
 * The counters are those of /metrics. Two values are computed on request, by evaluating the program
 * in force again (never on the path of a decision):
 *
 *   only blocker   pending pods with a candidate node that fails only this policy (this rule) and
 *                  has room for their requests. Not for policies in mode Observe, nor for pods that
 *                  some node would take by now
 *   cost           CPU time of evaluating a rule by itself over all nodes: the median of some
 *                  recent pods. Rules that read only the node cost a lookup
 *
 * The first evaluates at most POLICIES_SUMMARY_PODS_MAX pods; both stop after @cpu_nsec.
 */

#include "base/arena.h"

typedef struct ApiContext ApiContext;

#define POLICIES_SUMMARY_PODS_MAX 50u
#define POLICIES_SUMMARY_CPU_NSEC (500 * NSEC_PER_MSEC) /* per page; the rest is left out */

typedef struct RuleSummary {
    Str name, kind, reason; /* kind: "expression", "nodeLabels", … */
    bool is_filter;
    uint64_t n_rejected, n_observed, n_failed, n_missing; /* nodes, since the start */
    size_t n_only_blocker;                                /* pending pods */
    double weight;                                        /* of a score */
    double cost_nsec;                                     /* per node; NaN: not measured */
} RuleSummary;

typedef struct PolicySummary {
    Str name, file;
    uint32_t line;
    bool is_observed;
    uint64_t n_matched, n_rejected_all, n_rejected; /* filters, of these, and nodes (in mode
                                                       Observe: that would be rejected) */
    size_t n_only_blocker;
    double cost_nsec;     /* per node, all its filters; NaN: not measured */
    int64_t matched_nsec; /* since 1970: the newest of n_matched; 0: none */
    RuleSummary *rules;   /* its filters, then its scores */
    size_t n_rules;
} PolicySummary;

typedef struct PoliciesSummary {
    PolicySummary *policies; /* in the order of the program */
    size_t n;
    size_t n_waiting;   /* pending pods */
    size_t n_looked_at; /* of these: evaluated for "only blocker" */
    bool is_whole;      /* false: time was up */
} PoliciesSummary;

/* Makes the summary in @arena, with @cpu_nsec of this thread. 0, or -ENOMEM. */
int policies_summary_make(ApiContext *api, int64_t cpu_nsec, Arena *arena, PoliciesSummary *ret)
    MUST_CHECK;
