#pragma once

/*
 * Nominations: the pending pods that kube-scheduler has not tried yet, in its order (priority, then
 * arrival), and the nodes that berth has nominated for them.
 *
 *     free ──claim──> nominated ──bound──> used, or unused
 *      │                  └──NOMINATION_SEC, or tried and failed──> expired: withdrawn
 *      └──filter request, PodScheduled False, another's nomination──> left to kube-scheduler
 *
 * It also measures the pace of kube-scheduler: berth nominates only if it is faster. It lets
 * filters of kube-scheduler wait while berth nominates nodes for the next pods.
 *
 * No clock and no lock: time is an argument, and the caller serializes calls.
 */

#include "base/nsec.h"
#include "history/nomination-log.h"
#include "kube/api-writes.h"
#include "model/pod.h"

#define NOMINATION_PODS_MAX 20000u       /* known pending pods; others are left alone */
#define NOMINATION_TEXT_MAX 65536u       /* bytes of a pod; larger pods are left alone */
#define NOMINATION_BACKLOG_MIN 50u       /* starts at this number of free or nominated pods, ... */
#define NOMINATION_BACKLOG_END 16u       /* ... and stops below this one */
#define NOMINATION_ROUND_MIN 16u         /* a round starts at this number of free pods, ... */
#define NOMINATION_ROUND_SEC 1           /* ... or this long after the last round */
#define NOMINATION_OUTSTANDING_MAX 4000u /* below TABLE_NOMINATED_MAX, the limit of a table */
#define NOMINATION_SEC 30                /* then an unused nomination is withdrawn, ... */
#define NOMINATION_AGAIN_SEC 10          /* ... and again, until the watch shows that */
#define NOMINATION_AWAY_SEC 600          /* ... or after this time, if no scheduler calls */
#define NOMINATION_SILENCE_MSEC 2000     /* without a request: kube-scheduler is away */
#define NOMINATION_LATE_MSEC 200         /* beyond its cycle: kube-scheduler knows a nomination */
#define NOMINATION_AVOID_SEC 60          /* no nomination for a node whose last was not used */
#define NOMINATION_PREEMPTION_SEC 60     /* no nominations after one by another client */
#define NOMINATION_PAUSE_SEC 300         /* no nominations after too many unused ones */
#define NOMINATION_TRIAL 16u             /* patches of a trial, which measures their latency */
#define NOMINATION_TRIAL_MIN_MSEC 250    /* from slow patches to the next trial; doubles ... */
#define NOMINATION_TRIAL_MAX_MSEC 60000  /* ... after each slow trial, up to this */
#define NOMINATION_CYCLE_MSEC 7          /* in a shorter cycle a nomination does not pay off, ... */
#define NOMINATION_CYCLE_FEW_MSEC 25     /* ... nor in this one with fewer candidates than: */
#define NOMINATION_NODES 1500
#define NOMINATION_MARGIN 1.5               /* berth must be this many times faster */
#define NOMINATION_READY_MIN 16u            /* filters wait while kube-scheduler knows fewer, ... */
#define NOMINATION_WAIT_MSEC 100            /* ... for this long at most */
#define NOMINATION_DELAY_MIN_MSEC 20        /* from our watch to the cache of kube-scheduler: */
#define NOMINATION_DELAY_MAX_MSEC 200       /* ... measured between these */
#define NOMINATION_WAIT_PAUSE_MIN_MSEC 50   /* no filter waits after a wait in vain; doubles ... */
#define NOMINATION_WAIT_PAUSE_MAX_MSEC 5000 /* ... after each one, up to this */
#define NOMINATION_SCHEDULERS_MAX 16u

typedef struct Nominations Nominations;

/* Outcomes go to @log, which is borrowed and may be NULL. NULL when out of memory. */
Nominations *nominations_new(NominationLog *log);
Nominations *nominations_free(Nominations *nominations); /* takes NULL, returns NULL */

typedef struct PendingStatus {
    bool was_tried;    /* kube-scheduler could not place it, or it is gated */
    bool is_nominated; /* by this berth, another replica, or an earlier process */
} PendingStatus;

/* A pod as the watch shows it. Copies @text while the pod may be nominated. */
void nominations_see(
    Nominations *nominations, const Pod *pod, Str text, PendingStatus status, int64_t now_nsec);
void nominations_forget(Nominations *nominations, Str uid); /* it was deleted */

/* A list of all pods begins, or has ended: pods not seen in between are gone. */
void nominations_begin_list(Nominations *nominations);
void nominations_end_list(Nominations *nominations);

/* kube-scheduler sent a filter request for the pod, with @n_nodes. */
void nominations_note_filter(
    Nominations *nominations, Str uid, Str scheduler, size_t n_nodes, int64_t now_nsec);

/* Whether the reply to a filter request of @begin_nsec must wait, so that berth nominates nodes for
 * the next pods before kube-scheduler takes them: it would evaluate all nodes for each. Call it
 * again until it returns false, which it does NOMINATION_WAIT_MSEC later at the latest. */
bool nominations_wait(Nominations *nominations, int64_t begin_nsec, int64_t now_nsec) MUST_CHECK;

typedef enum NominatorState {
    NOMINATOR_IDLE, /* no backlog */
    NOMINATOR_NOMINATES,
    NOMINATOR_OUTPACED,   /* kube-scheduler is as fast, or the API server slow */
    NOMINATOR_FULL,       /* at the limit of outstanding nominations */
    NOMINATOR_PREEMPTION, /* another client nominated a node: kube-scheduler preempts */
    NOMINATOR_PAUSED,     /* too many nominations were not used */
    _NOMINATOR_STATES,
} NominatorState;

const char *nominator_state_name(NominatorState state);

/* Decides whether to nominate now. @writes: figures of the patches. */
NominatorState nominations_decide(
    Nominations *nominations, const WriteFigures *writes, int64_t now_nsec);

/* A free pod. */
typedef struct FreePod {
    Str namespace, name, uid, text;
} FreePod;

/* Lists free pods in the order of kube-scheduler, copied to @arena; at most @max. Returns their
 * number; 0 also when out of memory, or when a round is not worth it yet. */
size_t nominations_list(
    Nominations *nominations, int64_t now_nsec, size_t max, Arena *arena, FreePod *ret);

/* Nominates @node for the pod. False: kube-scheduler has tried the pod, it is gone, no memory, or
 * the limit. */
bool nominations_claim(Nominations *nominations, Str uid, Str node, int64_t now_nsec);
/* Leaves the pod to kube-scheduler; if it was claimed, its patch was not sent. */
void nominations_leave(Nominations *nominations, Str uid);

/* Whether a nomination of @node was not used a short while ago. */
bool nominations_avoids(const Nominations *nominations, Str node, int64_t now_nsec);

/* Returns nominations to withdraw, with texts in @arena. They are outstanding until the watch shows
 * that they are gone, and are returned again if that takes longer than NOMINATION_AGAIN_SEC. */
size_t nominations_expire(
    Nominations *nominations, int64_t now_nsec, size_t max, Arena *arena, Nomination *ret);

typedef struct NominationFigures {
    uint64_t n_used, n_unused, n_expired;
    uint64_t n_waits;  /* filters whose reply waited, ... */
    int64_t wait_nsec; /* ... and the sum of their waits */
    size_t n_free, n_outstanding;
    NominatorState state; /* of the last decision */
} NominationFigures;

NominationFigures nominations_figures(const Nominations *nominations);
