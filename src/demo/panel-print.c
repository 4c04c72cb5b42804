/* Columns, legend and summary of the panel. */

#include "demo/panel-print.h"

#include <math.h>
#include <stdio.h>

#define COLUMN_USED 5
#define COLUMN_REQUESTED 5
#define COLUMN_OTHER 12
#define COLUMN_OTHER_NARROW 7
#define COLUMN_SUMMARY 9

#define SUMMARY_BUDGET ((size_t)4 * 1024 * 1024)
#define GIB (1024.0 * 1024 * 1024)

/* NULL: nothing is measured. */
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
        buf_printf(out,
            "\nUSED    metric %s: %s in use on the chosen node, measured%s",
            lead->name,
            resource,
            lead->counts_placements ? ", plus the pods placed since" : "");
    if (columns.requested > 0)
        buf_printf(out,
            "\nREQ     %s requested by the pods on it, which is what schedulers count",
            resource);
    if (columns.other > 0)
        buf_printf(out,
            "\n%.*s  metric %s of the chosen node, measured",
            columns.other,
            lead->name,
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

/* A policy by load makes the chosen nodes differ from the rest. */
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
