#pragma once

/*
 * Bypass: pods that were bound without a filter request to berth.
 *
 * kube-scheduler skips an extender that is `ignorable` and cannot be reached, and reports it only
 * in its own log. A scheduler that calls berth sends a filter request for every pod before it binds
 * it (or only for pods that request a managed resource, if so configured). So a pod that such a
 * scheduler binds, and that is not in RecentPods, bypassed every policy.
 *
 * Pods that no policy applies to (policy/exemption.h) bypass nothing.
 *
 * A scheduler that has sent nothing for BYPASS_ASKED_SEC may use another replica by now, after a
 * change of the leader or by a Service. Its pods are not counted then.
 *
 * In the first BYPASS_GRACE_SEC after the first list none is counted: their filter requests may
 * have come before berth started.
 *
 * Threads: any.
 */

#include <stdatomic.h>

#include "history/recent-pods.h"
#include "model/pod.h"
#include "policy/exemption.h"

#define BYPASS_GRACE_SEC 60
#define BYPASS_ASKED_SEC 600

/* Whether schedulers call berth for @pod: it requests one of @managed, or @n_managed is 0. */
bool pod_is_managed(const Pod *pod, const Str *managed, size_t n_managed);

typedef struct Bypass {
    RecentPods *recent; /* borrowed, like the next three */
    const Str *managed; /* as above */
    size_t n_managed;
    const Exemptions *exempt;       /* may be NULL */
    _Atomic int64_t synced_at_nsec; /* 0: not yet */
    _Atomic uint64_t n;             /* pods that bypassed berth */
} Bypass;

/* The cluster has been listed. Later calls have no effect. */
void bypass_note_synced(Bypass *bypass, int64_t now_nsec);

/* Counts @pod, which got its node, if it bypassed berth. Returns whether it did. */
bool bypass_note_bound(Bypass *bypass, const Pod *pod, int64_t now_nsec);
