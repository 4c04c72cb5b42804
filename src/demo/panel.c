/* Metrics of the policies in force, of chosen nodes and of all: columns, summary and file. */

#include "demo/panel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/nsec.h"
#include "demo/json-put.h"
#include "demo/workload.h"

#define KEY_MAX 256u
#define COLUMN_USED 5
#define COLUMN_REQUESTED 5
#define COLUMN_OTHER 12
#define COLUMN_OTHER_NARROW 7
#define COLUMN_SUMMARY 9

#define SUMMARY_BUDGET ((size_t)4 * 1024 * 1024)
#define GIB (1024.0 * 1024 * 1024)

/* --- choice of metrics ------------------------------------------------------------------------ */

static bool is_load(const Usage *usage, size_t resource) {
    return usage->kind == USAGE_USED && usage->resource == resource;
}

static size_t find_lead(const Panel *panel) {
    for (size_t resource = TABLE_CPU; resource <= TABLE_MEMORY; resource++)
        for (size_t i = 0; i < panel->n; i++)
            if (is_load(&panel->metrics[i].usage, resource))
                return i;
    return 0;
}

void panel_follow(Panel *panel, const Program *rules) {
    panel->n = 0;
    for (uint32_t i = 0; i < rules->n_gauges && panel->n < PANEL_METRICS_MAX; i++) {
        const Gauge *gauge = &rules->gauges[i];
        PanelMetric *metric = &panel->metrics[panel->n];

        if (gauge->is_of_pods)
            continue;
        metric->gauge = i;
        metric->usage = usage_of_gauge(gauge);
        metric->counts_placements = gauge->placements.is_counted;
        metric->n_chosen = 0;
        (void)snprintf(metric->name, sizeof(metric->name), "%.*s", STR_FMT(gauge->name));
        panel->n++;
    }
    panel->lead = find_lead(panel);
}

/* --- one node --------------------------------------------------------------------------------- */

static double amount(const View *view, uint32_t row, size_t resource, AmountKind kind) {
    double value = (double)table_amount(view->table, row, resource, kind);

    return resource == TABLE_CPU ? value / 1000 : value;
}

static double percent(double value, double all, GaugeUnit unit) {
    switch (unit) {
    case GAUGE_FRACTION:
        return value * 100;
    case GAUGE_PERCENT:
        return value;
    default:
        return all > 0 ? value / all * 100 : NAN;
    }
}

bool panel_read(const Panel *panel, const View *view, Str node, PanelReading *ret) {
    const PanelMetric *metric = &panel->metrics[panel->lead];
    uint32_t row = table_find(view->table, node);
    size_t resource = metric->usage.resource;
    double all;

    if (panel->n == 0)
        return false;
    *ret = (PanelReading){.value = NAN, .requested = NAN};
    if (row == view->table->n_rows)
        return true;
    ret->value = loads_value(view->table->loads, metric->gauge, LOAD_VALUE, row);
    if (metric->usage.kind != USAGE_USED)
        return true;
    all = amount(view, row, resource, AMOUNT_ALLOCATABLE);
    ret->value = percent(ret->value, all, metric->usage.unit);
    ret->requested = all > 0 ? amount(view, row, resource, AMOUNT_REQUESTED) / all * 100 : NAN;
    return true;
}

void panel_note(Panel *panel, const View *view, Str node) {
    uint32_t row = table_find(view->table, node);

    for (size_t i = 0; i < panel->n && row < view->table->n_rows; i++) {
        PanelMetric *metric = &panel->metrics[i];
        double value = loads_value(view->table->loads, metric->gauge, LOAD_VALUE, row);

        if (!isnan(value))
            metric->chosen[metric->n_chosen++ % PANEL_SAMPLES] = value;
    }
}

/* --- all nodes -------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    const double *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Sorts them. */
static double median(double *values, size_t n) {
    if (n == 0)
        return NAN;
    qsort(values, n, sizeof(*values), by_size);
    return values[n / 2];
}

static double median_chosen(const PanelMetric *metric, Arena *scratch) {
    size_t n = metric->n_chosen < PANEL_SAMPLES ? (size_t)metric->n_chosen : PANEL_SAMPLES;
    double *values = ARENA_ARRAY(scratch, double, n);

    for (size_t i = 0; values && i < n; i++)
        values[i] = metric->chosen[i];
    return values ? median(values, n) : NAN;
}

