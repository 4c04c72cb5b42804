/* Metrics of the watched cluster. */

#include "monitor/metrics-internal.h"

#include <inttypes.h>

#include "base/nsec.h"

static const struct {
    const char *name, *type, *help;
} kind_figures[] = {
    {"berth_cluster_synced", "gauge", "Whether all objects have been listed."},
    {"berth_cluster_connected", "gauge", "Whether the API server sends changes now."},
    {"berth_cluster_staleness_seconds", "gauge",
        "Seconds since the last update from the API server; -1: never."},
    {"berth_cluster_lists_total", "counter", "Complete lists begun."},
    {"berth_cluster_watches_total", "counter", "Watches begun."},
    {"berth_cluster_failures_total", "counter", "Lists and watches that failed."},
    {"berth_cluster_received_bytes_total", "counter", "Bytes of lists and watches."},
    {"berth_cluster_passed_over_total", "counter",
        "Objects that could not be used: malformed, or over a limit."},
};

static bool is_watched(const WatcherStatus *watcher, unsigned k) {
    if (k == WATCHER_POLICIES)
        return watcher->watches_policies;
    return k < _WATCHER_KINDS || (watcher->related_wanted & RELATED_BIT(k - _WATCHER_KINDS));
}

static double value_of(const WatcherKindStatus *kind, size_t figure, int64_t now_nsec) {
    double age = (double)(now_nsec - kind->updated_at_nsec) / (double)NSEC_PER_SEC;
    const double values[ELEMENTS_OF(kind_figures)] = {
        kind->is_synced,
        kind->is_connected,
        kind->updated_at_nsec ? age : -1,
        (double)kind->n_lists,
        (double)kind->n_watches,
        (double)kind->n_failures,
        (double)kind->n_bytes,
        (double)(kind->n_unfit + kind->n_malformed),
    };

    return values[figure];
}

static void print_kinds(const WatcherStatus *watcher, int64_t now_nsec, Buf *out) {
    for (size_t i = 0; i < ELEMENTS_OF(kind_figures); i++) {
        exposition_head(out, kind_figures[i].name, kind_figures[i].type, kind_figures[i].help);
        for (unsigned k = 0; k < _WATCHER_ALL_KINDS; k++)
            if (is_watched(watcher, k))
                buf_printf(out, "%s{resource=\"%s\"} %.17g\n", kind_figures[i].name,
                    watcher_kind_name((WatcherKind)k), value_of(&watcher->kinds[k], i, now_nsec));
    }
}

static void print_events(const WatcherStatus *watcher, Buf *out) {
    exposition_head(out, "berth_cluster_events_total", "counter", "Watch events, by type.");
    for (unsigned i = 0; i < _WATCHER_ALL_KINDS; i++) {
        const WatcherKindStatus *kind = &watcher->kinds[i];
        const struct {
            const char *type;
            uint64_t n;
        } types[] = {
            {"added", kind->n_added},
            {"modified", kind->n_modified},
            {"deleted", kind->n_deleted},
            {"bookmark", kind->n_bookmarks},
            {"error", kind->n_errors},
            {"unknown", kind->n_unknown},
        };

        for (size_t t = 0; is_watched(watcher, i) && t < ELEMENTS_OF(types); t++)
            buf_printf(out, "berth_cluster_events_total{resource=\"%s\",type=\"%s\"} %" PRIu64 "\n",
                watcher_kind_name((WatcherKind)i), types[t].type, types[t].n);
    }
}

static void print_announced(const LiveStatus *live, Buf *out) {
    const WriteFigures *events = &live->watcher.writes[WATCHER_EVENTS];

    exposition_head(out, "berth_events_total", "counter", "Kubernetes Events written by berth.");
    buf_printf(out,
        "berth_events_total{result=\"posted\"} %" PRIu64 "\n"
        "berth_events_total{result=\"failed\"} %" PRIu64 "\n"
        "berth_events_total{result=\"dropped\"} %" PRIu64 "\n",
        events->n_written, events->n_failed, events->n_dropped + live->n_events_dropped);
}

static void print_published(const LiveStatus *live, int64_t now_nsec, Buf *out) {
    const WriteFigures *writes = &live->watcher.writes[WATCHER_PUBLISHED];

    exposition_gauge(out, "berth_publish_writer", "1: this berth writes what policies publish.",
        live->watcher.publishes);
    exposition_head(out, "berth_publish_writes_total", "counter",
        "Slots and labels of nodes written by berth.");
    buf_printf(out,
        "berth_publish_writes_total{result=\"written\"} %" PRIu64 "\n"
        "berth_publish_writes_total{result=\"failed\"} %" PRIu64 "\n"
        "berth_publish_writes_total{result=\"dropped\"} %" PRIu64 "\n",
        writes->n_written, writes->n_failed, writes->n_dropped);
    exposition_gauge(out, "berth_publish_pending_nodes",
        "Nodes that do not offer yet what policies publish.", (double)live->n_unpublished);
    exposition_gauge(out, "berth_publish_pending_seconds",
        "How long the first of these nodes has been waiting.",
        live->unpublished_since == 0 ? 0
                                     : (double)(now_nsec - live->unpublished_since) / NSEC_PER_SEC);
}

