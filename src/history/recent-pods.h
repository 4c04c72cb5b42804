#pragma once

/*
 * RecentPods: the pods of recent filter requests, and the schedulers that sent them. One entry per
 * pod, by UID, or by namespace and name without a UID. An entry has:
 *
 *   known    there was a filter request. A pod that gets its node without one bypassed berth
 *            (live/bypass.h). After a restart no pod is known.
 *   passed   the pod, and the nodes that passed its last filter: a bind request has only the pod's
 *            UID and a node. bind evaluates the filters again, so the window can be long. It must
 *            be: between filter and bind kube-scheduler waits for volumes (VolumeBinding, 10
 *            minutes by default) and for Permit plugins (15 minutes at most); if bind rejected such
 *            a pod, its volumes would have been created for nothing.
 *   parked   its last filter rejected a node, so kube-scheduler may have parked it because of
 *            berth, until it is bound, a later filter rejects nothing, or RECENT_PODS_PARKED_SEC
 *            have passed without another filter.
 *   pending  no node passed its last filter, and no bind followed: since when, and by the policy of
 *            its main reason (history/past.h), if a policy rejected a node.
 *   event    when the last Event about it was written (history/kube-events.h).
 *
 * Limits: options.max pods and options.bytes_max bytes of passed nodes. Entries with the oldest
 * last filter are dropped first; a pending pod gets new filter requests, so it stays.
 *
 * Threads: any; one lock, held for a lookup or for dropping old entries.
 */

#include "base/nsec.h"
#include "cluster/names.h"
#include "extender/verbs.h"
#include "extender/view.h"
#include "history/pod-text.h"
#include "model/pod.h"

#define RECENT_PODS_MAX 65536u
#define RECENT_PODS_BYTES_MAX ((size_t)64 * 1024 * 1024) /* about 20,000 pods over 5,000 nodes */
#define RECENT_PODS_WINDOW_NSEC (15 * 60 * NSEC_PER_SEC)
#define RECENT_PODS_PARKED_SEC 360 /* kube-scheduler retries after 300 s, and checks every 30 s */

/* Limit for one pod. The API server stores no larger pod. */
#define PASSED_NODES_BYTES_MAX ((size_t)1024 * 1024)

#define RECENT_SCHEDULERS_MAX 64u
#define RECENT_SCHEDULER_NAME_MAX 253u /* bytes; the API server's limit */

typedef struct RecentPods RecentPods;

typedef struct RecentPodsOptions {
    size_t max;          /* RECENT_PODS_MAX, except in tests */
    size_t bytes_max;    /* RECENT_PODS_BYTES_MAX, except in tests; 0: passed nodes are not kept */
    int64_t window_nsec; /* maximum time from filter to bind */
    uint64_t
        pending_within; /* a pod counts as pending for at most this many decisions after its filter,
                           which is as far back as pages read; 0: pending is not counted */
    int64_t now_nsec;   /* monotonic: the start */
} RecentPodsOptions;

RecentPods *recent_pods_new(const RecentPodsOptions *options); /* NULL when out of memory */
RecentPods *recent_pods_free(RecentPods *pods);                /* takes NULL, returns NULL */
DEFINE_CLEANUP(RecentPods *, recent_pods_free)

/* Call it when a filter request begins, before it takes its view. Until recent_pods_note() its pod
 * counts as parked, because its view may no longer be in force. */
void recent_pods_begin_filter(RecentPods *pods);

/* A verb was answered from @view; ends recent_pods_begin_filter(). @now_nsec is monotonic,
 * @wall_nsec since 1970. A filter without nodes is a probe: only its scheduler is noted. */
void recent_pods_note(RecentPods *pods, const View *view, Verb verb, const Decision *decision,
    int64_t now_nsec, int64_t wall_nsec);

/* The watch shows that the pod got its node, or was deleted: it is no longer parked or pending. */
void recent_pods_note_end(RecentPods *pods, Str uid, Str namespace, Str name, bool is_deleted);
bool recent_pods_is_deleted(RecentPods *pods, Str uid, Str namespace, Str name);

/* Whether @pod, which got its node, bypassed berth: its scheduler has sent filter requests since
 * @since_nsec (monotonic), but none for this pod. */
bool recent_pods_is_bypass(RecentPods *pods, const Pod *pod, int64_t since_nsec);

enum {
    _PASSED_E_SUCCESS,
    PASSED_E_UNKNOWN, /* no filter request for this pod is kept */
    PASSED_E_NODE,    /* this node did not pass its filter */
    PASSED_E_LATE,    /* it passed too long ago */
};

/* Whether the pod @uid passed on @node. @names: node names of a snapshot at least as new as the
 * filter's. 0: *ret is the pod of the filter, a reference for the caller. Else PASSED_E_*, and *ret
 * is NULL. */
int recent_pods_find_passed(RecentPods *pods, Str uid, Str node, const NodeNames *names,
    int64_t now_nsec, PodText **ret) MUST_CHECK;

/* Whether a pod may be parked because of berth. Also true if unsure: in the first
 * RECENT_PODS_PARKED_SEC (pods rejected before the start are unknown), for as long after a parked
 * pod was dropped, and during a filter request. */
bool recent_pods_has_parked(RecentPods *pods, int64_t now_nsec);

/* Notes the policy of the main reason of a pod's last filter. */
void recent_pods_note_policy(RecentPods *pods, Str uid, Str namespace, Str name, Str policy);

/* Pending pods of one policy. */
typedef struct PendingPolicy {
    Str policy; /* valid as long as RecentPods; empty: no policy, or all over the limit */
    size_t n;
} PendingPolicy;

#define RECENT_POLICIES_MAX 1024u /* names, since the start */

typedef struct PendingFigures {
    size_t n;             /* pods */
    size_t n_by_policies; /* of these: a policy rejected a node */
    int64_t oldest_nsec;  /* monotonic: start of the longest pending; 0: none */
    PendingPolicy
        policies[RECENT_POLICIES_MAX + 1]; /* with a pending pod, now or before; [0]: no policy */
    size_t n_policies;
} PendingFigures;

/* Walks the pending pods with the lock held. */
void recent_pods_pending(RecentPods *pods, PendingFigures *ret);

/* Whether the pod had no Event in the last @age_nsec; and notes that it gets one now. */
bool recent_pods_event_is_due(RecentPods *pods, Str uid, int64_t age_nsec, int64_t now_nsec);
void recent_pods_note_event(RecentPods *pods, Str uid, int64_t now_nsec);

typedef struct RecentScheduler {
    Str name;               /* valid as long as RecentPods; empty: all over the limit */
    uint64_t n_filters;     /* requests for its pods */
    int64_t last_wall_nsec; /* since 1970 */
} RecentScheduler;

/* Copies the schedulers that sent filter requests, by spec.schedulerName, in the order of their
 * first request. Returns their number. */
size_t recent_pods_schedulers(RecentPods *pods, RecentScheduler ret[RECENT_SCHEDULERS_MAX + 1]);

/* Counts of passed nodes. */
typedef struct PassedFigures {
    size_t n, bytes;
    uint64_t n_kept;    /* since the start */
    uint64_t n_dropped; /* of these: dropped for space before they expired */
} PassedFigures;

void recent_pods_figures(RecentPods *pods, PassedFigures *ret);