bool panel_summarize(
    const Panel *panel, size_t metric, const View *view, Arena *scratch, PanelSummary *ret) {
    const NodeTable *table = view->table;
    double *values = ARENA_ARRAY(scratch, double, table->n_rows);
    double middle;
    size_t n = 0;

    if (!values)
        return false;
    for (uint32_t row = 0; row < table->n_rows; row++) {
        double value = loads_value(table->loads, panel->metrics[metric].gauge, LOAD_VALUE, row);

        if (!isnan(value))
            values[n++] = value;
    }
    middle = median(values, n);
    *ret = (PanelSummary){
        .n_present = n,
        .n_nodes = table->names->n_nodes,
        .median = middle,
        .lowest = n > 0 ? values[0] : NAN,
        .highest = n > 0 ? values[n - 1] : NAN,
        .chosen = median_chosen(&panel->metrics[metric], scratch),
    };
    return !arena_has_failed(scratch);
}

/* NULL: there are no metrics. */
static const PanelMetric *lead_of(const Panel *panel) {
    return panel->n > 0 ? &panel->metrics[panel->lead] : NULL;
}

/* Widths; 0: not shown. */
typedef struct Columns {
    int used, requested; /* of a load */
    int other;           /* of something else */
} Columns;

static Columns columns_of(const Panel *panel, PanelWidth width) {
    const PanelMetric *lead = lead_of(panel);
    bool is_wide = width == PANEL_WIDE;

    if (!lead)
        return (Columns){0};
    if (lead->usage.kind == USAGE_USED)
        return (Columns){.used = COLUMN_USED, .requested = is_wide ? COLUMN_REQUESTED : 0};
    return (Columns){.other = is_wide ? COLUMN_OTHER : COLUMN_OTHER_NARROW};
}

size_t panel_columns(const Panel *panel, PanelWidth width) {
    Columns columns = columns_of(panel, width);

    return (size_t)(columns.used + columns.requested + columns.other) + (columns.used > 0) +
           (columns.requested > 0) + (columns.other > 0);
}

void panel_print_columns(const Panel *panel, PanelWidth width, Buf *out) {
    Columns columns = columns_of(panel, width);

    if (columns.used > 0)
        buf_printf(out, " %*s", columns.used, "USED");
    if (columns.requested > 0)
        buf_printf(out, " %*s", columns.requested, "REQ");
    if (columns.other > 0)
        buf_printf(out, " %*.*s", columns.other, columns.other, lead_of(panel)->name);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static bool is_bytes(const Usage *usage) {
    return usage->unit == GAUGE_AMOUNT && usage->resource == TABLE_MEMORY &&
           (usage->kind == USAGE_USED || usage->kind == USAGE_FREE);
}

static void print_number(Buf *out, const Usage *usage, double value, int width) {
    char text[32];

    if (isnan(value))
        (void)snprintf(text, sizeof(text), "-");
    else if (is_bytes(usage))
        (void)snprintf(text, sizeof(text), "%.1f Gi", value / GIB);
    else
        (void)snprintf(text, sizeof(text), "%.3g", value);
    buf_printf(out, " %*s", width, text);
}

static void print_percent(Buf *out, double value, int width) {
    if (isnan(value))
        buf_printf(out, " %*s", width, "-");
    else
        buf_printf(out, " %*.0f %%", width - 2, value);
}

void panel_print_reading(
    const Panel *panel, const PanelReading *reading, PanelWidth width, Buf *out) {
    Columns columns = columns_of(panel, width);

    if (columns.used > 0)
        print_percent(out, reading->value, columns.used);
    if (columns.requested > 0)
        print_percent(out, reading->requested, columns.requested);
    if (columns.other > 0)
        print_number(out, &lead_of(panel)->usage, reading->value, columns.other);
}

/* --- words ------------------------------------------------------------------------------------ */

void panel_print_legend(const Panel *panel, PanelWidth width, Buf *out) {
    const PanelMetric *lead = lead_of(panel);
    Columns columns = columns_of(panel, width);
    const char *resource = lead && lead->usage.resource == TABLE_MEMORY ? "memory" : "cpu";

    if (columns.used > 0)
        buf_printf(out, "\nUSED    metric %s: %s in use on the chosen node, measured%s", lead->name,
            resource, lead->counts_placements ? ", plus the pods placed since" : "");
    if (columns.requested > 0)
        buf_printf(out, "\nREQ     %s requested by the pods on it, which is what schedulers count",
            resource);
    if (columns.other > 0)
        buf_printf(out, "\n%.*s  metric %s of the chosen node, measured", columns.other, lead->name,
            lead->name);
}

static void print_source(
    Buf *out, const Program *rules, GaugeSource source, const char *url, const char *who) {
    size_t n = 0;

    for (size_t i = 0; i < rules->n_gauges; i++)
        if (rules->gauges[i].source == source)
            buf_printf(
                out, "%s%.*s", n++ == 0 ? "measuring " : ", ", STR_FMT(rules->gauges[i].name));
    if (n > 0)
        buf_printf(out, ": from %s%s\n", url, who);
}

void panel_print_sources(const Program *rules, const char *url, Buf *out) {
    if (rules->n_gauges == 0)
        return;
    print_source(out, rules, GAUGE_PROMETHEUS, url, ", a mock of Prometheus");
    print_source(out, rules, GAUGE_RESOURCES, url, ", a mock of metrics-server");
    print_source(out, rules, GAUGE_CUSTOM, url, ", a mock of an adapter for custom.metrics.k8s.io");
    print_source(
        out, rules, GAUGE_ANNOTATION, "", "annotations of nodes, which the demo keeps writing");
    buf_append(out,
        STR("The values are made up: workloads use less or more than they request, and some nodes "
            "have other load.\n"));
}

/* --- at the end ------------------------------------------------------------------------------- */

static void print_summary(const PanelMetric *metric, const PanelSummary *summary, Buf *out) {
    const double values[] = {summary->lowest, summary->median, summary->highest, summary->chosen};

    buf_printf(out, "  %-16s", metric->name);
    for (size_t i = 0; i < ELEMENTS_OF(values); i++)
        print_number(out, &metric->usage, values[i], COLUMN_SUMMARY);
    buf_printf(out, "   %zu of %zu nodes\n", summary->n_present, summary->n_nodes);
}

/* A load-aware policy makes the chosen nodes differ from the rest. */
void panel_print_summaries(const Panel *panel, const View *view, Buf *out) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(SUMMARY_BUDGET);

    for (size_t i = 0; scratch && i < panel->n; i++) {
        PanelSummary summary;

        arena_reset(scratch);
        if (panel_summarize(panel, i, view, scratch, &summary))
            print_summary(&panel->metrics[i], &summary, out);
    }
    if (panel->n > 0)
        buf_append(out,
            STR("  (chosen: the median of the nodes that pods were placed on, at that time)\n"));
}

