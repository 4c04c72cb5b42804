/* Loads metrics from a file, or queries their sources once. */

#include "cli/metrics-source.h"

#include <stdio.h>

#include "base/diag.h"
#include "base/nsec.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "input/measurements.h"
#include "input/sources.h"

#define DIAGS_BUDGET ((size_t)16 * 1024 * 1024)
#define ASK_NSEC (INT64_C(15) * NSEC_PER_SEC) /* longer than any request may take */

const char *metrics_source_check(const MetricsSource *source, const ClusterSource *cluster) {
    bool is_asking = source->prometheus || source->sources;

    if (source->file && is_asking)
        return "--metrics is instead of --prometheus and --sources";
    if (is_asking && cluster_source_check(cluster))
        return "metrics are joined to nodes: --cluster, --kubeconfig or --in-cluster is needed";
    return NULL;
}

static int complain(const DiagList *diags, bool is_unreadable) {
    terminal_print_diags(diags);
    return is_unreadable ? EXIT_UNREACHABLE : EXIT_FAILED;
}

static int load_file(const MetricsSource *source, const char *who, const Program *program,
    Snapshot *snapshot, int64_t now_nsec, int64_t uptime_nsec, Measurements **ret) {
    _cleanup_(arena_freep) Arena *arena = arena_new(DIAGS_BUDGET);
    DiagList diags = DIAG_LIST_IN(arena);
    int r;

    if (!arena)
        return terminal_out_of_memory(who);
    r = measurements_load(source->file, program, snapshot, now_nsec, uptime_nsec, &diags, ret);
    if (r < 0)
        return terminal_out_of_memory(who);
    return r == 0 ? 0 : complain(&diags, r == MEASUREMENTS_E_UNREADABLE);
}

/* Queries each source once. Failures are in @ret_statuses. */
static int ask(const MetricsSource *source, const ClusterSource *cluster, const char *who,
    const Program *program, Snapshot *snapshot, Measurements **ret, PollStatus *ret_statuses) {
    _cleanup_(arena_freep) Arena *arena = arena_new(DIAGS_BUDGET);
    _cleanup_(access_freep) Access *access = NULL;
    DiagList diags = DIAG_LIST_IN(arena);
    PollStatus *statuses = ret_statuses;
    MetricSources sources = {0};
    int r;

    if (arena && !statuses)
        statuses = ARENA_ARRAY(arena, PollStatus, program->n_gauges + 1);
    if (!arena || !statuses)
        return terminal_out_of_memory(who);
    r = sources_gather(source->prometheus, source->sources, arena, &diags, &sources);
    if (r < 0)
        return terminal_out_of_memory(who);
    if (r != 0)
        return complain(&diags, r == SOURCES_E_UNREADABLE);
    if (cluster_source_is_live(cluster)) {
        r = cluster_source_access(cluster, who, &access);
        if (r != 0)
            return r;
    }
    r = poller_once(
        &sources, access, program->gauges, program->n_gauges, snapshot, ASK_NSEC, ret, statuses);
    if (r < 0)
        return terminal_out_of_memory(who);
    for (size_t i = 0; !ret_statuses && i < program->n_gauges; i++)
        if (statuses[i].error[0])
            (void)fprintf(stderr, "%s: metric %.*s: %s\n", who, STR_FMT(program->gauges[i].name),
                statuses[i].error);
    return 0;
}

int metrics_source_load(const MetricsSource *source, const ClusterSource *cluster, const char *who,
    const Program *program, Snapshot *snapshot, int64_t now_nsec, int64_t uptime_nsec,
    Measurements **ret, PollStatus *ret_statuses) {
    *ret = NULL;
    if (source->file)
        return load_file(source, who, program, snapshot, now_nsec, uptime_nsec, ret);
    if (source->prometheus || source->sources || ret_statuses ||
        (program->n_gauges > 0 && cluster_source_is_live(cluster)))
        return ask(source, cluster, who, program, snapshot, ret, ret_statuses);
    return 0;
}
