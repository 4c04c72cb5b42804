/* A node's state, taints, conditions, labels, resources and metrics. */

#include "dashboard/page-parts.h"

#include <math.h>
#include <stdio.h>

#include "base/double.h"
#include "cluster/loads.h"
#include "model/resources.h"

#define LABELS_MAX 200u
#define LABELS_OPEN 40u /* more are shown on request */

/* "key=value:Effect", as kubectl writes a taint. */
static void draw_taints(Html *html, const Taints *taints) {
    if (taints->n == 0) {
        html_write(html, "<p>No taints.</p>");
        return;
    }
    html_write(html, "<ul class='taints'>");
    for (size_t i = 0; i < taints->n; i++) {
        const Taint *taint = &taints->items[i];
        Str effect = taint->effect == TAINT_UNKNOWN ? STR("unknown effect")
                                                    : taint_effect_word(taint->effect);

        html_write(html, "<li>%.*s%s%.*s:%.*s</li>", STR_FMT(taint->key),
            taint->value.len > 0 ? "=" : "", STR_FMT(taint->value), STR_FMT(effect));
    }
    html_close(html);
}

static void draw_resources(Html *html, const NodeTable *table, uint32_t row, const char *id) {
    char name[64];

    (void)snprintf(name, sizeof(name), "%s-resources", id);
    widget_table(html, name, "Resources", "Resource|#Allocatable|#Requested|#Free|Share");
    for (size_t i = 0; i < table->n_resources; i++) {
        double whole = (double)table_amount(table, row, i, AMOUNT_ALLOCATABLE);
        double used = (double)table_amount(table, row, i, AMOUNT_REQUESTED);
        BarPart part = {STR("% requested"), whole > 0 ? round(used / whole * 100) : 100, 1};

        if (whole == 0 && used == 0)
            continue;
        html_write(html, "<tr><th scope='row'>%.*s</th>", STR_FMT(table->resources[i]));
        for (AmountKind kind = 0; kind < _AMOUNT_KINDS; kind++) {
            _cleanup_(buf_done) Buf text = BUF_INIT(64);

            resource_amount_print(table->resources[i], table_amount(table, row, i, kind), &text);
            html_write(html, "<td class='number'>%.*s</td>", STR_FMT(buf_str(&text)));
        }
        html_open(html, "td");
        widget_bar(html, &part, 1, 100);
        html_write(html, "</td></tr>");
    }
    widget_table_end(html);
}

static void draw_number(Html *html, double value) {
    char digits[DOUBLE_TEXT_MAX];

    html_write(html, "<td class='number'>");
    if (isnan(value))
        html_write(html, "<strong class='warn'>absent</strong>");
    else
        html_text(html, str_of(digits, double_print(value, digits)));
    html_close(html);
}

static void draw_metrics(Html *html, const View *view, uint32_t row, const char *id) {
    char name[64];

    if (view->program->n_gauges == 0 || view->loads.n_gauges == 0)
        return;
    (void)snprintf(name, sizeof(name), "%s-metrics", id);
    widget_table(html, name, "Metrics",
        "Metric|#Value|#Measured value, without pods placed since|Measured|Expires after");
    for (size_t i = 0; i < view->program->n_gauges; i++) {
        double value = loads_value(&view->loads, i, LOAD_VALUE, row);

        html_write(
            html, "<tr><th scope='row'>metrics.%.*s</th>", STR_FMT(view->program->gauges[i].name));
        draw_number(html, value);
        draw_number(html, loads_value(&view->loads, i, LOAD_MEASURED, row));
        html_open(html, "td");
        if (!isnan(value))
            html_time(html, loads_time(&view->loads, i, row));
        html_write(html, "</td><td>%jd</td></tr>", view->program->gauges[i].max_age_nsec);
    }
    widget_table_end(html);
}

void node_facts(Html *html, const View *view, uint32_t row, const char *id) {
    const Node *node = table_node(view->table, row);
    const Labels *labels;

    if (!node)
        return;
    labels = &node->labels;
    html_write(html, node->is_ready ? "<p><span class='good'>✓ ready</span>"
                                    : "<p><strong class='bad'>✗ not ready</strong>");
    if (node->is_unschedulable)
        html_write(html, "<strong class='warn'>, cordoned</strong>");
    html_close(html);
    draw_taints(html, &node->taints);
    /* Ready should be True, all others False: shown in words, not by colour alone. */
    if (node->n_conditions > 0)
        html_write(html, "<ul class='conditions'>");
    for (size_t i = 0; i < node->n_conditions; i++) {
        const Condition *condition = &node->conditions[i];
        bool is_fine =
            str_is(condition->status, str_is(condition->type, "Ready") ? "True" : "False");

        html_write(html, "<li><span class='%s'>%s</span>%.*s: %.*s</li>", is_fine ? "good" : "bad",
            is_fine ? "✓ " : "✗ ", STR_FMT(condition->type), STR_FMT(condition->status));
    }
    if (node->n_conditions > 0)
        html_close(html);
    html_write(html, labels->n <= LABELS_OPEN ? "<details open>" : "<details>");
    html_write(html, "<summary>%zu%s</summary><ul class='labels'>", labels->n,
        labels->n == 1 ? " label" : " labels");
    for (size_t i = 0; i < labels->n && i < LABELS_MAX; i++)
        html_write(html, "<li>%.*s=%.*s</li>", STR_FMT(labels->items[i].key),
            STR_FMT(labels->items[i].value));
    html_write(html, "</ul></details>");
    draw_resources(html, view->table, row, id);
    draw_metrics(html, view, row, id);
}
