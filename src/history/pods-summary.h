#pragma once

/*
 * PodsSummary: decisions grouped by pod.
 *
 * The history (history/decisions.h) is a list of answers; users ask about pods. A pod's attempts
 * are its filters, each with the prioritize, preempt and bind that followed it. A pod is pending if
 * no node passed its last filter, no bind followed, and no watch showed its end. kube-scheduler
 * retries it within five minutes.
 *
 * Threads: any; a summary holds only references, released by pods_summary_done().
 */

#include "history/decisions.h"
#include "history/recent-pods.h"

#define PODS_SUMMARY_DECISIONS_MAX 10000u /* decisions that are read, the newest */
#define PODS_SUMMARY_RETRY_SEC 300        /* kube-scheduler's flush of parked pods */

typedef struct PodAttempt {
    FoundDecision verbs[_VERB_MAX]; /* past NULL: it is not kept, or there was none */
} PodAttempt;

typedef struct PodSummary {
    Str namespace, name, uid;      /* of the newest */
    int64_t first_nsec, last_nsec; /* since 1970: of its decisions */
    uint64_t last_id;              /* of the newest */
    size_t n_attempts;
    size_t n_passed, n_in; /* of the last filter */
    bool is_waiting;
    bool is_exempt;
    Str node; /* the node it was bound to, by berth or according to the cluster; empty: not known */
    Str policy, rule; /* of the main reason of the last filter (past_main_rule()); empty: none */
    Str reason;       /* the main reason with counts, as past_print_reason() writes it */
    const FoundDecision *filter; /* the last one, borrowed; NULL: none is kept */
    PodAttempt *attempts;        /* the newest first; only on request */
} PodSummary;

typedef struct PodsSummary {
    PodSummary *pods; /* pending ones first, then by time, the newest first */
    size_t n, n_waiting;
    size_t n_decisions;   /* that were read */
    FoundDecision *found; /* references; for pods_summary_done() */
    size_t n_found;
} PodsSummary;

/* All pods; @view has their current nodes, and @recent (may be NULL) those that were deleted. In
 * @arena. 0, or -ENOMEM. */
int pods_summary_all(Decisions *decisions, RecentPods *recent, const View *view, Arena *arena,
    PodsSummary *ret) MUST_CHECK;

/* All that had this name, as one, with its attempts; ret->n is 0 when nothing is remembered. */
int pods_summary_one(Decisions *decisions, RecentPods *recent, const View *view, Str namespace,
    Str name, Arena *arena, PodsSummary *ret) MUST_CHECK;
void pods_summary_done(PodsSummary *summary); /* takes a zeroed one */

/* As kube-scheduler's event has it: reasons with how many nodes, equal texts together, sorted as
 * `kubectl describe` shows them. How many, at most @max. */
typedef struct ReasonGroup {
    Str reason;
    size_t n_nodes;
    Str policy, rule; /* the first that has this reason */
    bool is_unresolvable;
    OutcomeKind kind; /* outcome of these nodes: rejected, unknown or late */
} ReasonGroup;
size_t attempt_reasons(const FoundDecision *filter, ReasonGroup *ret, size_t max);

/*
 * PendingGroups: pending pods of one workload (model/workload.h) with the same main reason.
 *
 * Ten pods of a Deployment that wait for the same thing are one thing to know. Pods without an
 * owner, and those whose text is no longer kept, are a group each.
 */
typedef struct PendingGroup {
    Str workload;            /* "shop/Deployment/web", in the arena; empty: the one pod */
    const PodSummary *first; /* the one that has been pending longest; borrowed */
    const PodSummary *last;  /* the one with the newest attempt: its reason is current */
    size_t n;                /* pods */
} PendingGroup;

typedef struct PendingGroups {
    PendingGroup *groups; /* those with the most pods first, then those pending longest */
    size_t n, n_pods;
} PendingGroups;

/* Groups the pending pods of @summary, which must outlive the groups. 0, or -ENOMEM. */
int pending_groups_make(const PodsSummary *summary, Arena *arena, PendingGroups *ret) MUST_CHECK;

/* "shop/Deployment/web", in @arena, which also decodes the pod; empty: none, or not known. */
Str pod_summary_workload(const PodSummary *pod, Arena *arena);
