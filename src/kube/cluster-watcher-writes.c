/* The writes: marks of nodes, Events, published filters, statuses of policies, nominations. */

#include "base/clock.h"
#include "kube/cluster-watcher-internal.h"

/* --- from other threads -------------------------------------------------------------------- */

void watcher_mark_node(ClusterWatcher *watcher, Str node) {
    if (mark_queue_add(watcher->marks, node, WATCHER_RETRY_ANNOTATION, clock_wall_nsec()))
        client_wake(watcher->client);
}

void watcher_post_event(ClusterWatcher *watcher, const PodEvent *event) {
    if (watcher->events &&
        event_queue_add(watcher->events, event, watcher->options.identity, clock_wall_nsec()))
        client_wake(watcher->client);
}

bool watcher_may_publish(const ClusterWatcher *watcher) {
    return watcher->publish && publish_writer_is_ours(watcher->publish);
}

bool watcher_publish(ClusterWatcher *watcher, const PublishChange *change) {
    if (!publish_writer_add(watcher->publish, change))
        return false;
    client_wake(watcher->client);
    return true;
}

bool watcher_may_report(const ClusterWatcher *watcher) {
    return watcher->reports && publish_writer_is_ours(watcher->reports);
}

bool watcher_report(ClusterWatcher *watcher, Buf *path, Buf *body) {
    if (!publish_writer_patch(watcher->reports, path, body))
        return false;
    client_wake(watcher->client);
    return true;
}

bool watcher_may_nominate(const ClusterWatcher *watcher) {
    return watcher->nominate && publish_writer_is_ours(watcher->nominate);
}

bool watcher_nominate(ClusterWatcher *watcher, const Nomination *nomination) {
    if (!nomination_send(nomination, watcher->nominate))
        return false;
    client_wake(watcher->client);
    return true;
}

WriteFigures watcher_nominate_figures(const ClusterWatcher *watcher) {
    return publish_writer_figures(watcher->nominate);
}

/* --- on the watcher's thread --------------------------------------------------------------- */

/* Reports once that the right for a write is missing. */
static void notify_forbidden(
    ClusterWatcher *watcher, WriteFigures figures, bool *has_reported, WatcherEvent event) {
    if (*has_reported || !figures.is_forbidden)
        return;
    *has_reported = true;
    watcher_notify(watcher, (WatcherNotice){.event = event});
}

/* Returns when to call again. */
static int64_t tick_writer(
    ClusterWatcher *watcher, PublishWriter *writer, bool *has_reported, WatcherEvent event) {
    if (!writer)
        return INT64_MAX;
    notify_forbidden(watcher, publish_writer_figures(writer), has_reported, event);
    return publish_writer_tick(writer, clock_monotonic_nsec());
}

/* The lease is wanted only while kube-scheduler calls this replica. */
static int64_t send_nominations(ClusterWatcher *watcher, int64_t now) {
    int64_t requested_at = atomic_load(&watcher->requested_at);

    if (watcher->nominate)
        publish_writer_set_wanted(watcher->nominate,
            requested_at != 0 && now < requested_at + WATCHER_NOMINATE_SEC * NSEC_PER_SEC);
    return tick_writer(
        watcher, watcher->nominate, &watcher->has_reported_nominate, WATCHER_NOMINATE_FORBIDDEN);
}

int64_t watcher_send_writes(ClusterWatcher *watcher, int64_t now_nsec) {
    int64_t next_at = send_nominations(watcher, now_nsec);

    write_queue_tick(watcher->marks, now_nsec);
    notify_forbidden(watcher, write_queue_figures(watcher->marks), &watcher->has_reported_marks,
        WATCHER_MARKS_FORBIDDEN);
    if (watcher->events) {
        write_queue_tick(watcher->events, now_nsec);
        notify_forbidden(watcher, write_queue_figures(watcher->events),
            &watcher->has_reported_events, WATCHER_EVENTS_FORBIDDEN);
    }
    next_at =
        clock_earlier(next_at, tick_writer(watcher, watcher->publish,
                                   &watcher->has_reported_publish, WATCHER_PUBLISH_FORBIDDEN));
    return clock_earlier(next_at, tick_writer(watcher, watcher->reports,
                                      &watcher->has_reported_reports, WATCHER_REPORT_FORBIDDEN));
}

/* --- life ---------------------------------------------------------------------------------- */

static PublishWriter *make_writer(const ClusterWatcher *watcher, const char *lease_namespace,
    const char *lease_name, unsigned n_calls) {
    return publish_writer_new(&(PublishWriterOptions){
        .lease = {.client = watcher->client,
            .namespace = lease_namespace,
            .name = lease_name,
            .identity = watcher->options.identity,
            .clock = clock_monotonic_nsec,
            .wall_clock = clock_wall_nsec},
        .n_calls = n_calls,
    });
}

bool watcher_make_writers(ClusterWatcher *watcher) {
    const WatcherOptions *options = &watcher->options;

    if (options->posts_events)
        watcher->events = event_queue_new(watcher->client, clock_monotonic_nsec);
    if (options->publishes)
        watcher->publish = make_writer(
            watcher, options->publish_lease_namespace, options->publish_lease_name, PUBLISH_CALLS);
    if (options->policies)
        watcher->reports = make_writer(watcher, options->policies_lease_namespace,
            options->policies_lease_name, PUBLISH_CALLS);
    if (options->nominates)
        watcher->nominate = make_writer(watcher, options->nominate_lease_namespace,
            options->nominate_lease_name, NOMINATION_CALLS);
    return (watcher->reports || !options->policies) &&
           (watcher->events || !options->posts_events) &&
           (watcher->publish || !options->publishes) && (watcher->nominate || !options->nominates);
}
