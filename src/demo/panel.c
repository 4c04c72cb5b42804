/* Metrics of the policies in force, of chosen nodes and of all. */

#include "demo/panel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/nsec.h"
#include "demo/json-put.h"
#include "demo/workload.h"

#define KEY_MAX 256u

/* --- which ------------------------------------------------------------------------------------ */

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

        (void)snprintf(key,
            sizeof(key),
            "%s/%s/%s",
            workloads[i].namespace,
            workloads[i].owner_kind,
            workloads[i].name);
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
