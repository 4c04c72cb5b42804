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

#include "kube/lease.h"
#include "kube/reflector.h"

typedef struct BindPermit {
    LeaseOptions options; /* its texts outlive the permit */
    Lease *lease;         /* made of them, the owner's; NULL: there is one berth */
    Reflector *pods;
    uint64_t term;     /* of the lease, for which pods have been, or are being, listed */
    int64_t listed_by; /* that list was begun at this time, or later */
} BindPermit;

/* Whether a Binding may be sent now. */
bool bind_permit_is_valid(const BindPermit *permit, int64_t now_nsec);

/* Why it may not, for a person. */
void bind_permit_explain(const BindPermit *permit, char *text, size_t size);

/* As lease_tick(). */
int64_t bind_permit_tick(BindPermit *permit, int64_t now_nsec);
