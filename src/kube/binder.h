#pragma once

/*
 * Binder: the bind jobs under way.
 *
 *     job ── known already? ── judge ── assume in the store ── Binding ── done
 *
 * Jobs are judged one by one, each after the pods before it are assumed, so that two pods never get
 * the last free slot. A job that repeats a running one (same UID and node) is not sent again: both
 * get one result. At most BINDER_CALLS_MAX Bindings are sent at a time; other jobs wait, and are
 * judged before they are sent.
 *
 * If several replicas share a lease (kube/lease.h), jobs wait until this one holds it.
 *
 * A bound pod stays assumed until the watch shows it, and so does a pod whose result is unknown;
 * otherwise it is no longer assumed. A pod that is assumed on another node (kube-scheduler missed
 * the reply, or the API server's answer was lost) is read first, and counts there meanwhile. It is
 * bound here only if it has no node WATCHER_BIND_SEC after it was sent there, and BINDING_POST_SEC
 * after its result became unknown: then that Binding can no longer be committed. A pod that is
 * found on another node counts there.
 *
 * A pod that kube-scheduler is expected to bind is judged and assumed, too, for a shorter time,
 * unless it was already deleted; its job ends with binder_settle_expected(). If berth binds, no pod
 * is expected.
 *
 * Threads: only the client's.
 */

#include "cluster/store.h"
#include "kube/client.h"
#include "kube/cluster-watcher.h"

#define BINDER_CALLS_MAX 64u /* concurrent calls */

typedef struct Binder Binder;

typedef enum BindEnd {
    BIND_BOUND,
    BIND_EXPECTED, /* a pod that kube-scheduler will bind; nothing was sent */
    BIND_REFUSED,  /* judge() rejected it */
    BIND_FAILED,   /* for any other reason */
} BindEnd;

typedef struct BinderOptions {
    Client *client;
    Store *store;
    void *context;
    /* The current cluster; borrowed until the next call. NULL if it is not known yet, or out of
     * memory. */
    Snapshot *(*snapshot)(void *context);
    /* Whether a Binding may be sent now; called before it is judged, and again right before it is
     * sent, because the process may be halted in between. If not, @error (WATCHER_ERROR_MAX; may be
     * NULL) has the reason. NULL: always. */
    bool (*may_send)(void *context, char *error);
    /* Called after a job's done(). */
    void (*ended)(void *context, BindEnd end);
} BinderOptions;

/* Copies @options. NULL when out of memory. */
Binder *binder_new(const BinderOptions *options);

/* Ends remaining jobs with an error. Takes NULL. */
Binder *binder_free(Binder *binder);

/* Takes @job; its done() may be called before this returns. */
void binder_add(Binder *binder, BindJob *job);

/* Ends the jobs of expected pods. Call it after publishing a snapshot with these pods. */
void binder_settle_expected(Binder *binder);

bool binder_is_idle(const Binder *binder); /* whether it has no job */

/* Whether it is idle, and no Binding with unknown result can be committed any more: then another
 * replica may bind. */
bool binder_is_decided(const Binder *binder);

/* Does due work; returns when to call again; call it also when may_send() changes. */
int64_t binder_tick(Binder *binder, int64_t now_nsec);
