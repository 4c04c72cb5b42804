/* Writes marks of nodes, Events, published filters, the status of policies, nominations. */

#include "base/clock.h"
#include "kube/cluster-watcher-internal.h"

WriteQueue *watcher_writes(const ClusterWatcher *watcher, WatcherWrites which) {
    return watcher->writes[which];
}

bool watcher_may_write(const ClusterWatcher *watcher, WatcherWrites which) {
    return watcher->writes[which] && write_queue_is_ours(watcher->writes[which]);
}

int64_t watcher_send_writes(ClusterWatcher *watcher, int64_t now_nsec) {
    static const WatcherEvent forbidden[_WATCHER_WRITES] = {
        [WATCHER_NOMINATIONS] = WATCHER_NOMINATE_FORBIDDEN,
        [WATCHER_MARKS] = WATCHER_MARKS_FORBIDDEN,
        [WATCHER_EVENTS] = WATCHER_EVENTS_FORBIDDEN,
        [WATCHER_PUBLISHED] = WATCHER_PUBLISH_FORBIDDEN,
        [WATCHER_REPORTS] = WATCHER_REPORT_FORBIDDEN,
    };
    int64_t next_at = INT64_MAX, requested_at = atomic_load(&watcher->requested_at);

    /* The lease of nominations is wanted only while kube-scheduler calls this replica. */
    if (watcher->writes[WATCHER_NOMINATIONS])
        write_queue_set_wanted(watcher->writes[WATCHER_NOMINATIONS],
            requested_at != 0 && now_nsec < requested_at + WATCHER_NOMINATE_SEC * NSEC_PER_SEC);
    for (size_t i = 0; i < _WATCHER_WRITES; i++) {
        WriteQueue *queue = watcher->writes[i];

        if (!queue)
            continue;
        next_at = clock_earlier(next_at, write_queue_tick(queue, now_nsec));
        if (watcher->has_reported_forbidden[i] || !write_queue_figures(queue).is_forbidden)
            continue;
        watcher->has_reported_forbidden[i] = true;
        watcher_notify(watcher, (WatcherNotice){.event = forbidden[i]});
    }
    return next_at;
}

bool watcher_make_writes(ClusterWatcher *watcher) {
    const WatcherOptions *options = &watcher->options;
    const struct {
        bool is_wanted;
        WatcherWrites which;
        LeaseObject lease;
        unsigned n_calls;
    } patches[] = {
        {options->publishes, WATCHER_PUBLISHED, options->publish_lease, PUBLISH_CALLS},
        {options->policies, WATCHER_REPORTS, options->policies_lease, PUBLISH_CALLS},
        {options->nominates, WATCHER_NOMINATIONS, options->nominate_lease, NOMINATION_CALLS},
    };
    bool has_all = true;

    watcher->writes[WATCHER_MARKS] = mark_queue_new(watcher->client);
    if (options->posts_events)
        watcher->writes[WATCHER_EVENTS] = event_queue_new(watcher->client);
    for (size_t i = 0; i < ELEMENTS_OF(patches); i++) {
        WriteQueue **queue = &watcher->writes[patches[i].which];

        if (patches[i].is_wanted)
            *queue = patch_queue_new(&(LeaseOptions){.client = watcher->client,
                                         .object = patches[i].lease,
                                         .identity = options->identity},
                patches[i].n_calls);
        has_all &= *queue || !patches[i].is_wanted;
    }
    return has_all && watcher->writes[WATCHER_MARKS] &&
           (watcher->writes[WATCHER_EVENTS] || !options->posts_events);
}
