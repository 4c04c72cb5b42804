/* berth check --live with policy files: whether the metrics of policies have values. */

#include "base/clock.h"
#include "cli/command.h"
#include "commands/check-internal.h"
#include "extender/view.h"
#include "input/zones.h"
#include "policy/metric.h"

#define LIVE_TEXT_MAX ((size_t)16 * 1024 * 1024)
#define LIVE_BUDGET ((size_t)64 * 1024 * 1024)
#define STATES "the states of the metrics"
#define INDENT 10

/* Prints a line below that of the metric, unless @text is empty. */
static void print_detail(Buf *out, const char *what, Str text) {
    if (str_is_empty(text))
        return;
    buf_printf(out, "%*s%s%.*s\n", INDENT, "", what, STR_FMT(text));
}

static void print_examples(
    Buf *out, const char *what, const char examples[JOIN_EXAMPLES_MAX][JOIN_TEXT_MAX], size_t n) {
    size_t shown = 0;

    if (!examples[0][0] || n == 0)
        return;
    buf_printf(out, "%*s%s", INDENT, "", what);
    for (; shown < JOIN_EXAMPLES_MAX && examples[shown][0]; shown++)
        buf_printf(out, "%s%s", shown > 0 ? ", " : "", examples[shown]);
    if (n > shown)
        buf_printf(out, " and %zu more", n - shown);
    buf_append_char(out, '\n');
}

static void print_metric(
    Buf *out, const Gauge *gauge, const PollStatus *status, const LoadsFigures *figures) {
    const JoinReport *report = &status->report;
    _cleanup_(buf_done) Buf placements = BUF_INIT(LIVE_TEXT_MAX);
    Str from = gauge->source == GAUGE_PROMETHEUS  ? source_meant(gauge->from)
               : gauge->source == GAUGE_RESOURCES ? STR("metrics.k8s.io")
               : gauge->source == GAUGE_CUSTOM    ? STR("custom.metrics.k8s.io")
                                                  : STR("node annotations");
    /* Annotations are not queried: they are present or not. */
    const char *state = gauge->source != GAUGE_ANNOTATION ? poll_state_name(status->state)
                        : figures->n_present > 0          ? "ok"
                                                          : "absent";

    metric_describe_placements(gauge, &placements);
    buf_printf(out, "%-*.*s %-9s %zu of %zu nodes   %.*s\n", INDENT - 1, STR_FMT(gauge->name),
        state, figures->n_present, figures->n_nodes, STR_FMT(from));
    print_detail(out, "", str_from_c(status->error));
    print_detail(out, "the server warns: ", str_from_c(status->warning));
    print_detail(out, "", str_from_c(report->how));
    if (gauge->is_of_pods)
        buf_printf(
            out, "%*s%zu pods, %zu workloads\n", INDENT, "", report->n_pods, report->n_workloads);
    for (size_t i = 0; i < _JOIN_DROPS; i++)
        if (report->n_dropped[i] > 0)
            buf_printf(out, "%*s%zu series dropped: %s\n", INDENT, "", report->n_dropped[i],
                join_drop_name((JoinDrop)i));
    print_examples(out, "not joined: ", report->unmatched,
        report->n_dropped[JOIN_NO_NODE] + report->n_dropped[JOIN_NO_LABEL]);
    print_examples(out, "no value: ", report->uncovered, report->n_nodes - report->n_covered);
    print_detail(out, "placements count: ", buf_str(&placements));
}

/* Returns true if every metric has a value for some node. */
static bool print_metrics(Buf *out, const View *view, const PollStatus *statuses) {
    const Program *program = view->program;
    bool is_fine = true;

    if (program->n_gauges == 0)
        buf_append(out, STR("no policy has metrics\n"));
    for (size_t i = 0; i < program->n_gauges; i++) {
        LoadsFigures figures;

        loads_figures(&view->loads, view->table, i, &figures);
        buf_append_char(out, '\n');
        print_metric(out, &program->gauges[i], &statuses[i], &figures);
        is_fine &= figures.n_present > 0;
    }
    return is_fine;
}

int metrics_check_run(
    const MetricsSource *metrics, const ClusterSource *cluster, Program *program) {
    _cleanup_(arena_freep) Arena *arena = terminal_arena(STATES, LIVE_BUDGET);
    _cleanup_(buf_done) Buf out = BUF_INIT(LIVE_TEXT_MAX);
    _cleanup_(zones_freep) Zones *zones = terminal_need(zones_new(), STATES);
    PollStatus *statuses = ARENA_ARRAY(arena, PollStatus, program->n_gauges + 1);
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = cluster_source_load(cluster, program->related);
    _cleanup_(measurements_unrefp) Measurements *measurements = metrics_source_load(
        metrics, cluster, program, snapshot, clock_wall_nsec(), clock_monotonic_nsec(), statuses);
    _cleanup_(view_unrefp) View *view = NULL;
    const ViewParts parts = {
        .snapshot = snapshot,
        .program = program,
        .measurements = measurements,
        .zones = zones_finder(zones),
        .now_nsec = clock_wall_nsec(),
        .uptime_nsec = clock_monotonic_nsec(),
    };
    bool is_fine;

    (void)terminal_check(
        view_new(&parts, /* before= */ NULL, &view), "the facts about the nodes", NULL);
    is_fine = print_metrics(&out, view, statuses);
    terminal_output(buf_str(&out));
    return is_fine ? EXIT_FINE : EXIT_FAILED;
}
