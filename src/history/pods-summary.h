#pragma once

/*
 * PodsSummary: decisions grouped by pod.
 *
 * The history (history/decisions.h) is a list of answers, but users think in pods. A pod's attempts
 * are its filters, each with the prioritize, preempt and bind after it. A pod is pending if no node
 * passed its last filter, no bind followed, and no watch showed its end. kube-scheduler retries it
 * within five minutes.
 *
 * Threads: any. A summary has references, which pods_summary_done() releases.
 */

#include "history/decisions.h"
#include "history/recent-pods.h"

#define PODS_SUMMARY_DECISIONS_MAX 10000u /* only the newest are read */
#define PODS_SUMMARY_RETRY_SEC 300        /* kube-scheduler's flush of parked pods */

typedef struct PodAttempt {
    FoundDecision verbs[_VERB_MAX]; /* past NULL: not kept, or there was none */
} PodAttempt;

typedef struct PodSummary {
    Str namespace, name, uid;      /* of the newest decision */
    int64_t first_nsec, last_nsec; /* since 1970: of its oldest and newest decision */
    uint64_t last_id;              /* of the newest decision */
    size_t n_attempts;
    size_t n_passed, n_in; /* of the last filter */
    bool is_waiting;
    bool is_exempt;
    Str node;         /* bound there, by berth or as the cluster shows; empty: unknown */
    Str policy, rule; /* of the main reason of the last filter (past_main_rule()); empty: none */
    Str reason;       /* the main reason with counts, as past_print_reason() writes it */
    const FoundDecision *filter; /* the last one; borrowed; NULL: none is kept */
    PodAttempt *attempts;        /* newest first; only of pods_summary_one() */
} PodSummary;

typedef struct PodsSummary {
    PodSummary *pods; /* pending ones first, each newest first */
    size_t n, n_waiting;
    size_t n_decisions;   /* number of decisions read */
    FoundDecision *found; /* references; for pods_summary_done() */
    size_t n_found;
} PodsSummary;

/* Summarizes all pods, in @arena. @view has their current nodes, @recent (may be NULL) the deleted
 * pods. 0, or -ENOMEM. */
int pods_summary_all(Decisions *decisions, RecentPods *recent, const View *view, Arena *arena,
    PodsSummary *ret) MUST_CHECK;

/* The same for all pods that had this name, as one pod, with its attempts. ret->n is 0 if there are
 * no decisions about it. */
int pods_summary_one(Decisions *decisions, RecentPods *recent, const View *view, Str namespace,
    Str name, Arena *arena, PodsSummary *ret) MUST_CHECK;
void pods_summary_done(PodsSummary *summary); /* takes a zeroed one */

/* The rejected nodes of a filter by reason, like kube-scheduler's event, in the order of `kubectl
 * describe`. Returns the number of groups, at most @max. */
typedef struct ReasonGroup {
    Str reason;
    size_t n_nodes;
    Str policy, rule; /* the first with this reason */
    bool is_unresolvable;
    OutcomeKind kind; /* of these nodes: rejected, unknown or late */
} ReasonGroup;
size_t attempt_reasons(const FoundDecision *filter, ReasonGroup *ret, size_t max);

/*
 * PendingGroups: pending pods of one workload (model/workload.h) with the same main reason.
 *
 * Ten pods of a Deployment with one problem are one problem for users. A pod without an owner, or
 * whose text is no longer kept, is its own group.
 */
typedef struct PendingGroup {
    Str workload;            /* "shop/Deployment/web", in the arena; empty: a single pod */
    const PodSummary *first; /* pending longest; borrowed */
    const PodSummary *last;  /* with the newest attempt: its reason is current */
    size_t n;                /* pods */
} PendingGroup;

typedef struct PendingGroups {
    PendingGroup *groups; /* most pods first, then pending longest */
    size_t n, n_pods;
} PendingGroups;

/* Groups the pending pods of @summary, which must outlive the groups. 0, or -ENOMEM. */
int pending_groups_make(const PodsSummary *summary, Arena *arena, PendingGroups *ret) MUST_CHECK;

/* The workload, such as "shop/Deployment/web"; also decodes the pod, in @arena; empty: unknown. */
Str pod_summary_workload(const PodSummary *pod, Arena *arena);
