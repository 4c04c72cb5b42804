#pragma once

/*
 * Current: the view in force, and how the next one takes its place.
 *
 * A view has three parts: the cluster, the program, and measurements for the program's gauges. Each
 * comes from a thread of its own; one new view is made at a time, of the new part and the rest as
 * it was.
 *
 * Making a view has a budget of time and memory. A program that exceeds it is refused. A program in
 * force that exceeds it because the cluster has grown, or its metrics have changed, stays in force
 * without results for any node (facts.is_late, so onTimeout decides): decisions from the cluster as
 * it was would be wrong without notice. The next attempt is made when the cluster has a tenth
 * fewer nodes, or after CURRENT_RETRY_FACTOR times the time that the last one took.
 *
 * Its fields are the daemon's; others use the functions. Threads: any; current_set_program() only
 * the one that calls measuring_reload().
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
#define CURRENT_RETRY_FACTOR 10 /* so failing attempts take at most a tenth of a thread's time */

/* What making one view may cost. */
typedef struct ViewLimits {
    int64_t cpu_nsec; /* processor time; work is limited in proportion (FACTS_WORK_PER_SEC); 0: no
                         budget */
    size_t bytes;     /* of the results of rules for all nodes */
} ViewLimits;

/* The load of a policy under way, on the calling thread. */
typedef struct PolicyLoad {
    int64_t begun_cpu_nsec;          /* reading and compiling count, too */
    const atomic_bool *is_cancelled; /* may be NULL */
} PolicyLoad;

typedef struct Current {
    pthread_mutex_t lock; /* guards view: held for a pointer and a reference only */
    pthread_cond_t exchanged;
    View *view;

    pthread_mutex_t publish_lock; /* one new view at a time; guards what follows */
    uint64_t owner;               /* of the measurements of the program in force */
    Measuring *measuring;         /* borrowed; NULL: nothing is measured yet */
    const Exemptions *exemptions; /* borrowed; set before the first view. May be NULL */
    bool may_await_cluster;       /* a cluster is to come: it is watched */
    ViewLimits limits;            /* set before the first view */
    int64_t retry_at_nsec;        /* monotonic; while the view in force is late, like ... */
    size_t n_nodes_exceeded;      /* ... the nodes of the last attempt */
    void *context;
    /* Another view is in force; called with publish_lock. May be NULL. */
    void (*changed)(void *context, const View *before, const View *after);
    /* The program in force exceeds the budget: a message for users; NULL: it fits again. As above.
     */
    void (*exceeded)(void *context, const char *message);
} Current;

#define CURRENT_INIT                                                                               \
    ((Current){.lock = PTHREAD_MUTEX_INITIALIZER,                                                  \
        .exchanged = PTHREAD_COND_INITIALIZER,                                                     \
        .publish_lock = PTHREAD_MUTEX_INITIALIZER})

/* Makes the first view; @snapshot may be NULL, @zones must live longer. 0, or an error as of
 * current_set_program(). */
int current_begin(Current *current, Snapshot *snapshot, Program *program, const CelZones *zones,
    const PolicyLoad *load, char *error, size_t size) MUST_CHECK;
void current_done(Current *current);

/* A reference to the view in force, for the caller. */
View *current_view(Current *current);

/* Another cluster. 0, or -ENOMEM: as it was. */
int current_set_snapshot(Current *current, Snapshot *snapshot) MUST_CHECK;

/* A view like @shown, one that was in force, with another cluster; it does not come into force. 0
 * or -ENOMEM. */
int current_try_snapshot(Current *current, const View *shown, Snapshot *snapshot, View **ret)
    MUST_CHECK;

/* Another program, or the same now that metrics are polled: its gauges are followed from now on.
 * Most of the work is done without publish_lock. 0; or a negative errno with a message for users
 * in @error (of @size bytes): as it was. -EINVAL: the budget is exhausted; -ECANCELED: it was
 * cancelled. */
int current_set_program(Current *current, Program *program, const PolicyLoad *load, char *error,
    size_t size) MUST_CHECK;

/* New numbers. Those of another program than the one in force are dropped: a reload came between.
 * 0, or -ENOMEM: as it was. */
int current_set_measured(Current *current, Measurements *measurements) MUST_CHECK;

/* Whether a value of @view has expired by @now_nsec (monotonic), or depends on a wall clock that
 * was set since. */
bool current_is_due(const View *view, int64_t now_nsec);

/* Makes a new view if a value has expired by @now_nsec (monotonic), or depends on a wall clock that
 * was set since. 0, or -ENOMEM: unchanged. */
int current_refresh(Current *current, int64_t now_nsec) MUST_CHECK;

/*
 * NodeWait: kube-scheduler may know a new node before berth's watch shows it. If a pod passes no
 * node because of that, kube-scheduler would not try it again for up to five minutes: so its filter
 * waits a moment for the node, and is decided again.
 *
 * One filter waits at a time, as kube-scheduler sends them; after a wait that failed none does for
 * NODE_WAIT_PAUSE_NSEC, so that a watch that has stopped does not slow every filter down.
 */

#define NODE_WAIT_NSEC (100 * NSEC_PER_MSEC)
#define NODE_WAIT_PAUSE_NSEC NSEC_PER_SEC

typedef struct NodeWait {
    _Atomic int64_t not_before_nsec; /* monotonic; 0: a filter may wait at any time */
} NodeWait;

/* A filter was decided over @view, one that was in force. If it passed no node and named some that
 * @view does not have: waits until a view in force has them all, at most @limit_nsec. A reference
 * to the newer view to decide over, or NULL: there is none. Not on a thread that publishes views.
 */
View *node_wait(NodeWait *wait, Current *current, const View *view, const Decision *decision,
    int64_t limit_nsec);