/* --- a file ----------------------------------------------------------------------------------- */

static bool is_first_of_name(const Program *rules, size_t gauge) {
    for (size_t i = 0; i < gauge; i++)
        if (str_eq(rules->gauges[i].name, rules->gauges[gauge].name))
            return false;
    return true;
}

static void put_nodes(const View *view, size_t gauge, Buf *out) {
    const NodeTable *table = view->table;
    const char *comma = "";

    for (uint32_t row = 0; row < table->n_rows; row++) {
        double value = loads_value(table->loads, gauge, LOAD_MEASURED, row);

        if (isnan(value))
            continue;
        json_put(out, "%s'%.*s':%.17g", comma, STR_FMT(table->names->names[row]), value);
        comma = ",";
    }
}

static void put_workloads(const View *view, size_t gauge, Buf *out) {
    const char *comma = "";

    for (size_t i = 0; i < n_workloads; i++) {
        char key[KEY_MAX];
        double value;

        (void)snprintf(key, sizeof(key), "%s/%s/%s", workloads[i].namespace,
            workloads[i].owner_kind, workloads[i].name);
        value = loads_workload(view->table->loads, gauge, str_from_c(key));
        if (isnan(value))
            continue;
        json_put(out, "%s'%s':%.17g", comma, key, value);
        comma = ",";
    }
}

/* Annotations are in the file of the cluster. */
static void put_section(const View *view, const char *key, bool is_of_workloads, Buf *out) {
    const Program *rules = view->program;
    const char *comma = "";

    json_put(out, "'%s':{", key);
    for (size_t i = 0; i < rules->n_gauges; i++) {
        if (rules->gauges[i].source == GAUGE_ANNOTATION || !is_first_of_name(rules, i) ||
            (is_of_workloads && !rules->gauges[i].is_of_pods))
            continue;
        json_put(out, "%s\n  '%.*s':{", comma, STR_FMT(rules->gauges[i].name));
        if (is_of_workloads)
            put_workloads(view, i, out);
        else
            put_nodes(view, i, out);
        buf_append_char(out, '}');
        comma = ",";
    }
    json_put(out, "},\n");
}

static int64_t age_sec(const View *view, int64_t now_nsec) {
    int64_t oldest_nsec = now_nsec;

    for (size_t i = 0; i < view->program->n_gauges; i++) {
        LoadsFigures figures;

        if (view->program->gauges[i].source == GAUGE_ANNOTATION)
            continue;
        loads_figures(&view->loads, view->table, i, &figures);
        if (figures.oldest_nsec > 0 && figures.oldest_nsec < oldest_nsec)
            oldest_nsec = figures.oldest_nsec;
    }
    return (now_nsec - oldest_nsec) / NSEC_PER_SEC;
}

void panel_write(const View *view, int64_t now_nsec, Buf *out) {
    buf_append_char(out, '{');
    put_section(view, "metrics", /* is_of_workloads= */ false, out);
    put_section(view, "workloads", /* is_of_workloads= */ true, out);
    json_put(out, "'age':'%llds'}\n", (long long)age_sec(view, now_nsec));
}
