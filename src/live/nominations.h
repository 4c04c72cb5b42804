#pragma once

/*
 * Nominations: the pending pods that kube-scheduler has not tried yet, in the order in which it
 * will (priority, then arrival), and which of them berth has nominated.
 *
 *     free ──claim──> nominated ──bound──> used, or unused
 *      │                  └──NOMINATION_SEC, or tried and failed──> expired: withdrawn
 *      └──filter request, PodScheduled False, another's nomination──> left to kube-scheduler
 *
 * It also measures how fast kube-scheduler is, so that pods are nominated only if that is faster
 * than leaving them to it; and it lets kube-scheduler wait while the next pods are nominated.
 *
 * No clock and no lock: time is an argument, and the caller serialises calls.
 */

#include "base/nsec.h"
#include "history/nomination-log.h"
#include "kube/api-writes.h"
#include "model/pod.h"

#define NOMINATION_PODS_MAX 20000u       /* pending pods that are known; others are left alone */
#define NOMINATION_TEXT_MAX 65536u       /* bytes of a pod; larger ones are left alone */
#define NOMINATION_BACKLOG_MIN 50u       /* begins with so many free or nominated pods, ... */
#define NOMINATION_BACKLOG_END 16u       /* ... and ends with fewer than this */
#define NOMINATION_ROUND_MIN 16u         /* a round begins with so many free pods, ... */
#define NOMINATION_ROUND_SEC 1           /* ... or so long after the last one */
#define NOMINATION_OUTSTANDING_MAX 4000u /* a table counts TABLE_NOMINATED_MAX */
#define NOMINATION_SEC 30                /* an unused one is withdrawn */
#define NOMINATION_AGAIN_SEC 10          /* until the watch shows that: then once more */
#define NOMINATION_AWAY_SEC 600          /* ... also while no scheduler calls */
#define NOMINATION_SILENCE_MSEC 2000     /* without a request kube-scheduler is away */
#define NOMINATION_LATE_MSEC 200         /* beyond its cycle, for kube-scheduler to know of it */
#define NOMINATION_AVOID_SEC 60          /* a node whose nomination was not used */
#define NOMINATION_PREEMPTION_SEC 60     /* after another's nomination none is made */
#define NOMINATION_PAUSE_SEC 300         /* after too many were not used */
#define NOMINATION_TRIAL 16u             /* patches that show how long patches take */
#define NOMINATION_TRIAL_MIN_MSEC 250    /* after they were too slow: until they are tried again, */
#define NOMINATION_TRIAL_MAX_MSEC 60000  /* ... then after twice the time each time, up to this */
#define NOMINATION_CYCLE_MSEC 10         /* a shorter cycle costs less than a nomination */
#define NOMINATION_MARGIN 1.5            /* so much faster than kube-scheduler, or it stops */
#define NOMINATION_READY_MIN 16u         /* filters wait while kube-scheduler knows fewer, ... */
#define NOMINATION_WAIT_MSEC 100         /* ... so long at most */
#define NOMINATION_KNOWN_MSEC 20         /* it knows one so long after our watch has shown it */
#define NOMINATION_WAIT_PAUSE_MIN_MSEC 50   /* after a failed wait none does for this time, ... */
#define NOMINATION_WAIT_PAUSE_MAX_MSEC 5000 /* ... then for twice the time, up to this */
#define NOMINATION_SCHEDULERS_MAX 16u

typedef struct Nominations Nominations;

/* Outcomes go to @log, which is borrowed; may be NULL. NULL when out of memory. */
Nominations *nominations_new(NominationLog *log);
Nominations *nominations_free(Nominations *nominations); /* takes NULL, returns NULL */

typedef struct PendingStatus {
    bool was_tried;    /* kube-scheduler has reported that it does not fit, or it is gated */
    bool is_nominated; /* by a berth: this one, another replica, or one that has ended */
} PendingStatus;

/* A pod as the watch shows it. @text is copied while the pod may be nominated. */
void nominations_see(
    Nominations *nominations, const Pod *pod, Str text, PendingStatus status, int64_t now_nsec);
void nominations_forget(Nominations *nominations, Str uid); /* it was deleted */

/* A list of all pods begins, or has ended: pods that were not seen since the begin are gone. */
void nominations_begin_list(Nominations *nominations);
void nominations_end_list(Nominations *nominations);

/* kube-scheduler sent a filter request for the pod, with @n_nodes. */
void nominations_note_filter(
    Nominations *nominations, Str uid, Str scheduler, size_t n_nodes, int64_t now_nsec);

/* Whether the reply to a filter request that came at @begin_nsec is to wait, so that the next pods
 * are nominated before kube-scheduler takes them: it would evaluate all nodes for each. Call again
 * until it returns false: NOMINATION_WAIT_MSEC later at the latest. */
bool nominations_wait(Nominations *nominations, int64_t begin_nsec, int64_t now_nsec) MUST_CHECK;

typedef enum NominatorState {
    NOMINATOR_IDLE, /* no backlog */
    NOMINATOR_NOMINATES,
    NOMINATOR_OUTPACED,   /* kube-scheduler is as fast, or the API server too slow */
    NOMINATOR_FULL,       /* as many are outstanding as may be */
    NOMINATOR_PREEMPTION, /* another's nomination is new: kube-scheduler makes room for a pod */
    NOMINATOR_PAUSED,     /* too many were not used */
    _NOMINATOR_STATES,
} NominatorState;

const char *nominator_state_name(NominatorState state);

/* Whether to nominate now. @writes: the figures of the patches. */
NominatorState nominations_decide(
    Nominations *nominations, const WriteFigures *writes, int64_t now_nsec);

/* A free pod. */
typedef struct FreePod {
    Str namespace, name, uid, text;
} FreePod;

/* In the order of kube-scheduler, copied to @arena; at most @max. How many; 0 also when out of
 * memory, or when it is not worth a round. */
size_t nominations_list(
    Nominations *nominations, int64_t now_nsec, size_t max, Arena *arena, FreePod *ret);

/* The pod is nominated for @node. Returns false if kube-scheduler has tried it, or it is gone. */
bool nominations_claim(Nominations *nominations, Str uid, Str node, int64_t now_nsec);
/* It is left to kube-scheduler; if it was claimed, its patch was not sent. */
void nominations_leave(Nominations *nominations, Str uid);

/* Whether a nomination of @node was not used a short while ago. */
bool nominations_avoids(const Nominations *nominations, Str node, int64_t now_nsec);

/* Nominations to withdraw; texts in @arena. They are outstanding until the watch shows
 * that they are gone, and are returned again if it does not within NOMINATION_AGAIN_SEC. */
size_t nominations_expire(
    Nominations *nominations, int64_t now_nsec, size_t max, Arena *arena, Nomination *ret);

typedef struct NominationFigures {
    uint64_t n_used, n_unused, n_expired;
    uint64_t n_waits;  /* filter requests whose reply waited, ... */
    int64_t wait_nsec; /* ... and how long, all together */
    size_t n_free, n_outstanding;
    NominatorState state; /* of the last decision */
} NominationFigures;

NominationFigures nominations_figures(const Nominations *nominations);
