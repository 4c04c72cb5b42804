#pragma once

/*
 * Binder: the bind jobs under way.
 *
 *     job ── known already? ── judge ── assume in the store ── Binding ── done
 *
 * Jobs are judged one after the other, each with everything before it assumed, so that
 * two pods never get the last free place. A job that repeats one under way (same UID,
 * same node) is not sent again: both get one result. At most BINDER_CALLS_MAX are on
 * their way at a time; the others wait, and are judged when it is their turn.
 *
 * Where several berths take turns (kube/lease.h), jobs wait until it is ours, and are judged then.
 *
 * A pod stays assumed when it was bound, until the watch shows it, and when the result is unknown;
 * every other end takes it back. A pod that is assumed on another node is read first, and counts
 * there meanwhile: kube-scheduler missed the reply, or the API server's answer was lost. It is
 * bound here only if it has no node WATCHER_BIND_SEC after it was sent there, and BINDING_POST_SEC
 * after its result was found to be unknown, when no Binding can still be on its way. A pod that is
 * found on another node counts there.
 *
 * A pod that kube-scheduler is expected to bind is judged and assumed, too, for a shorter time; its
 * job ends with binder_settle_expected(). One that the watch has shown to be deleted is not: its
 * filter came late. Where berth binds, no pod is expected.
 *
 * Threads: the client's.
 */

#include "cluster/store.h"
#include "kube/client.h"
#include "kube/cluster-watcher.h"

#define BINDER_CALLS_MAX 64u /* connections that binds may take */

typedef struct Binder Binder;

typedef enum BindEnd {
    BIND_BOUND,
    BIND_EXPECTED, /* nothing was sent */
    BIND_REFUSED,  /* by judge() */
    BIND_FAILED,   /* in any other way */
} BindEnd;

typedef struct BinderOptions {
    Client *client;
    Store *store;
    void *context;
    /* The cluster with everything applied so far; borrowed until the next call. NULL when it
     * is not known yet, or when out of memory. */
    Snapshot *(*snapshot)(void *context);
    /* Whether a Binding may be sent now: called before it is judged, and once more right before it
     * leaves, for a process may have been halted in between; if not, why, in @error
     * (WATCHER_ERROR_MAX; may be NULL). NULL: always. */
    bool (*may_send)(void *context, char *error);
    /* A job has got its done(), and is gone. */
    void (*ended)(void *context, BindEnd end);
} BinderOptions;

/* NULL when out of memory. */
Binder *binder_new(const BinderOptions *options);

/* Jobs that are left get done() with an error. Takes NULL. */
Binder *binder_free(Binder *binder);

/* Takes @job, which may be done by the time this returns. */
void binder_add(Binder *binder, BindJob *job);

/* Ends the jobs of expected pods. Call it when a snapshot with these pods has been published. */
void binder_settle_expected(Binder *binder);

bool binder_is_idle(const Binder *binder); /* it has no job */

/* Idle, and the API server can no longer commit a Binding whose result is unknown: another replica
 * may bind. */
bool binder_is_decided(const Binder *binder);

/* Does the work that is due; returns when to call again, unless may_send() has changed. */
int64_t binder_tick(Binder *binder, int64_t now_nsec);
