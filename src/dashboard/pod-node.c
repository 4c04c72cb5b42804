/*
 * Why not this node? Everything about one node of the attempt: what it was told, every rule it
 * fails and what it would take, its score, and the node as it was then.
 */

#include <inttypes.h>
#include <stdio.h>

#include "dashboard/node-facts.h"
#include "dashboard/pod-part.h"

/* --- the question ----------------------------------------------------------------------------- */

static void draw_hidden(Html *html, const char *name, Str value) {
    html_open(html, "input");
    html_attr(html, "type", STR("hidden"));
    html_attr(html, "name", str_from_c(name));
    html_attr(html, "value", value);
}

static void draw_form(const PodPage *page) {
    Html *html = page->html;
    char id[24];

    html_open(html, "form");
    html_attr(html, "class", STR("filter"));
    html_attr(html, "action", STR("/pod"));
    html_attr(html, "method", STR("get"));
    draw_hidden(html, "namespace", page->namespace);
    draw_hidden(html, "name", page->name);
    if (page->is_pinned) {
        (void)snprintf(id, sizeof(id), "%" PRIu64, pod_attempt_first(page->attempt)->id);
        draw_hidden(html, "id", str_from_c(id));
    }
    piece_label(html, "node", STR("Node"));
    html_open(html, "input");
    html_attr(html, "id", STR("node"));
    html_attr(html, "name", STR("node"));
    html_attr(html, "value", page->node);
    html_attr(html, "autocomplete", STR("off"));
    html_attr(html, "spellcheck", STR("false"));
    html_element_c(html, "button", NULL, "Why not?");
    html_close(html);
}

/* --- the answer ------------------------------------------------------------------------------- */

/* What it was told, in words. */
static void draw_verdict(const PodPage *page, Outcome outcome) {
    const RuleNote *rule = page->filter ? past_rule_of(page->filter, outcome) : NULL;
    Html *html = page->html;

    switch (outcome.kind) {
    case OUTCOME_PASSED:
        html_element_c(html, "strong", "good", "✓ it passed");
        break;
    case OUTCOME_NARROWED:
        html_element_c(html, "strong", "warn", "⊘ it passed, and was not offered back");
        html_text(html, STR(": others were better (narrow)"));
        break;
    case OUTCOME_REJECTED:
        html_element_c(html, "strong", "bad", "✗ rejected: ");
        html_text(html, rule ? rule->reason : STR("by a rule that is no longer told apart"));
        break;
    case OUTCOME_UNKNOWN:
        html_element_c(html, "strong", "bad", "✗ berth did not know it");
        html_text(html, STR(": its view of the cluster had no such node"));
        break;
    case OUTCOME_LATE:
        html_element_c(html, "strong", "bad", "✗ not judged in time, and so rejected");
        break;
    default:
        html_element_c(html, "strong", "warn", "⊘ never offered");
        html_text(html,
            STR(": kube-scheduler's own filters left it out before berth was asked; kubectl "
                "describe pod says why"));
        break;
    }
}

static void draw_needs(const PodPage *page, const NodeExplanation *node, const FailedRule *failed) {
    FailureDetails details = {0};
    Html *html = page->html;

    arena_reset(page->scratch);
    if (explain_failure(&page->explanation, node, failed, page->scratch, &details) < 0 ||
        details.n_remedies == 0)
        return;
    html_open(html, "p");
    html_text(html, STR("It needs "));
    for (size_t i = 0; i < details.n_remedies; i++) {
        html_text(html, i > 0 ? STR(" and ") : STR_NULL);
        html_element(html, "strong", NULL, details.remedies[i].text);
    }
    html_text(html, STR("."));
    html_close(html);
}

static void draw_failed(
    const PodPage *page, const NodeExplanation *node, const FailedRule *failed) {
    const Filter *filter = failed->filter;
    Html *html = page->html;

    html_open(html, "li");
    html_element_c(html, "span", "bad", "✗ ");
    html_text(html, filter->reason);
    html_text(html, STR(" "));
    pod_draw_rule(html, filter->policy->name, filter->name);
    if (filter->policy->is_observed)
        html_text(html, STR(" (Observe: not acted upon)"));
    if (failed->is_error)
        html_text(html, STR(" (its expression failed, onError: reject)"));
    if (failed->is_missing)
        html_text(html, STR(" (onMissing: reject)"));
    html_open(html, "p");
    pod_draw_why(page, node, failed);
    html_close(html);
    draw_needs(page, node, failed);
    html_close(html);
}

static void draw_rules(const PodPage *page, const NodeExplanation *node) {
    Html *html = page->html;

    if (node->n_failed == 0) {
        html_element_c(html, "p", NULL, "It fails no rule.");
        return;
    }
    html_element_c(html, "h3", NULL, "Every rule it fails");
    html_open(html, "ul");
    html_attr(html, "class", STR("failed"));
    for (size_t i = 0; i < node->n_failed; i++)
        draw_failed(page, node, &node->failed[i]);
    html_close(html);
}

static void draw_score(const PodPage *page, const NodeExplanation *node) {
    Html *html = page->html;

    if (!node->is_scored)
        return;
    html_open(html, "p");
    html_printf(html, "Score %.1f of 100 = ", node->score);
    pod_draw_sum(page, node);
    html_printf(html, "; rank %u of %zu", node->rank, page->explanation.n_passed);
    html_text(html, STR(" among all nodes of the cluster that pass."));
    html_close(html);
}

static void draw_explained(const PodPage *page, const NodeExplanation *node) {
    Html *html = page->html;

    draw_rules(page, node);
    draw_score(page, node);
    html_element_c(html, "h3", NULL, "The node as it was then");
    node_facts(html, page->view, node->row, page->sitting->wall_nsec, "then");
}

static void draw_answer(const PodPage *page) {
    const NodeExplanation *node = pod_explained(page, page->node);
    Html *html = page->html;

    html_open(html, "p");
    html_attr(html, "class", STR("answer"));
    piece_node(html, page->node);
    html_text(html, STR(": "));
    if (page->outcomes)
        draw_verdict(page, pod_outcome(page, page->node));
    else
        html_text(html, STR("what became of it is no longer kept"));
    html_text(html, STR("."));
    html_close(html);
    if (node)
        draw_explained(page, node);
    else if (page->view)
        html_element_c(html, "p", NULL, "The cluster had no node of this name then.");
}

void pod_node(const PodPage *page) {
    Html *html = page->html;

    piece_section(html, "why-not", "Why not another node?");
    draw_form(page);
    if (!str_is_empty(page->node))
        draw_answer(page);
    html_close(html);
}
