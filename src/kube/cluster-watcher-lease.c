/*
 * Decides whether this replica may bind, where several replicas share a lease.
 *
 * It may while it holds the lease (kube/lease.h) and knows which pods earlier holders have bound. A
 * ledger is in memory, and a watch lags behind: after a takeover the last Bindings of the former
 * holder may be missing. So whenever another replica may have held the lease since this one last
 * did, all pods are listed again, from committed state (not from a cache), and nothing is bound
 * until that list is complete. The list begins after our write of the lease was committed; the
 * former holder has sent its last Binding before that:
 *
 *     former holder    ── last Binding ── gives up, or LEASE_RENEW_SEC without a renewal
 *     lease                                     ── taken (at least LEASE_DURATION_SEC later) ──
 *     new holder                                                list ── complete ── first Binding
 *
 * A Binding must be answered within BINDING_POST_SEC, the time between LEASE_RENEW_SEC and
 * LEASE_DURATION_SEC, and watcher_may_bind() is called again right before it is sent. The residual
 * risk is a Binding that the API server received from a replica which crashed or was cut off, and
 * that it commits only after the new holder's list: more than these five seconds later.
 */

#include <assert.h>

#include "base/clock.h"
#include "base/message.h"
#include "kube/binding.h"
#include "kube/cluster-watcher-internal.h"

static_assert(LEASE_RENEW_SEC + BINDING_POST_SEC <= LEASE_DURATION_SEC,
    "a Binding is over before another berth may bind");

/* If the lease is wanted and not held: reports errors, at a limited rate, and new holders. */
static void notify_held_elsewhere(ClusterWatcher *watcher, const LeaseStatus *lease) {
    const LeaseStatus *before = &watcher->lease_reported;
    bool is_trouble = lease->error[0] != '\0';
    bool is_other = lease->holder[0] != '\0' && strcmp(lease->holder, before->holder) != 0;

    if (lease->is_held || !lease->is_wanted)
        return;
    if (is_trouble && (strcmp(lease->error, before->error) != 0 || !before->is_wanted) &&
        watcher_may_notify(&watcher->lease_reported_at))
        watcher_notify(
            watcher, (WatcherNotice){.event = WATCHER_LEASE_FAILED, .why = lease->error});
    else if (is_other && !is_trouble && strcmp(lease->holder, watcher->options.identity) != 0)
        watcher_notify(
            watcher, (WatcherNotice){.event = WATCHER_LEASE_HELD_ELSEWHERE, .why = lease->holder});
}

static void on_lease_changed(void *context) {
    ClusterWatcher *watcher = context;
    const LeaseStatus *before = &watcher->lease_reported;
    LeaseStatus lease;

    lease_status(watcher->lease, &lease);
    if (lease.is_held && !before->is_held)
        watcher_notify(
            watcher, (WatcherNotice){.event = WATCHER_LEASE_TAKEN, .why = before->holder});
    else if (!lease.is_held && before->is_held && lease.n_lost > before->n_lost)
        watcher_notify(watcher, (WatcherNotice){.event = WATCHER_LEASE_LOST,
                                    .why = lease.error[0] ? lease.error : lease.holder});
    else if (!lease.is_held && before->is_held)
        watcher_notify(watcher, (WatcherNotice){.event = WATCHER_LEASE_RELEASED});
    else
        notify_held_elsewhere(watcher, &lease);
    watcher->lease_reported = lease;
}

bool watcher_make_lease(ClusterWatcher *watcher) {
    const WatcherOptions *options = &watcher->options;

    if (!options->lease.name)
        return true;
    watcher->lease = lease_new(&(LeaseOptions){.client = watcher->client,
        .object = options->lease,
        .identity = options->identity,
        .context = watcher,
        .changed = on_lease_changed});
    return watcher->lease;
}

/* Called for each request, so it writes the flag only if it is not set. */
void watcher_note_request(ClusterWatcher *watcher) {
    if (watcher->writes[WATCHER_NOMINATIONS])
        atomic_store_explicit(&watcher->requested_at, clock_monotonic_nsec(), memory_order_relaxed);
    if (!watcher->lease)
        return;
    if (!atomic_load_explicit(&watcher->is_requested, memory_order_relaxed))
        atomic_store(&watcher->is_requested, true);
    if (!atomic_load(&watcher->is_wanted))
        client_wake(watcher->client);
}

/* Reads is_requested again after storing is_wanted: a request in between saw the old is_wanted and
 * did not wake this thread. Running jobs need the lease, too: a Binding may be sent. */
int64_t watcher_tick_lease(ClusterWatcher *watcher, int64_t now_nsec) {
    LeaseStatus lease;
    int64_t next_at;

    if (!watcher->lease)
        return INT64_MAX;
    if (atomic_exchange(&watcher->is_requested, false) || !binder_is_idle(watcher->binder))
        lease_want(watcher->lease, now_nsec);
    next_at = lease_tick(watcher->lease, now_nsec);
    if (watcher->lease_term != lease_term(watcher->lease)) {
        watcher->lease_term = lease_term(watcher->lease);
        watcher->listed_by = clock_monotonic_nsec();
        reflector_list_again(watcher->resources[WATCHER_PODS].reflector);
    }
    lease_status(watcher->lease, &lease);
    atomic_store(&watcher->is_wanted, lease.is_wanted);
    return !lease.is_wanted && atomic_load(&watcher->is_requested) ? now_nsec : next_at;
}

/* Why this replica may not bind, for users. */
static void explain(const ClusterWatcher *watcher, char *text) {
    const char *namespace = watcher->options.lease.namespace, *name = watcher->options.lease.name;
    const char *identity = watcher->options.identity;
    LeaseStatus status;

    lease_status(watcher->lease, &status);
    if (status.is_held)
        message_set(text, WATCHER_ERROR_MAX,
            "this berth has taken the lease %s/%s, and is still listing the pods that were bound "
            "before",
            namespace, name);
    else if (status.error[0] != '\0')
        message_set(text, WATCHER_ERROR_MAX, "cannot take the lease %s/%s, whose holder binds: %s",
            namespace, name, status.error);
    else if (status.holder[0] != '\0' && strcmp(status.holder, identity) != 0)
        message_set(text, WATCHER_ERROR_MAX, "%s holds the lease %s/%s and binds; this is %s",
            status.holder, namespace, name, identity);
    else
        message_set(text, WATCHER_ERROR_MAX,
            "did not get the lease %s/%s, whose holder binds, in time", namespace, name);
}

bool watcher_may_bind(void *context, char *error) {
    const ClusterWatcher *watcher = context;
    const Reflector *pods = watcher->resources[WATCHER_PODS].reflector;

    if (!watcher->lease || (lease_is_held(watcher->lease, clock_monotonic_nsec()) &&
                               watcher->lease_term == lease_term(watcher->lease) &&
                               reflector_figures(pods)->listed_at_nsec >= watcher->listed_by))
        return true;
    if (error)
        explain(watcher, error);
    return false;
}
