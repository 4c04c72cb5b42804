#pragma once

/*
 * Current: the view in force, and how the next one takes its place.
 *
 * A view has three parts: the cluster, the program, and measurements for the program's gauges. Each
 * part is replaced by another thread. One new view is made at a time, from the new part and the
 * others of the view before.
 *
 * Making a view has a budget of time and memory. A program that exceeds it is refused. A program in
 * force that exceeds it because the cluster has grown, or its metrics have changed, stays in force
 * without results for any node (facts.is_late, so onTimeout decides): decisions from the old
 * cluster would be wrong without notice. The next attempt is made when the cluster has a tenth
 * fewer nodes, or after CURRENT_RETRY_FACTOR times the duration of the last attempt.
 *
 * The daemon sets the fields; everything else calls the functions. Threads: any;
 * current_set_program() only on the thread that calls measuring_reload().
 */

#include <pthread.h>
#include <stdatomic.h>

#include "cluster/measurement.h"
#include "cluster/snapshot.h"
#include "extender/verbs.h"
#include "extender/view.h"
#include "live/measuring.h"
#include "policy/program.h"

#define CURRENT_MESSAGE_MAX 2048u
#define CURRENT_RETRY_FACTOR 10 /* failed attempts take at most 1/10 of a thread's time */

/* The budget for making one view. */
typedef struct ViewLimits {
    int64_t cpu_nsec; /* processor time; work is limited in proportion (FACTS_WORK_PER_SEC); 0: no
                         budget */
    size_t bytes;     /* for the results of rules for all nodes */
} ViewLimits;

/* A running load of policies, on the calling thread. */
typedef struct PolicyLoad {
    int64_t begun_cpu_nsec;          /* CPU time at its start, before reading and compiling */
    const atomic_bool *is_cancelled; /* may be NULL */
} PolicyLoad;

typedef struct Current {
    pthread_mutex_t lock; /* guards view: held for a pointer and a reference only */
    pthread_cond_t exchanged;
    View *view;

    pthread_mutex_t publish_lock; /* one new view at a time; guards the fields below */
    uint64_t owner;               /* of the measurements of the program in force */
    Measuring *measuring;         /* borrowed; NULL: nothing is measured yet */
    const Exemptions *exemptions; /* borrowed; set before the first view. May be NULL */
    bool may_await_cluster;       /* the cluster is watched, but is not listed yet */
    ViewLimits limits;            /* set before the first view */
    int64_t retry_at_nsec;        /* monotonic: next attempt while the view in force is late, ... */
    size_t n_nodes_exceeded;      /* ... and its number of nodes at the last attempt */
    void *context;
    /* Another view is in force; called with publish_lock held. May be NULL. */
    void (*changed)(void *context, const View *before, const View *after);
    /* The program in force exceeds the budget: a message for users; NULL: it fits again. Called
     * with publish_lock held. May be NULL. */
    void (*exceeded)(void *context, const char *message);
} Current;

#define CURRENT_INIT                                                                               \
    ((Current){.lock = PTHREAD_MUTEX_INITIALIZER,                                                  \
        .exchanged = PTHREAD_COND_INITIALIZER,                                                     \
        .publish_lock = PTHREAD_MUTEX_INITIALIZER})

/* Makes the first view; @snapshot may be NULL, @zones must live longer. Returns like
 * current_set_program(). */
int current_begin(Current *current, Snapshot *snapshot, Program *program, const CelZones *zones,
    const PolicyLoad *load, char *error, size_t size) MUST_CHECK;
void current_done(Current *current);

/* Returns the view in force, with a reference for the caller. */
View *current_view(Current *current);

/* Replaces the cluster. 0; or -ENOMEM: the view is unchanged. */
int current_set_snapshot(Current *current, Snapshot *snapshot) MUST_CHECK;

/* Makes a view like @shown, which is or was in force, with another cluster. Does not put it in
 * force. 0 (@ret: the caller's reference) or -ENOMEM. */
int current_try_snapshot(Current *current, const View *shown, Snapshot *snapshot, View **ret)
    MUST_CHECK;

/* Replaces the program, or follows the gauges of the same one again. Most of the work is done
 * without publish_lock. 0; or a negative errno, with a message for users in @error (of @size
 * bytes), and the view is unchanged. -EINVAL: the budget is exhausted; -ECANCELED: the load was
 * cancelled. */
int current_set_program(Current *current, Program *program, const PolicyLoad *load, char *error,
    size_t size) MUST_CHECK;

/* Replaces the measurements; ignores those of another program than the one in force (after a
 * reload). 0; or -ENOMEM: the view is unchanged. */
int current_set_measured(Current *current, Measurements *measurements) MUST_CHECK;

/* Whether a value of @view has expired by @now_nsec (monotonic), or depends on a wall clock that
 * was set since. */
bool current_is_due(const View *view, int64_t now_nsec);

/* Makes a new view if a value has expired by @now_nsec (monotonic), or depends on a wall clock that
 * was set since. 0, or -ENOMEM: unchanged. */
int current_refresh(Current *current, int64_t now_nsec) MUST_CHECK;

/*
 * NodeWait: kube-scheduler may know a new node before berth's watch shows it. If no node passes for
 * a pod because of that, kube-scheduler might not retry the pod for five minutes. So its filter
 * waits a moment for the node, and is evaluated again.
 *
 * One filter waits at a time, as kube-scheduler sends them one by one. After a wait that failed
 * none waits for NODE_WAIT_PAUSE_NSEC, so that a stopped watch does not delay every filter.
 */

#define NODE_WAIT_NSEC (100 * NSEC_PER_MSEC)
#define NODE_WAIT_PAUSE_NSEC NSEC_PER_SEC

typedef struct NodeWait {
    _Atomic int64_t not_before_nsec; /* monotonic; 0: a filter may wait at any time */
} NodeWait;

/* If the filter @decision over @view (in force now or before) passed no node and named nodes that
 * @view lacks: waits until a view in force has them all, at most @limit_nsec. Returns a reference
 * to the newer view to decide over, or NULL. Not for a thread that publishes views. */
View *node_wait(NodeWait *wait, Current *current, const View *view, const Decision *decision,
    int64_t limit_nsec);