static void print_nominations(const LiveStatus *live, Buf *out) {
    const NominatorFigures *figures = &live->nominator;

    exposition_gauge(out, "berth_nominator", "1: this berth nominates nodes for pending pods.",
        live->watcher.nominates);
    exposition_head(out, "berth_nominations_total", "counter",
        "Nominations, by outcome: used, unused (bound elsewhere), expired (withdrawn), rejected "
        "(by the API server).");
    buf_printf(out,
        "berth_nominations_total{outcome=\"used\"} %" PRIu64 "\n"
        "berth_nominations_total{outcome=\"unused\"} %" PRIu64 "\n"
        "berth_nominations_total{outcome=\"expired\"} %" PRIu64 "\n"
        "berth_nominations_total{outcome=\"rejected\"} %" PRIu64 "\n",
        figures->pods.n_used, figures->pods.n_unused, figures->pods.n_expired,
        live->watcher.writes[WATCHER_NOMINATIONS].n_refused);
    exposition_count(out, "berth_nomination_waits_total",
        "Filter requests whose reply waited for nominations that were under way.",
        figures->pods.n_waits);
    exposition_head(out, "berth_nomination_wait_seconds_total", "counter",
        "Time that replies to filter requests waited for nominations.");
    buf_printf(out, "berth_nomination_wait_seconds_total %.6f\n",
        (double)figures->pods.wait_nsec / NSEC_PER_SEC);
    exposition_gauge(out, "berth_nominations_outstanding", "Nominated pods that are not bound yet.",
        (double)figures->pods.n_outstanding);
    exposition_count(out, "berth_nomination_patches_total",
        "Patches of pods that the API server accepted, withdrawals included.",
        live->watcher.writes[WATCHER_NOMINATIONS].n_written);
    exposition_count(out, "berth_nomination_pods_left_total",
        "Pending pods that were not nominated, because they use features that are not modelled.",
        figures->n_unmodelled);
    exposition_head(out, "berth_nomination_cpu_seconds_total", "counter",
        "Processor time of planning nominations.");
    buf_printf(out, "berth_nomination_cpu_seconds_total %.6f\n",
        (double)figures->round_nsec / NSEC_PER_SEC);
}

void live_figures_print(const LiveStatus *live, int64_t now_nsec, Buf *out) {
    const WatcherStatus *watcher = &live->watcher;

    print_kinds(watcher, now_nsec, out);
    print_events(watcher, out);
    exposition_gauge(out, "berth_cluster_pods", "Pods berth knows.", (double)watcher->n_pods);
    exposition_gauge(out, "berth_cluster_resources_left_out",
        "Node resources over the limit, which are not counted.",
        (double)watcher->n_resources_left_out);
    exposition_gauge(out, "berth_ledger_pods",
        "Pods bound by berth that the watch has not shown yet.", (double)watcher->n_assumed);
    exposition_count(out, "berth_ledger_expired_total",
        "Pods bound by berth that the watch never showed.", watcher->n_expired);
    exposition_head(out, "berth_guesses_total", "counter",
        "Pods that counted on a guessed node, by whether kube-scheduler chose it.");
    buf_printf(out,
        "berth_guesses_total{result=\"right\"} %" PRIu64 "\n"
        "berth_guesses_total{result=\"wrong\"} %" PRIu64 "\n",
        watcher->n_guesses_right, watcher->n_guesses_wrong);
    exposition_count(out, "berth_snapshots_total", "Snapshots published.", watcher->n_published);
    exposition_count(out, "berth_binds_total", "Pods bound.", watcher->n_bound);
    exposition_count(out, "berth_bind_failures_total",
        "Binds that the API server rejected, or that failed.", watcher->n_bind_failed);
    exposition_count(out, "berth_bind_refusals_total",
        "Binds that berth rejected: no filter passed the node, or it would not pass now.",
        live->n_bind_refused);
    exposition_count(out, "berth_bind_annotations_skipped_total",
        "Annotations left out of binds, because their expressions failed.",
        live->n_annotations_skipped);
    exposition_count(out, "berth_bind_filters_dropped_total",
        "Filters dropped before the end of the bind window, because of the memory limit.",
        live->passed.n_dropped);
    if (watcher->has_lease) {
        exposition_gauge(out, "berth_lease_held", "1: this berth holds the lease, and binds.",
            watcher->lease.is_held);
        exposition_count(
            out, "berth_lease_taken_total", "Times the lease was taken.", watcher->lease.n_taken);
        exposition_count(out, "berth_lease_lost_total",
            "Times the lease could not be renewed, or was taken over.", watcher->lease.n_lost);
    }
    if (live->writes_events)
        print_announced(live, out);
    if (live->publishes)
        print_published(live, now_nsec, out);
    if (live->has_nominator)
        print_nominations(live, out);
    exposition_count(out, "berth_wake_ups_total", "Nodes marked for a retry.",
        watcher->writes[WATCHER_MARKS].n_written);
    exposition_count(out, "berth_wake_up_failures_total", "Nodes that could not be marked.",
        watcher->writes[WATCHER_MARKS].n_failed);
    exposition_count(out, "berth_bypassed_pods_total",
        "Pods that bypassed berth: bound without a filter request by a scheduler that uses berth.",
        live->n_bypassed);
}
