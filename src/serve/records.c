/* Opens and closes all records of the daemon together. */

#include "serve/records.h"

#include "base/clock.h"
#include "history/pods-summary.h"

/* Pods are pending as far back as the page of pods shows them. */
static RecentPods *open_recent_pods(const DaemonOptions *options) {
    bool may_bind = live_is_wanted(&options->live) && options->live.may_bind;

    return recent_pods_new(&(RecentPodsOptions){
        .max = RECENT_PODS_MAX,
        .bytes_max = may_bind ? RECENT_PODS_BYTES_MAX : 0,
        .window_nsec = (int64_t)options->live.bind_window_sec * NSEC_PER_SEC,
        .pending_within = options->n_decisions < PODS_SUMMARY_DECISIONS_MAX
                              ? options->n_decisions
                              : PODS_SUMMARY_DECISIONS_MAX,
        .now_nsec = clock_monotonic_nsec(),
    });
}

bool records_open(Records *records, const DaemonOptions *options) {
    *records = (Records){
        .metrics = metrics_new(),
        .warnings = warnings_new(),
        .changes = changes_new(),
        .latency = latency_new(),
        .recent_pods = open_recent_pods(options),
        .decisions = options->n_decisions > 0
                         ? decisions_new(options->n_decisions, options->decisions_bytes)
                         : NULL,
    };
    return records->metrics && records->warnings && records->changes && records->latency &&
           records->recent_pods && (options->n_decisions == 0 || records->decisions);
}

void records_done(Records *records) {
    metrics_free(records->metrics);
    warnings_free(records->warnings);
    changes_free(records->changes);
    latency_free(records->latency);
    recent_pods_free(records->recent_pods);
    decisions_free(records->decisions);
    *records = (Records){0};
}
