#pragma once

/*
 * BindPermit: whether this berth may bind now, where several take turns.
 *
 * It may while it holds the lease (kube/lease.h) and knows what those before it have bound. A
 * ledger is in memory, and a watch lags behind: after taking over, the last Bindings of the one
 * before may not have reached us. So whenever another berth may have held the lease since we last
 * did, all pods are listed anew, from what is committed (no cached version will do), and nothing is
 * bound until that list is whole. The list is begun after our own write of the lease was committed;
 * who held it before has sent his last Binding before that:
 *
 *     former holder    ── last Binding ── gives up, or LEASE_RENEW_SEC without a renewal
 *     lease                                     ── taken (at least LEASE_DURATION_SEC later) ──
 *     new holder                                                  list ── whole ── first Binding
 *
 * A Binding has BINDING_POST_SEC to be answered, which is what lies between LEASE_RENEW_SEC and
 * LEASE_DURATION_SEC; and right before it leaves the permit is checked once more. The residual risk
 * is a Binding that the API server took from a berth which crashed or was cut off, and commits only
 * after the new holder's list: more than these five seconds later.
 *
 * Threads: the client's.
 */

#include "kube/client.h"
#include "kube/lease.h"
#include "kube/reflector.h"

typedef struct BindPermit BindPermit;

typedef struct BindPermitOptions {
    LeaseOptions lease; /* its texts outlive the permit */
    Reflector *pods;    /* the same */
} BindPermitOptions;

BindPermit *bind_permit_new(const BindPermitOptions *options); /* NULL when out of memory */
BindPermit *bind_permit_free(BindPermit *permit);              /* takes NULL */
DEFINE_CLEANUP(BindPermit *, bind_permit_free)

/* A request has come, or there is something to bind. */
void bind_permit_request(BindPermit *permit, int64_t now_nsec);

/* Whether a Binding may be sent now. */
bool bind_permit_is_valid(const BindPermit *permit, int64_t now_nsec);

/* Why it may not, for a person. */
void bind_permit_explain(const BindPermit *permit, char *text, size_t size);

/* As lease_tick() and lease_release(). */
int64_t bind_permit_tick(BindPermit *permit, int64_t now_nsec);
bool bind_permit_release(BindPermit *permit);

void bind_permit_status(const BindPermit *permit, LeaseStatus *ret);
