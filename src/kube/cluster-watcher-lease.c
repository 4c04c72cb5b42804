/*
 * Where several berths take turns: the lease is wanted while somebody asks or a job is under way,
 * and people hear of whose it is.
 */

#include <string.h>

#include "base/clock.h"
#include "kube/cluster-watcher-internal.h"

/* Who asks again and again, and somebody else binds, is told of that now and then. */
static void say_elsewhere(ClusterWatcher *watcher, const LeaseStatus *lease) {
    const LeaseStatus *said = &watcher->lease_said;
    bool is_trouble = lease->error[0] != '\0';
    bool is_other = lease->holder[0] != '\0' && strcmp(lease->holder, said->holder) != 0;

    if (lease->is_held || !lease->is_wanted)
        return;
    if (is_trouble && (strcmp(lease->error, said->error) != 0 || !said->is_wanted) &&
        watcher_may_say(&watcher->lease_said_at))
        watcher_say(watcher, (WatcherNotice){.event = WATCHER_LEASE_FAILED, .why = lease->error});
    else if (is_other && !is_trouble && strcmp(lease->holder, watcher->options.identity) != 0)
        watcher_say(
            watcher, (WatcherNotice){.event = WATCHER_LEASE_HELD_ELSEWHERE, .why = lease->holder});
}

static void on_lease_changed(void *context) {
    ClusterWatcher *watcher = context;
    const LeaseStatus *said = &watcher->lease_said;
    LeaseStatus lease;

    bind_permit_status(watcher->permit, &lease);
    if (lease.is_held && !said->is_held)
        watcher_say(watcher, (WatcherNotice){.event = WATCHER_LEASE_TAKEN, .why = said->holder});
    else if (!lease.is_held && said->is_held && lease.n_lost > said->n_lost)
        watcher_say(watcher,
            (WatcherNotice){
                .event = WATCHER_LEASE_LOST, .why = lease.error[0] ? lease.error : lease.holder});
    else if (!lease.is_held && said->is_held)
        watcher_say(watcher, (WatcherNotice){.event = WATCHER_LEASE_RELEASED});
    else
        say_elsewhere(watcher, &lease);
    watcher->lease_said = lease;
}

bool watcher_make_permit(ClusterWatcher *watcher) {
    if (!watcher->options.lease_name)
        return true;
    watcher->permit = bind_permit_new(&(BindPermitOptions){
        .client = watcher->client,
        .namespace = watcher->options.lease_namespace,
        .name = watcher->options.lease_name,
        .identity = watcher->options.identity,
        .pods = watcher->resources[WATCHER_PODS].reflector,
        .clock = clock_monotonic_nsec,
        .wall_clock = clock_wall_nsec,
        .context = watcher,
        .changed = on_lease_changed,
    });
    return watcher->permit != NULL;
}

/* In the steady state both are set, and nothing is written. */
void watcher_note_asked(ClusterWatcher *watcher) {
    if (!watcher->permit)
        return;
    if (!atomic_load_explicit(&watcher->is_asked, memory_order_relaxed))
        atomic_store(&watcher->is_asked, true);
    if (!atomic_load(&watcher->is_wanted))
        client_wake(watcher->client);
}

/* The flag that is set first is read last, so that a note is never between the two. Who has jobs
 * wants the lease, too: it is not given up while a Binding is under way. */
int64_t watcher_tend_lease(ClusterWatcher *watcher, int64_t now_nsec) {
    LeaseStatus lease;
    int64_t next_at;

    if (!watcher->permit)
        return INT64_MAX;
    if (atomic_exchange(&watcher->is_asked, false) || !binder_is_idle(watcher->binder))
        bind_permit_request(watcher->permit, now_nsec);
    next_at = bind_permit_tick(watcher->permit, now_nsec);
    bind_permit_status(watcher->permit, &lease);
    atomic_store(&watcher->is_wanted, lease.is_wanted);
    return !lease.is_wanted && atomic_load(&watcher->is_asked) ? now_nsec : next_at;
}

bool watcher_may_bind(void *context, char *error) {
    const ClusterWatcher *watcher = context;

    if (!watcher->permit || bind_permit_is_valid(watcher->permit, clock_monotonic_nsec()))
        return true;
    if (error)
        bind_permit_explain(watcher->permit, error, WATCHER_ERROR_MAX);
    return false;
}
