/*
 * Why not this node? Everything about one node of the attempt: its verdict, every rule it fails
 * with suggestions, its score, and the node as it was then.
 */

#include "dashboard/pod-internal.h"

static void draw_verdict(const PodPage *page, Outcome outcome) {
    static const struct {
        const char *class, *verdict, *more;
    } texts[_OUTCOME_MAX] = {
        [OUTCOME_PASSED] = {"good", "✓ passed", ""},
        [OUTCOME_NARROWED] = {"warn", "⊘ passed, but not returned",
            ": other nodes scored higher (narrow)"},
        [OUTCOME_REJECTED] = {"bad", "✗ rejected: ", ""},
        [OUTCOME_UNKNOWN] = {"bad", "✗ unknown to berth", ": the cluster had no such node"},
        [OUTCOME_LATE] = {"bad", "✗ not evaluated before the deadline, and so rejected", ""},
        [OUTCOME_NOT_ASKED] = {"warn", "⊘ not evaluated by berth",
            ": kube-scheduler did not send this node. Its own filters rejected it, or it stopped "
            "at percentageOfNodesToScore; kubectl describe pod shows its reasons"},
    };
    const RuleName *rule = page->filter ? past_rule_of(page->filter, outcome) : NULL;
    OutcomeKind kind = outcome.kind == OUTCOME_SCORED ? OUTCOME_NOT_ASKED : outcome.kind;

    html_write(page->html, "<strong class='%s'>%s</strong>%s", texts[kind].class,
        texts[kind].verdict, texts[kind].more);
    if (kind == OUTCOME_REJECTED)
        html_text(page->html, rule ? rule->reason : STR("by a rule that is no longer recorded"));
}

static void draw_needs(const PodPage *page, const NodeExplanation *node, const FailedRule *failed) {
    FailureDetails details = {0};
    Html *html = page->html;

    arena_reset(page->scratch);
    if (explain_failure(&page->explanation, node, failed, page->scratch, &details) < 0 ||
        details.n_remedies == 0)
        return;
    html_write(html, "<p>To pass, it needs ");
    for (size_t i = 0; i < details.n_remedies; i++)
        html_write(html, "%s<strong>%.*s</strong>", i > 0 ? " and " : "",
            STR_FMT(details.remedies[i].text));
    html_write(html, ".</p>");
}

static void draw_explained(const PodPage *page, const NodeExplanation *node) {
    Html *html = page->html;

    if (node->n_failed == 0) {
        html_write(html, "<p>It fails no rule.</p>");
    } else {
        html_write(html, "<h3>Failed rules</h3><ul class='failed'>");
        for (size_t i = 0; i < node->n_failed; i++) {
            const FailedRule *failed = &node->failed[i];
            const Filter *filter = failed->filter;

            html_write(html, "<li><span class='bad'>✗ </span>%.*s " RULE_NOTE "%s%s%s<p>",
                STR_FMT(filter->reason), RULE_FMT(filter->policy->name, filter->name),
                filter->policy->is_observed ? " (Observe: not enforced)" : "",
                failed->is_error ? " (its expression failed, onError: reject)" : "",
                failed->is_missing ? " (onMissing: reject)" : "");
            pod_draw_why(page, node, failed);
            html_close(html);
            draw_needs(page, node, failed);
            html_close(html);
        }
        html_close(html);
    }
    if (node->is_scored) {
        html_write(html, "<p>Score %.1f of 100 = ", node->score);
        pod_draw_sum(page, node);
        html_write(html, "; rank %u of %zu among all nodes that pass.</p>", node->rank,
            page->explanation.n_passed);
    }
    html_write(html, "<h3>The node as it was then</h3>");
    node_facts(html, page->view, node->row, "then");
}

static void draw_answer(const PodPage *page) {
    const NodeExplanation *node = pod_explained(page, page->node);
    Html *html = page->html;

    html_write(html, "<p class='answer'>" NODE_LINK ": ", NODE_FMT(page->node));
    if (page->outcomes)
        draw_verdict(page, pod_outcome(page, page->node));
    else
        html_write(html, "its verdict is no longer kept");
    html_write(html, ".</p>");
    if (node)
        draw_explained(page, node);
    else if (page->view)
        html_write(html, "<p>The cluster had no node with this name then.</p>");
}

void pod_node(const PodPage *page) {
    widget_section(page->html, "why-not", "Why not another node?");
    html_write(page->html,
        "<form class='filter' action='/pod' method='get'><input type='hidden' name='namespace' "
        "value='%.*s'><input type='hidden' name='name' value='%.*s'>",
        STR_FMT(page->namespace), STR_FMT(page->name));
    if (page->is_pinned)
        html_write(page->html, "<input type='hidden' name='id' value='%zu'>",
            attempt_first(page->attempt)->id);
    html_write(page->html,
        "<label for='node'>Node</label><input id='node' name='node' value='%.*s' "
        "autocomplete='off' spellcheck='false'><button>Why not?</button></form>",
        STR_FMT(page->node));
    if (!str_is_empty(page->node))
        draw_answer(page);
    html_close(page->html);
}
