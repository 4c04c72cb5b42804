#pragma once

/*
 * Lease: decides which of several replicas binds (coordination.k8s.io/v1).
 *
 * The replica that gets requests takes it: a filter makes it want the lease, which it usually holds
 * before the bind of that pod arrives; after LEASE_IDLE_SEC without a request it releases the
 * lease. So the lease follows kube-scheduler: to the replica next to the leading scheduler, or to
 * the one that a Service chooses. In an idle cluster nothing is written.
 *
 * The holder renews it every LEASE_RETRY_SEC; when that fails for LEASE_RENEW_SEC, it no longer
 * holds the lease. Only later may others take it: LEASE_DURATION_SEC after they saw the last
 * renewal, by their own monotonic clock, so clocks of machines need not agree. A replica that shuts
 * down releases the lease at once.
 *
 * Threads: only the client's.
 */

#include "kube/client.h"

#define LEASE_HOLDER_MAX 288u /* a pod's name and a random part; longer names are cut */
#define LEASE_DURATION_SEC 15
#define LEASE_RENEW_SEC 10
#define LEASE_RETRY_SEC 2
#define LEASE_IDLE_SEC 10
#define LEASE_CALL_SEC 3      /* one call; three of them fit into LEASE_RENEW_SEC */
#define LEASE_PAUSE_MSEC 1000 /* after a failed call */
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
    /* Called when the status has changed: held or not, holder, error. May be NULL. */
    void (*changed)(void *context);
} LeaseOptions;

/* NULL when out of memory. Borrows the texts in @options. */
Lease *lease_new(const LeaseOptions *options);
Lease *lease_free(Lease *lease); /* does not release a held lease: lease_release(). Takes NULL */

/* Call it for each request: the lease is wanted for another LEASE_IDLE_SEC. @now_nsec is always
 * monotonic. */
void lease_want(Lease *lease, int64_t now_nsec);

/* Whether this process may send a Binding at @now_nsec. */
bool lease_is_held(const Lease *lease, int64_t now_nsec);

/* A counter that grows when we take the lease and another replica may have held it since our last
 * hold: then its binds must be known before we bind. 0: never held. */
uint64_t lease_term(const Lease *lease);

/* Releases the lease if it is held, and never takes it again. Returns true when done; else call it
 * again. */
bool lease_release(Lease *lease);

/* Does due work; returns when to call again. INT64_MAX: only after lease_want(). */
int64_t lease_tick(Lease *lease, int64_t now_nsec);

typedef struct LeaseStatus {
    bool is_held, is_wanted;
    char holder[LEASE_TEXT_MAX]; /* last known holder; empty: none */
    char error[LEASE_TEXT_MAX];  /* why it cannot be acquired; empty: no error */
    uint64_t n_taken, n_lost;
} LeaseStatus;

void lease_status(const Lease *lease, LeaseStatus *ret);
