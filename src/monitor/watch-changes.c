/* Notes changes of the watched cluster: lost, back, listed again, Lease, bypass. */

#include "monitor/watch-changes.h"

#include <stdio.h>

#include "base/nsec.h"

typedef struct WatchLook {
    WatchChanges *watch;
    const LiveStatus *live;
    Changes *changes;
    int64_t wall_nsec, now_nsec;
} WatchLook;

static bool is_lost(const WatcherKindStatus *kind, int64_t limit_nsec, int64_t now_nsec) {
    int64_t silence_nsec = now_nsec - kind->updated_at_nsec;

    if (!kind->is_synced)
        return false;
    if (silence_nsec > WATCHER_SILENCE_SEC * NSEC_PER_SEC)
        return true;
    return !kind->is_connected && silence_nsec > limit_nsec;
}

bool watch_is_lost(const WatcherStatus *watcher, int64_t silence_nsec, int64_t now_nsec,
    int64_t *ret_updated_nsec) {
    bool lost = false;

    *ret_updated_nsec = watcher->kinds[0].updated_at_nsec;
    for (size_t i = 0; i < _WATCHER_KINDS; i++) {
        int64_t updated = watcher->kinds[i].updated_at_nsec;

        lost |= is_lost(&watcher->kinds[i], silence_nsec, now_nsec);
        *ret_updated_nsec = updated < *ret_updated_nsec ? updated : *ret_updated_nsec;
    }
    return lost;
}

static void note(const WatchLook *look, ChangeKind kind, const char *what, const char *text) {
    changes_note(look->changes, kind, look->wall_nsec, str_from_c(what), str_from_c(text));
}

static const char *error_of(const WatcherStatus *watcher) {
    for (size_t i = 0; i < _WATCHER_KINDS; i++)
        if (watcher->kinds[i].last_error[0])
            return watcher->kinds[i].last_error;
    return "";
}

static void look_at_connection(const WatchLook *look) {
    WatchChanges *watch = look->watch;
    const WatcherStatus *watcher = &look->live->watcher;
    int64_t updated_nsec;
    bool lost =
        watch_is_lost(watcher, WATCH_LOST_SEC * NSEC_PER_SEC, look->now_nsec, &updated_nsec);
    char text[CHANGES_TEXT_MAX];

    if (lost == watch->is_lost)
        return;
    watch->is_lost = lost;
    if (lost) {
        watch->lost_at_nsec = updated_nsec;
        note(look, CHANGE_WATCH_LOST, "API server", error_of(watcher));
        return;
    }
    (void)snprintf(text, sizeof(text), "after %lld s",
        (long long)((look->now_nsec - watch->lost_at_nsec) / NSEC_PER_SEC));
    note(look, CHANGE_WATCH_BACK, "API server", text);
}

static void look_at_lists(const WatchLook *look) {
    static const char *const names[] = {[WATCHER_NODES] = "nodes", [WATCHER_PODS] = "pods"};
    WatchChanges *watch = look->watch;

    for (size_t i = 0; i < _WATCHER_KINDS; i++) {
        const WatcherKindStatus *kind = &look->live->watcher.kinds[i];

        if (!kind->is_synced)
            continue;
        if (watch->is_known[i] && kind->n_lists > watch->n_lists[i])
            note(look, CHANGE_RELIST, names[i], "listed again");
        watch->is_known[i] = true;
        watch->n_lists[i] = kind->n_lists;
    }
}

static void look_at_lease(const WatchLook *look) {
    const LeaseStatus *lease = &look->live->watcher.lease;
    bool is_held = look->live->watcher.has_lease && lease->is_held;

    if (is_held == look->watch->is_held)
        return;
    look->watch->is_held = is_held;
    if (is_held)
        note(look, CHANGE_LEASE_TAKEN, "lease", "this replica binds");
    else
        note(look, CHANGE_LEASE_LOST, "lease",
            lease->error[0] ? lease->error : "another replica binds");
}

static void look_at_bypass(const WatchLook *look) {
    WatchChanges *watch = look->watch;
    uint64_t n = look->live->n_bypassed - watch->n_bypassed;
    char text[CHANGES_TEXT_MAX];

    if (n == 0 || (watch->bypass_told_at_nsec != 0 && look->now_nsec - watch->bypass_told_at_nsec <
                                                          WATCH_BYPASS_SEC * NSEC_PER_SEC))
        return;
    watch->n_bypassed = look->live->n_bypassed;
    watch->bypass_told_at_nsec = look->now_nsec;
    (void)snprintf(
        text, sizeof(text), "%llu pod%s bypassed berth", (unsigned long long)n, PLURAL(n));
    note(look, CHANGE_BYPASSED, "pods", text);
}

void watch_changes_look(WatchChanges *watch, const LiveStatus *live, Changes *changes,
    int64_t wall_nsec, int64_t now_nsec) {
    const WatchLook look = {watch, live, changes, wall_nsec, now_nsec};

    look_at_connection(&look);
    look_at_lists(&look);
    look_at_lease(&look);
    look_at_bypass(&look);
}
