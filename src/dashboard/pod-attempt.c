/*
 * One attempt: a bar with the number of nodes by outcome, then the reasons as kubectl describe
 * groups them, each with its nodes, and their values and limits if the inputs are still kept.
 */

#include <stdio.h>

#include "dashboard/pod-internal.h"

#define NODES_SHOWN 100u

static void draw_counts(const PodPage *page) {
    const PastDecision *filter = page->filter;
    size_t n_in = filter->summary.n_in;
    size_t n_not_sent = filter->n_known > n_in ? filter->n_known - n_in : 0;
    const BarPart all[] = {
        {STR("passed"), (double)filter->summary.n_out, 3},
        {STR("passed, but not returned"), (double)filter->summary.n_narrowed, 6},
        {STR("rejected"), (double)filter->summary.n_rejected, 7},
        {STR("unknown to berth"), (double)filter->summary.n_unknown, 5},
        {STR("not evaluated before the deadline"), (double)filter->summary.n_late, 2},
        {STR("not evaluated by berth"), (double)n_not_sent, 8},
    };
    BarPart parts[ELEMENTS_OF(all)];
    double whole = 0;
    size_t n = 0;

    for (size_t i = 0; i < ELEMENTS_OF(all); i++) {
        /* Three are shown even if they are 0: that no node passed matters most. */
        if (all[i].value > 0 || i == 0 || i == 2 || i == 5)
            parts[n++] = all[i];
        whole += all[i].value;
    }
    widget_bar(page->html, parts, n, whole);
    if (n_not_sent > 0 && !str_is_empty(filter->nominated))
        html_write(page->html,
            "<p>Only the nominated node was a candidate: kube-scheduler tries it first, and "
            "evaluates the other %zu of %zu nodes only if it is rejected.</p>",
            n_not_sent, filter->n_known);
    else if (n_not_sent > 0)
        html_write(page->html,
            "<p>Not evaluated by berth: kube-scheduler did not send %zu of %zu nodes. Its own "
            "filters rejected them, or it stopped at percentageOfNodesToScore; <code>kubectl "
            "describe pod</code> shows its reasons.</p>",
            n_not_sent, filter->n_known);
    if (filter->summary.n_narrowed > 0)
        html_write(page->html,
            "<p>Not returned: %zu nodes passed, but a policy returns only the best %zu "
            "(narrow).</p>",
            filter->summary.n_narrowed, filter->summary.n_out);
}

static void draw_member(const PodPage *page, Str name, const RuleName *rule) {
    const NodeExplanation *node = pod_explained(page, name);
    const FailedRule *failed = NULL;
    Html *html = page->html;
    size_t n_others = 0;

    for (size_t i = 0; node && rule && !failed && i < node->n_failed; i++)
        if (str_eq(node->failed[i].filter->name, rule->name) &&
            str_eq(node->failed[i].filter->policy->name, rule->policy))
            failed = &node->failed[i];
    html_write(html, "<tr><th scope='row'>" NODE_LINK "</th><td>", NODE_FMT(name));
    if (failed)
        pod_draw_why(page, node, failed);
    else
        html_text(html, page->view ? STR("–") : STR("no longer kept"));
    html_write(html, "</td><td>");
    for (size_t i = 0; node && i < node->n_failed; i++) {
        const Filter *filter = node->failed[i].filter;

        if (&node->failed[i] != failed && !filter->policy->is_observed)
            html_write(html, "%s%.*s/%.*s", n_others++ > 0 ? ", " : "",
                STR_FMT(filter->policy->name), STR_FMT(filter->name));
    }
    html_write(html, "</td></tr>");
}

static void draw_rest(const PodPage *page, const ReasonGroup *group) {
    const char *outcome = outcome_names[group->kind];
    Html *html = page->html;

    html_write(html, "<p>The first %u of %zu nodes. ", NODES_SHOWN, group->n_nodes);
    if (group->policy.len > 0)
        html_write(html,
            "<a href='/api/v1/decisions/%zu?outcome=%s&rule=%.*s%%2F%.*s&limit=10000'>",
            page->filter->id, outcome, STR_FMT(group->policy), STR_FMT(group->rule));
    else
        html_write(html, "<a href='/api/v1/decisions/%zu?outcome=%s&limit=10000'>",
            page->filter->id, outcome);
    html_write(html, "All of them as JSON</a></p>");
}

