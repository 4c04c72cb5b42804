#pragma once

/*
 * RecentPods: the pods of recent filter requests, and the schedulers that sent them. One entry per
 * pod, by UID; without one by namespace and name. An entry has:
 *
 *   known    there was a filter request. A pod that gets its node without one bypassed berth
 *            (live/bypass.h). After a restart nothing is known.
 *   passed   the pod, and the nodes that passed its last filter: a bind names a pod by UID and a
 *            node, and nothing else. bind checks again whether the pod fits, so the window can be
 *            long. It must be: between filter and bind kube-scheduler waits for volumes
 *            (VolumeBinding, 10 minutes by default) and for Permit plugins (15 minutes at most);
 *            volumes of a pod that is rejected then were created for nothing.
 *   parked   its last filter rejected a node, so kube-scheduler may have parked it because of
 *            berth, until it is bound, a later filter rejects nothing, or RECENT_PODS_PARKED_SEC
 *            have passed without another filter.
 *   pending  its last filter let no node pass, and no bind followed: since when, and by the policy
 *            of its main reason (history/past.h), if a policy rejected a node.
 *   event    when the last Event about it was written (history/kube-events.h).
 *
 * Limits: options.max pods and options.bytes_max bytes of passed nodes; those with the oldest last
 * filter are dropped first. A pending pod gets new filter requests, so it stays.
 *
 * Threads: any; one lock, held for a look-up or for dropping old entries.
 */

#include "base/nsec.h"
#include "cluster/names.h"
#include "extender/verbs.h"
#include "extender/view.h"
#include "history/pod-text.h"
#include "model/pod.h"

#define RECENT_PODS_MAX 65536u
#define RECENT_PODS_BYTES_MAX ((size_t)64 * 1024 * 1024) /* some 20,000 pods over 5,000 nodes */
#define RECENT_PODS_WINDOW_NSEC (15 * 60 * NSEC_PER_SEC)
#define RECENT_PODS_PARKED_SEC 360 /* kube-scheduler tries again after 300, and checks every 30 */

/* Limit of the passed nodes of one pod. The API server stores no larger pod. */
#define PASSED_NODES_BYTES_MAX ((size_t)1024 * 1024)

#define RECENT_SCHEDULERS_MAX 64u
#define RECENT_SCHEDULER_NAME_MAX 253u /* bytes; the API server's limit */

typedef struct RecentPods RecentPods;

typedef struct RecentPodsOptions {
    size_t max;          /* RECENT_PODS_MAX, except in tests */
    size_t bytes_max;    /* RECENT_PODS_BYTES_MAX, except in tests; 0: passed nodes are not kept */
    int64_t window_nsec; /* how long a bind may follow its filter */
    uint64_t
        pending_within; /* a pod counts as pending for at most this many decisions after its filter,
                           which is as far back as pages read; 0: pending is not counted */
    int64_t now_nsec;   /* monotonic */
} RecentPodsOptions;

RecentPods *recent_pods_new(const RecentPodsOptions *options); /* NULL when out of memory */
RecentPods *recent_pods_free(RecentPods *pods);                /* takes NULL, returns NULL */
DEFINE_CLEANUP(RecentPods *, recent_pods_free)

/* A filter request begins, before it takes its view: until recent_pods_note() its pod counts as
 * parked, since it may be judged by a view that is no longer in force. */
void recent_pods_begin_filter(RecentPods *pods);

/* A verb was answered from @view; ends what recent_pods_begin_filter() began. @now_nsec is
 * monotonic, @wall_nsec since 1970. A filter without nodes is a probe, of which only the scheduler
 * is noted. */
void recent_pods_note(RecentPods *pods, const View *view, Verb verb, const Decision *decision,
    int64_t now_nsec, int64_t wall_nsec);

/* A watch shows that the pod got its node or was deleted: it is neither parked nor pending any
 * more. */
void recent_pods_note_end(RecentPods *pods, Str uid, Str namespace, Str name, bool is_deleted);
bool recent_pods_is_deleted(RecentPods *pods, Str uid, Str namespace, Str name);

/* Whether @pod, which got its node, bypassed berth: its scheduler has sent a filter request since
 * @since_nsec, but none about this pod. */
bool recent_pods_is_bypass(RecentPods *pods, const Pod *pod, int64_t since_nsec);

enum {
    _PASSED_E_SUCCESS,
    PASSED_E_UNKNOWN, /* no filter request about this pod, or none that is still kept */
    PASSED_E_NODE,    /* there was one, and this node did not pass */
    PASSED_E_LATE,    /* it passed, too long ago */
};

/* Whether the pod @uid passed on @node, a name of @names: those of the present snapshot, or of any
 * that is not older than the one filter saw. 0: *ret is the pod as filter saw it, a reference for
 * the caller. Else PASSED_E_*, and it is NULL. */
int recent_pods_find_passed(RecentPods *pods, Str uid, Str node, const NodeNames *names,
    int64_t now_nsec, PodText **ret) MUST_CHECK;

/* Whether a pod may be parked because of berth. True if unsure: in the first RECENT_PODS_PARKED_SEC
 * (pods rejected before the start are not known), for as long after a parked pod was dropped, and
 * during a filter request. */
bool recent_pods_has_parked(RecentPods *pods, int64_t now_nsec);

/* The main reason of a pod's last filter is a rule of @policy. */
void recent_pods_note_policy(RecentPods *pods, Str uid, Str namespace, Str name, Str policy);

/* Pending pods of one policy. */
typedef struct PendingPolicy {
    Str policy; /* valid as long as the store; empty: of no policy, or of all beyond the limit */
    size_t n;
} PendingPolicy;

#define RECENT_POLICIES_MAX 1024u /* names, since the start */

typedef struct PendingFigures {
    size_t n;             /* pods */
    size_t n_by_policies; /* of these: a policy rejected a node */
    int64_t oldest_nsec;  /* monotonic: since when the one that waits longest is pending; 0: none */
    PendingPolicy
        policies[RECENT_POLICIES_MAX + 1]; /* those that ever had one; [0]: of no policy */
    size_t n_policies;
} PendingFigures;

/* Walks the pending pods with the lock held. */
void recent_pods_pending(RecentPods *pods, PendingFigures *ret);

/* Whether no Event about the pod was written in the last @age_nsec; and that one is written now. */
bool recent_pods_event_is_due(RecentPods *pods, Str uid, int64_t age_nsec, int64_t now_nsec);
void recent_pods_note_event(RecentPods *pods, Str uid, int64_t now_nsec);

typedef struct RecentScheduler {
    Str name;               /* valid as long as the store; empty: all beyond the limit */
    uint64_t n_filters;     /* requests about its pods */
    int64_t last_wall_nsec; /* since 1970 */
} RecentScheduler;

/* The schedulers that sent filter requests, by spec.schedulerName, in the order they came; how
 * many. */
size_t recent_pods_schedulers(RecentPods *pods, RecentScheduler ret[RECENT_SCHEDULERS_MAX + 1]);

/* Counts of passed nodes. */
typedef struct PassedFigures {
    size_t n, bytes;
    uint64_t n_kept;    /* since the start */
    uint64_t n_dropped; /* of these: dropped to make room, before they expired */
} PassedFigures;

void recent_pods_figures(RecentPods *pods, PassedFigures *ret);
