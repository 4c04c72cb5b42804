#pragma once

/*
 * Nominations: the pending pods that kube-scheduler has not tried yet, in the order in which it
 * will (priority, then arrival), and which of them berth has nominated.
 *
 *     free ──claim──> nominated ──bound──> used, or unused
 *      ├──plan, filter request──> returned: the planned node alone is the reply
 *      │                  └──NOMINATION_SEC, or kube-scheduler tried it in vain──> expired:
 * withdrawn └──filter request, PodScheduled False, another's nomination──> left to kube-scheduler
 *
 * It also measures how fast kube-scheduler is, so that pods are nominated only if that is faster
 * than leaving them to it.
 *
 * No clock and no lock: time is an argument, and the caller serialises calls.
 */

#include "base/nsec.h"
#include "history/nomination-log.h"
#include "kube/api-writes.h"
#include "model/pod.h"

#define NOMINATION_PODS_MAX 20000u       /* pending pods that are known; others are left alone */
#define NOMINATION_TEXT_MAX 65536u       /* bytes of a pod; larger ones are left alone */
#define NOMINATION_BACKLOG_MIN 50u       /* pods that are free or nominated; fewer are left alone */
#define NOMINATION_ROUND_MIN 64u         /* a round begins with so many free pods, ... */
#define NOMINATION_ROUND_SEC 1           /* ... or so long after the last one */
#define NOMINATION_OUTSTANDING_MAX 4000u /* a table counts TABLE_NOMINATED_MAX */
#define NOMINATION_SEC 30                /* an unused one is withdrawn */
#define NOMINATION_AGAIN_SEC 10          /* until the watch shows that: then once more */
#define NOMINATION_AWAY_SEC 600          /* the same while no scheduler calls */
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
#define NOMINATION_NEAR_MSEC 1000        /* pods that kube-scheduler reaches so soon are planned */
#define NOMINATION_NEAR_MIN 16u          /* a round of only such pods begins with so many */
#define NOMINATION_PLANNED_SEC 5         /* a plan is used within this time */
#define NOMINATION_SCHEDULERS_MAX 16u

typedef struct Nominations Nominations;

/* Outcomes go to @log, which is borrowed; may be NULL. NULL when out of memory. */
Nominations *nominations_new(NominationLog *log);
Nominations *nominations_free(Nominations *nominations); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Nominations *, nominations_free)

/* --- what happens in the cluster ------------------------------------------------------------- */

/* A pod as the watch shows it. @was_tried: kube-scheduler has reported that it does not fit, or it
 * is gated. @text is copied while the pod may be nominated. */
void nominations_see(
    Nominations *nominations, const Pod *pod, Str text, bool was_tried, int64_t now_nsec);
void nominations_forget(Nominations *nominations, Str uid); /* it was deleted */

/* A list of all pods begins, or has ended: pods that were not seen since the begin are gone. */
void nominations_begin_list(Nominations *nominations);
void nominations_end_list(Nominations *nominations);

/* kube-scheduler asks about @n_nodes for the pod. */
void nominations_note_filter(
    Nominations *nominations, Str uid, Str scheduler, size_t n_nodes, int64_t now_nsec);

/* --- nominating ------------------------------------------------------------------------------ */

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
    size_t n_ahead;       /* pods that kube-scheduler tries before it */
    int64_t reached_nsec; /* how long that takes */
    uint64_t n_asked;     /* pods that it had tried when they were listed */
    bool is_near;         /* too near for a nomination: only planned */
} FreePod;

/* In the order of kube-scheduler, copied to @arena; at most @max. Those that it will have tried in
 * @lead_nsec are near, and the others unless the state is NOMINATOR_NOMINATES: of near ones those
 * that are not planned yet. How many; 0 also when out of memory, or when it is not worth a round.
 */
size_t nominations_list(Nominations *nominations, int64_t lead_nsec, int64_t now_nsec, size_t max,
    Arena *arena, FreePod *ret);

/* The pod, one of the last list, is nominated for @node. False: kube-scheduler has tried it, or
 * will have in @lead_nsec; or it is gone. */
bool nominations_claim(
    Nominations *nominations, const FreePod *pod, Str node, int64_t lead_nsec, int64_t now_nsec);
/* It is left to kube-scheduler; if it was claimed, its patch was not sent. */
void nominations_leave(Nominations *nominations, Str uid);

/* A node that was chosen for a pod. */
typedef struct PlannedNode {
    Str node;
    size_t n_feasible, n_best; /* as in NominationRecord */
    bool is_nominated;         /* with a patch that kube-scheduler does not know yet */
} PlannedNode;

/* For a free pod; @planned is copied. */
void nominations_plan(
    Nominations *nominations, Str uid, const PlannedNode *planned, int64_t now_nsec);

/* The node that was chosen for a pod about which kube-scheduler asks with several nodes, so that it
 * can be returned alone; in @arena. False: none, it was used before, or the plan has expired. */
bool nominations_find_plan(
    const Nominations *nominations, Str uid, int64_t now_nsec, Arena *arena, PlannedNode *ret);
/* It was returned alone. */
void nominations_note_returned(Nominations *nominations, Str uid);

/* Whether a nomination of @node was not used a short while ago. */
bool nominations_avoids(const Nominations *nominations, Str node, int64_t now_nsec);

/* Nominations that are to be withdrawn; texts in @arena. They are outstanding until the watch shows
 * that they are gone, and are returned again if it does not within NOMINATION_AGAIN_SEC. */
size_t nominations_expire(
    Nominations *nominations, int64_t now_nsec, size_t max, Arena *arena, Nomination *ret);

/* --- figures --------------------------------------------------------------------------------- */

typedef struct NominationFigures {
    uint64_t n_used, n_unused, n_expired;
    uint64_t n_returned; /* filter requests whose reply was the planned node alone */
    size_t n_free, n_outstanding;
    NominatorState state; /* of the last decision */
} NominationFigures;

NominationFigures nominations_figures(const Nominations *nominations);