static void draw_members(const PodPage *page, const ReasonGroup *group, const char *id) {
    size_t size = outcomes_size(page->outcomes), n = 0;
    Str caption = arena_printf(page->context->arena, "Nodes: %.*s", STR_FMT(group->reason));

    if (!caption.ptr)
        return;
    widget_table(page->html, id, caption.ptr, "Node|Value and limit then|Also fails");
    for (size_t i = 0; i < size && n < NODES_SHOWN; i++) {
        uint32_t number;
        Outcome outcome = outcomes_at(page->outcomes, i, &number);
        const RuleName *rule = past_rule_of(page->filter, outcome);

        if (outcome.kind != group->kind ||
            (group->kind == OUTCOME_REJECTED && !(rule && str_eq(rule->reason, group->reason))))
            continue;
        draw_member(page, page->names[number - 1], rule);
        n++;
    }
    widget_table_end(page->html);
    if (group->n_nodes > n)
        draw_rest(page, group);
}

static void draw_group(const PodPage *page, const ReasonGroup *group, size_t number) {
    Html *html = page->html;
    char id[48];

    (void)snprintf(id, sizeof(id), "reason-%zu", number);
    html_write(html, "<details class='reason' id='%s'><summary><b>%zu</b> %.*s", id, group->n_nodes,
        STR_FMT(group->reason));
    if (group->policy.len > 0)
        html_write(html, " (policy %.*s, rule %.*s)", STR_FMT(group->policy), STR_FMT(group->rule));
    html_write(html, "%s</summary>", group->is_unresolvable ? " – preemption cannot help" : "");
    (void)snprintf(id, sizeof(id), "reason-%zu-nodes", number);
    if (page->outcomes)
        draw_members(page, group, id);
    else
        html_write(html, "<p>The names of these nodes are no longer kept.</p>");
    html_close(html);
}

static void draw_reasons(const PodPage *page) {
    ReasonGroup *groups = ARENA_ARRAY(page->context->arena, ReasonGroup, REASONS_MAX);
    size_t n =
        groups ? attempt_reasons(&page->attempt->verbs[VERB_FILTER], groups, REASONS_MAX) : 0;

    if (n == 0)
        return;
    html_write(page->html, "<h3>Reasons, as kubectl describe groups them</h3>"
                           "<p>kubectl describe pod shows berth's reasons as: <samp>");
    for (size_t i = 0; i < n; i++)
        html_write(page->html, "%s%zu %.*s", i > 0 ? ", " : "", groups[i].n_nodes,
            STR_FMT(groups[i].reason));
    html_write(page->html, ".</samp></p>");
    for (size_t i = 0; i < n; i++)
        draw_group(page, &groups[i], i + 1);
}

void pod_attempt(const PodPage *page) {
    Html *html = page->html;

    html_write(html, "<section id='attempt' data-live><h2>Attempt %zu of %zu</h2><p>Time: %td%s",
        page->number, page->pod->n_attempts, attempt_first(page->attempt)->at_nsec,
        page->is_pinned ? ". This page stays on this attempt; " : ", the newest.");
    if (page->is_pinned)
        html_write(html, "<a href='/pod?namespace=%.*s&name=%.*s'>follow the newest</a>",
            STR_FMT(page->namespace), STR_FMT(page->name));
    html_close(html);
    if (!page->filter) {
        html_write(html, "<p>Its filter is no longer kept.</p>");
    } else if (!str_is_empty(page->filter->error)) {
        html_write(html, "<p class='problem'>%.*s</p>", STR_FMT(page->filter->error));
    } else {
        draw_counts(page);
        draw_reasons(page);
    }
    if (page->obstacle)
        html_write(html,
            "<p class='notice'>Values, limits and score parts cannot be shown: %s.</p>",
            page->obstacle);
    html_close(html);
}
