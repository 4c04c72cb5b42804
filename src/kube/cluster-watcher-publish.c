/*
 * What the store has becomes a snapshot, and the snapshot is shown to whoever decides by it. One
 * that is not taken stays the newest, and is shown again.
 */

#include "base/clock.h"
#include "kube/cluster-watcher-internal.h"

#define PUBLISH_PAUSE_NSEC NSEC_PER_SEC /* after a snapshot could not be made, or shown */

static void say_known(const ClusterWatcher *watcher) {
    StoreFigures figures;

    store_figures(watcher->store, &figures);
    watcher_say(watcher,
        (WatcherNotice){.event = WATCHER_SYNCED,
            .n_nodes = figures.n_nodes,
            .n_pods = figures.n_pods,
            .msec = (clock_monotonic_nsec() - watcher->began_at) / NSEC_PER_MSEC});
}

static bool is_complete(const ClusterWatcher *watcher) {
    for (size_t i = 0; i < _WATCHER_KINDS; i++)
        if (!reflector_figures(watcher->resources[i].reflector)->is_synced)
            return false;
    return true;
}

/* 0, or -ENOMEM: the one there is stays. */
static int refresh(ClusterWatcher *watcher) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    int r = store_publish(watcher->store, &snapshot);

    if (r < 0)
        return r;
    if (snapshot == watcher->snapshot)
        return 0;
    snapshot_unref(watcher->snapshot);
    watcher->snapshot = TAKE_PTR(snapshot);
    watcher->is_shown = false;
    return 0;
}

/* Whether it was taken. */
static bool show(ClusterWatcher *watcher) {
    if (!watcher->callbacks.publish(watcher->callbacks.context, watcher->snapshot))
        return false;
    if (watcher->n_published++ == 0)
        say_known(watcher);
    watcher->is_shown = true;
    atomic_store_explicit(&watcher->is_synced, true, memory_order_release);
    return true;
}

/* The first event after a quiet time is shown at once, those behind it a turn later:
 * a burst costs as many snapshots as it lasts turns. Returns when it is due. */
int64_t watcher_show(ClusterWatcher *watcher, int64_t now_nsec) {
    int64_t due = watcher->shown_at + WATCHER_TURN_MSEC * NSEC_PER_MSEC;
    bool has_news = !watcher->snapshot || !watcher->is_shown || store_is_dirty(watcher->store);

    if (!has_news || !is_complete(watcher))
        return INT64_MAX;
    if (now_nsec < watcher->publish_at)
        return watcher->publish_at;
    if (!watcher->is_urgent && now_nsec < due)
        return due;
    watcher->is_urgent = false;
    if (refresh(watcher) < 0 || (!watcher->is_shown && !show(watcher))) {
        watcher->publish_at = clock_monotonic_nsec() + PUBLISH_PAUSE_NSEC;
        return watcher->publish_at;
    }
    watcher->shown_at = clock_monotonic_nsec();
    return INT64_MAX;
}

/* Everybody else sees it before the loop waits, and so before a Binding leaves, unless publish()
 * does not take it. */
Snapshot *watcher_current_snapshot(void *context) {
    ClusterWatcher *watcher = context;

    if (!is_complete(watcher) || refresh(watcher) < 0)
        return NULL;
    watcher->is_urgent = true;
    return watcher->snapshot;
}
