#pragma once

/*
 * PendingGroups: pending pods of one workload (model/workload.h) with the same main reason.
 *
 * Ten pods of a Deployment that wait for the same thing are one thing to know. Pods without an
 * owner, and those whose text is no longer kept, are a group each.
 *
 * Threads: any; nothing is shared.
 */

#include "history/pods-summary.h"

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

/* Of the pending pods of @summary, which must outlive the groups. 0, or -ENOMEM. */
int pending_groups_make(const PodsSummary *summary, Arena *arena, PendingGroups *ret) MUST_CHECK;

/* "shop/Deployment/web", in @arena, which also decodes the pod; empty: none, or not known. */
Str pod_summary_workload(const PodSummary *pod, Arena *arena);
