#pragma once

/*
 * Lease: which of several berths binds (coordination.k8s.io/v1).
 *
 * The berth that gets requests takes it. A berth that gets a filter wants the lease, and mostly has
 * it before the bind of that pod comes; after LEASE_IDLE_SEC without a request it releases it. So
 * the lease follows kube-scheduler: to the berth beside the scheduler that leads, or to the one
 * that a Service sends its connections to. On an idle cluster nothing is written at all.
 *
 * The holder renews it every LEASE_RETRY_SEC; when that fails for LEASE_RENEW_SEC, it no longer
 * holds the lease. Only later may others take it: LEASE_DURATION_SEC after they saw the last
 * renewal, by their own monotonic clock, so clocks of machines need not agree. A berth that shuts
 * down releases the lease at once.
 *
 * Threads: the client's.
 */

#include "kube/client.h"

#define LEASE_HOLDER_MAX 288u /* a pod's name and a random part; longer ones are cut */
#define LEASE_DURATION_SEC 15
#define LEASE_RENEW_SEC 10
#define LEASE_RETRY_SEC 2
#define LEASE_IDLE_SEC 10
#define LEASE_CALL_SEC 3      /* one try; three of them fit into LEASE_RENEW_SEC */
#define LEASE_PAUSE_MSEC 1000 /* after one that failed */
#define LEASE_TEXT_MAX LEASE_HOLDER_MAX

typedef struct Lease Lease;

typedef struct LeaseObject {
    const char *namespace, *name;
} LeaseObject;

typedef struct LeaseOptions {
    Client *client;
    LeaseObject object;
    const char *identity; /* holderIdentity: unique to this process */
    void *context;
    /* Called when the hold, the holder or the error has changed. May be NULL. */
    void (*changed)(void *context);
} LeaseOptions;

/* NULL when out of memory. The options' texts outlive it. */
Lease *lease_new(const LeaseOptions *options);
Lease *lease_free(Lease *lease); /* does not release a held lease: lease_release(). Takes NULL */

/* A request has come: the lease is wanted for another LEASE_IDLE_SEC. Here and below, @now_nsec is
 * monotonic. */
void lease_want(Lease *lease, int64_t now_nsec);

/* Whether this process may send a Binding at @now_nsec. */
bool lease_is_held(const Lease *lease, int64_t now_nsec);

/* A counter that grows when we take the lease and another berth may have held it since our last
 * hold: then the binds of that berth must be known before we bind. 0: never held. */
uint64_t lease_term(const Lease *lease);

/* Releases the lease if it is held, and never takes it again. Returns true when nothing is left to
 * do; until then call it again. */
bool lease_release(Lease *lease);

/* Does the work that is due; returns when to call again. INT64_MAX: when the lease is wanted. */
int64_t lease_tick(Lease *lease, int64_t now_nsec);

typedef struct LeaseStatus {
    bool is_held, is_wanted;
    char holder[LEASE_TEXT_MAX]; /* as last seen; empty: none */
    char error[LEASE_TEXT_MAX];  /* why it cannot be acquired; empty: no error */
    uint64_t n_taken, n_lost;
} LeaseStatus;

void lease_status(const Lease *lease, LeaseStatus *ret);
