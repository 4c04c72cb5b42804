/* The newest decisions that were about the node, among those that are remembered. */

#include <inttypes.h>
#include <stdio.h>

#include "dashboard/node-internal.h"

#define VERDICTS_SHOWN 20u
#define VERDICTS_LOOKED_AT 2000u
#define READ_AT_ONCE 64u

static void draw_outcome(Html *html, Outcome outcome) {
    static const struct {
        const char *class, *text;
    } texts[_OUTCOME_MAX] = {
        [OUTCOME_NOT_ASKED] = {"quiet", "not a candidate"},
        [OUTCOME_PASSED] = {"good", "✓ passed"},
        [OUTCOME_REJECTED] = {"bad", "✗ rejected"},
        [OUTCOME_UNKNOWN] = {"bad", "✗ unknown to berth"},
        [OUTCOME_NARROWED] = {"warn", "passed, but not among the best"},
        [OUTCOME_LATE] = {"bad", "✗ not evaluated before the deadline"},
        [OUTCOME_SCORED] = {"good", "✓ scored"},
    };

    html_write(html, "<td><span class='%s'>%s</span></td>", texts[outcome.kind].class,
        texts[outcome.kind].text);
}

static void draw_score(Html *html, Outcome outcome) {
    html_write(html, "<td class='number'>");
    if (outcome.has_score)
        html_write(html, "%u", outcome.score);
    else
        html_write(html, "–");
    if (outcome.rank > 0)
        html_write(html, ", rank %u", outcome.rank);
    html_close(html);
}

static void draw_verdict(
    const NodePage *scene, Html *html, const PastDecision *past, Outcome outcome) {
    const RuleName *rule = past_rule_of(past, outcome);

    html_write(html,
        "<tr><td>%td</td><td><a href='/pod?namespace=%.*s&name=%.*s&id=%zu&node=%.*s' "
        "class='pod'>%.*s/%.*s</a></td><td>%s</td>",
        past->at_nsec, STR_FMT(past->pod_namespace), STR_FMT(past->pod_name), past->id,
        STR_FMT(scene->name), STR_FMT(past->pod_namespace), STR_FMT(past->pod_name),
        verb_name(past->verb));
    draw_outcome(html, outcome);
    html_open(html, "td");
    if (rule)
        html_write(html, "%.*s/%.*s", STR_FMT(rule->policy), STR_FMT(rule->name));
    html_write(html, "</td><td>%.*s</td>", STR_FMT(rule ? rule->reason : STR_NULL));
    draw_score(html, outcome);
    html_close(html);
}

/* The number of the node, which most decisions share. */
typedef struct NodeNumber {
    const NodeNumbers *roll;
    uint32_t number;
} NodeNumber;

static Outcome outcome_of(const NodePage *scene, const FoundDecision *found, NodeNumber *known) {
    if (!found->outcomes || found->past->at_nsec > scene->at_nsec)
        return (Outcome){.kind = OUTCOME_NOT_ASKED};
    if (known->roll != outcomes_numbers(found->outcomes)) {
        known->roll = outcomes_numbers(found->outcomes);
        known->number =
            decisions_number(scene->context->api->decisions, found->outcomes, scene->name);
    }
    return outcomes_find(found->outcomes, known->number);
}

/* How many of the decisions were about the node. */
static size_t draw_verdict_rows(const NodePage *scene, Html *html) {
    FoundDecision some[READ_AT_ONCE];
    NodeNumber known = {0};
    size_t n = 0, n_read = 0, n_some = 0;
    uint64_t below = 0;

    do {
        n_some = decisions_read(scene->context->api->decisions, below, some, READ_AT_ONCE);
        for (size_t i = 0; i < n_some; i++) {
            Outcome outcome = outcome_of(scene, &some[i], &known);

            below = some[i].past->id;
            if (outcome.kind != OUTCOME_NOT_ASKED && n < VERDICTS_SHOWN) {
                draw_verdict(scene, html, some[i].past, outcome);
                n++;
            }
        }
        for (size_t i = 0; i < n_some; i++)
            found_done(&some[i]);
        known.roll = NULL; /* its address may be another's by now */
        n_read += n_some;
    } while (n_some > 0 && n < VERDICTS_SHOWN && n_read < VERDICTS_LOOKED_AT);
    return n;
}

void node_draw_verdicts(const NodePage *scene, Html *html) {
    size_t n = 0;

    html_write(html, "<h2>Recent verdicts</h2>");
    widget_table(html, "node-verdicts", "The latest 20 verdicts on this node",
        "When|Pod|Asked for|Verdict|Rule|Reason|#Score");
    if (scene->context->api->decisions)
        n = draw_verdict_rows(scene, html);
    widget_table_end(html);
    if (n == 0)
        widget_empty(html, "No recent decision included this node.",
            "kube-scheduler sends only nodes that pass its own filters. kubectl describe node "
            "shows whether it is full, tainted or cordoned.");
}
