#include "dashboard/node-facts.h"

#include <math.h>
#include <stdio.h>

#include "base/double.h"
#include "cluster/loads.h"
#include "dashboard/piece.h"
#include "model/resources.h"

#define LABELS_MAX 200u
#define LABELS_OPEN 40u /* more are shown when they are asked for */

/* "key=value:Effect", as kubectl writes a taint. */
static void draw_taint(Html *html, const Taint *taint) {
    static const char *const effects[] = {
        [TAINT_NO_SCHEDULE] = "NoSchedule",
        [TAINT_PREFER_NO_SCHEDULE] = "PreferNoSchedule",
        [TAINT_NO_EXECUTE] = "NoExecute",
        [TAINT_UNKNOWN] = "an effect that is not known",
    };

    html_open(html, "li");
    html_text(html, taint->key);
    if (taint->value.len > 0) {
        html_text(html, STR("="));
        html_text(html, taint->value);
    }
    html_text(html, STR(":"));
    html_text(html, str_from_c(effects[taint->effect] ? effects[taint->effect] : "any"));
    html_close(html);
}

static void draw_labels(Html *html, const Labels *labels) {
    html_open(html, "details");
    if (labels->n <= LABELS_OPEN)
        html_flag(html, "open");
    html_open(html, "summary");
    html_count(html, labels->n);
    html_text(html, labels->n == 1 ? STR(" label") : STR(" labels"));
    html_close(html);
    html_open(html, "ul");
    html_attr(html, "class", STR("labels"));
    for (size_t i = 0; i < labels->n && i < LABELS_MAX; i++) {
        html_open(html, "li");
        html_text(html, labels->items[i].key);
        html_text(html, STR("="));
        html_text(html, labels->items[i].value);
        html_close(html);
    }
    html_close(html);
    html_close(html);
}

static void draw_state(Html *html, const Node *node) {
    html_open(html, "p");
    if (node->is_ready)
        html_element_c(html, "span", "good", "✓ ready");
    else
        html_element_c(html, "strong", "bad", "✗ not ready");
    if (node->is_unschedulable)
        html_element_c(html, "strong", "warn", ", cordoned");
    html_close(html);
}

static void draw_taints(Html *html, const Taints *taints) {
    if (taints->n == 0) {
        html_element_c(html, "p", NULL, "No taints.");
        return;
    }
    html_open(html, "ul");
    html_attr(html, "class", STR("taints"));
    for (size_t i = 0; i < taints->n; i++)
        draw_taint(html, &taints->items[i]);
    html_close(html);
}

/* Ready is better True, all others False: said in words, not by colour alone. */
static void draw_conditions(Html *html, const Node *node) {
    if (node->n_conditions == 0)
        return;
    html_open(html, "ul");
    html_attr(html, "class", STR("conditions"));
    for (size_t i = 0; i < node->n_conditions; i++) {
        const Condition *condition = &node->conditions[i];
        bool is_fine =
            str_is(condition->status, str_is(condition->type, "Ready") ? "True" : "False");

        html_open(html, "li");
        html_element_c(html, "span", is_fine ? "good" : "bad", is_fine ? "✓ " : "✗ ");
        html_text(html, condition->type);
        html_text(html, STR(": "));
        html_text(html, condition->status);
        html_close(html);
    }
    html_close(html);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void draw_amount(Html *html, Str resource, int64_t amount) {
    _cleanup_(buf_done) Buf text = BUF_INIT(64);

    resource_amount_print(resource, amount, &text);
    html_element(html, "td", "number", buf_str(&text));
}

static void draw_share(Html *html, int64_t used, int64_t whole) {
    PiecePart part = {.label = STR("% asked for"), .colour = 1};

    part.value = whole > 0 ? round((double)used / (double)whole * 100) : 100;
    html_open(html, "td");
    piece_bar(html, &part, 1, 100);
    html_close(html);
}

static void draw_resources(Html *html, const NodeTable *table, uint32_t row, const char *id) {
    static const char *const columns[] = {"Resource", "#Offered", "#Asked for", "#Free", "Share"};
    char name[64];

    (void)snprintf(name, sizeof(name), "%s-resources", id);
    piece_table(html, name, "Resources", columns, ELEMENTS_OF(columns));
    for (size_t i = 0; i < table->n_resources; i++) {
        if (table_amount(table, row, i, AMOUNT_ALLOCATABLE) == 0 &&
            table_amount(table, row, i, AMOUNT_REQUESTED) == 0)
            continue;
        html_open(html, "tr");
        piece_head(html, table->resources[i]);
        for (AmountKind kind = 0; kind < _AMOUNT_KINDS; kind++)
            draw_amount(html, table->resources[i], table_amount(table, row, i, kind));
        draw_share(html,
            table_amount(table, row, i, AMOUNT_REQUESTED),
            table_amount(table, row, i, AMOUNT_ALLOCATABLE));
        html_close(html);
    }
    piece_table_end(html);
}

static void draw_number(Html *html, double value) {
    char digits[DOUBLE_TEXT_MAX];

    piece_open_number(html);
    if (isnan(value))
        html_element_c(html, "strong", "warn", "absent");
    else
        html_text(html, str_of(digits, double_print(value, digits)));
    html_close(html);
}

static void draw_metric(
    Html *html, const View *view, size_t gauge, uint32_t row, int64_t wall_nsec) {
    double value = loads_value(&view->loads, gauge, LOAD_VALUE, row);

    html_open(html, "tr");
    piece_open_head(html);
    html_text(html, STR("metrics."));
    html_text(html, view->program->gauges[gauge].name);
    html_close(html);
    draw_number(html, value);
    draw_number(html, loads_value(&view->loads, gauge, LOAD_MEASURED, row));
    html_open(html, "td");
    if (!isnan(value))
        html_time(html, loads_time(&view->loads, gauge, row), wall_nsec);
    html_close(html);
    html_open(html, "td");
    html_duration(html, view->program->gauges[gauge].max_age_nsec);
    html_close(html);
    html_close(html);
}

static void draw_metrics(
    Html *html, const View *view, uint32_t row, int64_t wall_nsec, const char *id) {
    static const char *const columns[] = {
        "Metric", "#Value", "#Without pods just placed", "Measured", "Too old after"};
    char name[64];

    if (view->program->n_gauges == 0 || view->loads.n_gauges == 0)
        return;
    (void)snprintf(name, sizeof(name), "%s-metrics", id);
    piece_table(html, name, "What was measured", columns, ELEMENTS_OF(columns));
    for (size_t i = 0; i < view->program->n_gauges; i++)
        draw_metric(html, view, i, row, wall_nsec);
    piece_table_end(html);
}

void node_facts(Html *html, const View *view, uint32_t row, int64_t wall_nsec, const char *id) {
    const Node *node = table_node(view->table, row);

    if (!node)
        return;
    draw_state(html, node);
    draw_taints(html, &node->taints);
    draw_conditions(html, node);
    draw_labels(html, &node->labels);
    draw_resources(html, view->table, row, id);
    draw_metrics(html, view, row, wall_nsec, id);
}
