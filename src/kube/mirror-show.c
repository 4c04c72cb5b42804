/*
 * What the store has becomes a snapshot, and the snapshot is shown to whoever decides by it. One
 * that is not taken stays the newest, and is shown again.
 */

#include "base/clock.h"
#include "kube/mirror-part.h"

#define PUBLISH_PAUSE_NSEC NSEC_PER_SEC /* after a snapshot could not be made, or shown */

static void say_known(const Mirror *mirror) {
    StoreFigures figures;

    store_figures(mirror->store, &figures);
    mirror_say(mirror,
        (MirrorNotice){.event = MIRROR_KNOWN,
            .n_nodes = figures.n_nodes,
            .n_pods = figures.n_pods,
            .msec = (clock_monotonic_nsec() - mirror->began_at) / NSEC_PER_MSEC});
}

static bool is_complete(const Mirror *mirror) {
    for (size_t i = 0; i < _MIRROR_KINDS; i++)
        if (!reflector_figures(mirror->sides[i].reflector)->is_synced)
            return false;
    return true;
}

/* 0, or -ENOMEM: the one there is stays. */
static int refresh(Mirror *mirror) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    int r = store_publish(mirror->store, &snapshot);

    if (r < 0)
        return r;
    if (snapshot == mirror->snapshot)
        return 0;
    snapshot_unref(mirror->snapshot);
    mirror->snapshot = TAKE_PTR(snapshot);
    mirror->is_shown = false;
    return 0;
}

/* Whether it was taken. */
static bool show(Mirror *mirror) {
    if (!mirror->callbacks.publish(mirror->callbacks.context, mirror->snapshot))
        return false;
    if (mirror->n_published++ == 0)
        say_known(mirror);
    mirror->is_shown = true;
    atomic_store_explicit(&mirror->is_synced, true, memory_order_release);
    return true;
}

/* The first event after a quiet time is shown at once, those behind it a turn later:
 * a burst costs as many snapshots as it lasts turns. Returns when it is due. */
int64_t mirror_show(Mirror *mirror, int64_t now_nsec) {
    int64_t due = mirror->shown_at + MIRROR_TURN_MSEC * NSEC_PER_MSEC;
    bool has_news = !mirror->snapshot || !mirror->is_shown || store_is_dirty(mirror->store);

    if (!has_news || !is_complete(mirror))
        return INT64_MAX;
    if (now_nsec < mirror->publish_at)
        return mirror->publish_at;
    if (!mirror->is_urgent && now_nsec < due)
        return due;
    mirror->is_urgent = false;
    if (refresh(mirror) < 0 || (!mirror->is_shown && !show(mirror))) {
        mirror->publish_at = clock_monotonic_nsec() + PUBLISH_PAUSE_NSEC;
        return mirror->publish_at;
    }
    mirror->shown_at = clock_monotonic_nsec();
    return INT64_MAX;
}

/* Everybody else sees it before the loop waits, and so before a Binding leaves, unless publish()
 * does not take it. */
Snapshot *mirror_current_snapshot(void *context) {
    Mirror *mirror = context;

    if (!is_complete(mirror) || refresh(mirror) < 0)
        return NULL;
    mirror->is_urgent = true;
    return mirror->snapshot;
}
