#include "monitor/live-figures.h"

#include <inttypes.h>

#include "base/nsec.h"
#include "monitor/exposition.h"

typedef struct KindFigure {
    const char *name, *type, *help;
    double (*value)(const WatcherKindStatus *kind, int64_t now_nsec);
} KindFigure;

static double synced(const WatcherKindStatus *kind, int64_t now_nsec) {
    (void)now_nsec;
    return kind->is_synced;
}

static double connected(const WatcherKindStatus *kind, int64_t now_nsec) {
    (void)now_nsec;
    return kind->is_connected;
}

static double staleness(const WatcherKindStatus *kind, int64_t now_nsec) {
    return kind->heard_at_nsec ? (double)(now_nsec - kind->heard_at_nsec) / (double)NSEC_PER_SEC
                               : -1;
}

static double lists(const WatcherKindStatus *kind, int64_t now_nsec) {
    (void)now_nsec;
    return (double)kind->n_lists;
}

static double watches(const WatcherKindStatus *kind, int64_t now_nsec) {
    (void)now_nsec;
    return (double)kind->n_watches;
}

static double failures(const WatcherKindStatus *kind, int64_t now_nsec) {
    (void)now_nsec;
    return (double)kind->n_failures;
}

static double bytes(const WatcherKindStatus *kind, int64_t now_nsec) {
    (void)now_nsec;
    return (double)kind->n_bytes;
}

static double passed_over(const WatcherKindStatus *kind, int64_t now_nsec) {
    (void)now_nsec;
    return (double)(kind->n_unfit + kind->n_malformed);
}

static const KindFigure kind_figures[] = {
    {"berth_cluster_synced", "gauge", "Whether it has been listed completely.", synced},
    {"berth_cluster_connected", "gauge", "Whether the API server sends changes now.", connected},
    {"berth_cluster_staleness_seconds",
        "gauge",
        "Since the API server was last heard; -1: never.",
        staleness},
    {"berth_cluster_lists_total", "counter", "Complete lists begun.", lists},
    {"berth_cluster_watches_total", "counter", "Watches begun.", watches},
    {"berth_cluster_failures_total", "counter", "Lists and watches that broke off.", failures},
    {"berth_cluster_received_bytes_total", "counter", "Bytes of lists and watches.", bytes},
    {"berth_cluster_passed_over_total",
        "counter",
        "Objects that could not be used: broken, or over a ceiling.",
        passed_over},
};

static void print_events(const WatcherStatus *watcher, Buf *out) {
    exposition_head(out, "berth_cluster_events_total", "counter", "Watch events, by type.");
    for (size_t i = 0; i < _WATCHER_KINDS; i++) {
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

        for (size_t t = 0; t < ELEMENTS_OF(types); t++)
            buf_printf(out,
                "berth_cluster_events_total{resource=\"%s\",type=\"%s\"} %" PRIu64 "\n",
                watcher_kind_name((WatcherKind)i),
                types[t].type,
                types[t].n);
    }
}

static void print_lease(const LeaseStatus *lease, Buf *out) {
    exposition_gauge(
        out, "berth_lease_held", "1: this berth holds the lease, and binds.", lease->is_held);
    exposition_count(out, "berth_lease_taken_total", "Times the lease was taken.", lease->n_taken);
    exposition_count(out,
        "berth_lease_lost_total",
        "Times it could not be renewed, or was taken by force.",
        lease->n_lost);
}

static void print_announced(const LiveStatus *live, Buf *out) {
    const EventPosterFigures *events = &live->watcher.events;

    exposition_head(out, "berth_events_total", "counter", "Kubernetes Events of ours.");
    buf_printf(out,
        "berth_events_total{result=\"posted\"} %" PRIu64 "\n"
        "berth_events_total{result=\"failed\"} %" PRIu64 "\n"
        "berth_events_total{result=\"dropped\"} %" PRIu64 "\n",
        events->n_posted,
        events->n_failed,
        events->n_dropped + live->n_events_dropped);
}

void live_figures_print(const LiveStatus *live, int64_t now_nsec, Buf *out) {
    const WatcherStatus *watcher = &live->watcher;

    for (size_t i = 0; i < ELEMENTS_OF(kind_figures); i++) {
        const KindFigure *figure = &kind_figures[i];

        exposition_head(out, figure->name, figure->type, figure->help);
        for (size_t kind = 0; kind < _WATCHER_KINDS; kind++)
            buf_printf(out,
                "%s{resource=\"%s\"} %.17g\n",
                figure->name,
                watcher_kind_name((WatcherKind)kind),
                figure->value(&watcher->kinds[kind], now_nsec));
    }
    print_events(watcher, out);
    exposition_gauge(out, "berth_cluster_pods", "Pods berth knows.", (double)watcher->n_pods);
    exposition_gauge(out,
        "berth_cluster_resources_left_out",
        "Resources that nodes offer beyond those that are counted.",
        (double)watcher->n_resources_left_out);
    exposition_gauge(out,
        "berth_ledger_pods",
        "Pods bound by us that the watch has not shown yet.",
        (double)watcher->n_assumed);
    exposition_count(out,
        "berth_ledger_expired_total",
        "Pods bound by us that no watch ever showed.",
        watcher->n_expired);
    exposition_count(out, "berth_snapshots_total", "Snapshots published.", watcher->n_published);
    exposition_count(out, "berth_binds_total", "Pods bound.", watcher->n_bound);
    exposition_count(out,
        "berth_bind_failures_total",
        "Binds that the API server refused, or that got lost.",
        watcher->n_bind_failed);
    exposition_count(out,
        "berth_bind_refusals_total",
        "Binds that berth refused: no filter passed them, or none would now.",
        live->n_bind_refused);
    exposition_count(out,
        "berth_bind_filters_dropped_total",
        "Filters forgotten before the bind window was over, for room.",
        live->passed.n_dropped);
    if (live->watcher.has_lease)
        print_lease(&live->watcher.lease, out);
    if (live->writes_events)
        print_announced(live, out);
    exposition_count(out, "berth_wake_ups_total", "Nodes marked for a retry.", watcher->n_marked);
    exposition_count(out,
        "berth_wake_up_failures_total",
        "Nodes that could not be marked.",
        watcher->n_mark_failed);
    exposition_count(out,
        "berth_bypassed_pods_total",
        "Pods bound by a scheduler that asks us, without asking.",
        live->n_bypassed);
}
