/*
 * Which policy keeps pods pending? Policies that are the only blocker of most pods come first.
 *
 * For the modules: <p id="policies-verdict">, the tables in #policies and #ranked-rules, a
 * <section id="rules"> of <details id="policy-NAME">, each with a table.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/policies-summary.h"
#include "dashboard/dashboard.h"
#include "dashboard/widgets.h"

static int compare(const void *a, const void *b) {
    const PolicySummary *x = a, *y = b;

    if (x->n_only_blocker != y->n_only_blocker)
        return x->n_only_blocker > y->n_only_blocker ? -1 : 1;
    if (x->is_observed != y->is_observed)
        return x->is_observed ? 1 : -1;
    if (x->n_rejected != y->n_rejected)
        return x->n_rejected > y->n_rejected ? -1 : 1;
    return str_cmp(x->name, y->name);
}

static void draw_cost(Html *html, double nsec) {
    if (isnan(nsec))
        html_write(html, "<td class='number'>–</td>");
    else
        html_write(html,
            nsec < 10 ? "<td class='number' data-value='%.6g'>%.1f ns</td>"
                      : "<td class='number' data-value='%.6g'>%.0f ns</td>",
            nsec, nsec);
}

static void draw_verdict(Html *html, const PoliciesSummary *summary, const PolicySummary *first) {
    html_write(html, "<p id='policies-verdict' data-live>");
    if (summary->n_waiting == 0)
        html_write(html, "No pod is pending because of berth.");
    else
        html_write(html, "%zu%s", summary->n_waiting,
            summary->n_waiting == 1 ? " pod is pending. " : " pods are pending. ");
    if (summary->n_looked_at < summary->n_waiting)
        html_write(html, "%zu of them were checked. ", summary->n_looked_at);
    if (summary->n_waiting > 0 && first->n_only_blocker > 0)
        html_write(html,
            "Without policy <strong>%.*s</strong> %zu of %zu pending pods would have a node, as "
            "far as berth's rules go.",
            STR_FMT(first->name), first->n_only_blocker, summary->n_looked_at);
    else if (summary->n_waiting > 0)
        html_write(html, "No single policy is the only blocker of any of them.");
    if (!summary->is_whole)
        html_write(html, " Time ran out: the numbers may be too low.");
    html_close(html);
}

typedef struct RankedRule {
    const PolicySummary *policy;
    const RuleSummary *rule;
    uint64_t n_nodes; /* that it rejected, or, in mode Observe, would have rejected */
} RankedRule;

static int compare_ranked(const void *a, const void *b) {
    const RankedRule *x = a, *y = b;

    if (x->rule->n_only_blocker != y->rule->n_only_blocker)
        return x->rule->n_only_blocker > y->rule->n_only_blocker ? -1 : 1;
    if (x->policy->is_observed != y->policy->is_observed)
        return x->policy->is_observed ? 1 : -1;
    return (x->n_nodes < y->n_nodes) - (x->n_nodes > y->n_nodes);
}

static RankedRule *rank_rules(const PoliciesSummary *summary, Arena *arena, size_t *ret_n) {
    size_t n_rules = 0, n = 0;
    RankedRule *all;

    for (size_t i = 0; i < summary->n; i++)
        n_rules += summary->policies[i].n_rules;
    all = ARENA_ARRAY(arena, RankedRule, n_rules + 1);
    for (size_t i = 0; all && i < summary->n; i++) {
        const PolicySummary *policy = &summary->policies[i];

        for (size_t k = 0; k < policy->n_rules; k++)
            if (policy->rules[k].is_filter)
                all[n++] = (RankedRule){policy, &policy->rules[k],
                    policy->is_observed ? policy->rules[k].n_observed
                                        : policy->rules[k].n_rejected};
    }
    if (all)
        qsort(all, n, sizeof(*all), compare_ranked);
    *ret_n = n;
    return all;
}

static void draw_ranked(const PageContext *context, Html *html, const PoliciesSummary *summary) {
    size_t n;
    const RankedRule *all = rank_rules(summary, context->arena, &n);

    if (!all || n == 0)
        return;
    widget_section(html, "ranked", "Filter rules of all policies, ranked");
    widget_table(html, "ranked-rules", "Filter rules of all policies, ranked",
        "Rule|Policy|Reason|#Only blocker of|#Nodes rejected");
    for (size_t i = 0; i < n; i++)
        html_write(html,
            "<tr><th scope='row'>%.*s</th><td><a href='#policy-%.*s'>%.*s</a>%s</td><td>%.*s</td>"
            "<td class='number'>%zu</td><td class='number'>%zu</td></tr>",
            STR_FMT(all[i].rule->name), STR_FMT(all[i].policy->name), STR_FMT(all[i].policy->name),
            all[i].policy->is_observed ? " (Observe: only counted)" : "",
            STR_FMT(all[i].rule->reason), all[i].rule->n_only_blocker, all[i].n_nodes);
    widget_table_end(html);
    html_close(html);
}

static void draw_rules_of(const PageContext *context, Html *html, const PolicySummary *policy) {
    Str table = arena_printf(context->arena, "rules-%.*s", STR_FMT(policy->name));
    Str caption = arena_printf(context->arena, "Rules of %.*s", STR_FMT(policy->name));

    if (!table.ptr || !caption.ptr)
        return;
    html_write(html,
        policy->n_only_blocker > 0 ? "<details id='policy-%.*s' open>"
                                   : "<details id='policy-%.*s'>",
        STR_FMT(policy->name));
    html_write(html, "<summary><strong>%.*s</strong>: %zu %s</summary>", STR_FMT(policy->name),
        policy->n_rules, policy->n_rules == 1 ? "rule" : "rules");
    if (policy->n_rules > 0) {
        widget_table(html, table.ptr, caption.ptr,
            "Rule|Kind|Reason|#Only blocker of|#Nodes rejected|#Errors (nodes)|#Metric missing "
            "(nodes)|#Cost per node");
        for (size_t i = 0; i < policy->n_rules; i++) {
            const RuleSummary *rule = &policy->rules[i];

            html_write(html, "<tr><th scope='row'>%.*s</th><td>%s<code>%.*s</code>",
                STR_FMT(rule->name), rule->is_filter ? "filter, " : "score, ", STR_FMT(rule->kind));
            if (!rule->is_filter)
                html_write(html, ", weight %.6g", rule->weight);
            html_write(html,
                "</td><td>%.*s</td><td class='number'>%zu</td><td class='number'>%zu</td><td "
                "class='number'>%zu</td><td class='number'>%zu</td>",
                STR_FMT(rule->reason), rule->n_only_blocker,
                policy->is_observed ? rule->n_observed : rule->n_rejected, rule->n_failed,
                rule->n_missing);
            draw_cost(html, rule->cost_nsec);
            html_close(html);
        }
        widget_table_end(html);
    }
    if (!str_is_empty(policy->file)) {
        html_write(html, "<p>Defined in line %u of <code>%.*s</code>. Print its rules as CEL:</p>",
            policy->line, STR_FMT(policy->file));
        widget_shell(html, "berth check --print-cel", &policy->file, 1, NULL);
    }
    html_close(html);
}

unsigned page_policies(const PageContext *context, Html *html) {
    PoliciesSummary summary;

    if (policies_summary_make(context->api, POLICIES_SUMMARY_CPU_NSEC, context->arena, &summary) <
        0)
        return widget_no_memory(html, "this page");
    if (summary.n == 0) {
        widget_empty(html, "No policies are loaded: all nodes pass.",
            "Write one (see the tutorial) and start berth serve --policy FILE.");
        return 200;
    }
    qsort(summary.policies, summary.n, sizeof(*summary.policies), compare);
    draw_verdict(html, &summary, &summary.policies[0]);
    widget_table(html, "policies", "Policies in force",
        "Policy|Mode|#Only blocker of|#Filter requests|#Nodes rejected|#No node passed|#Cost per "
        "node|Last match");
    for (size_t i = 0; i < summary.n; i++) {
        const PolicySummary *policy = &summary.policies[i];

        html_write(html,
            policy->is_observed ? "<tr><th scope='row'>%.*s</th><td><span class='quiet'>Observe: "
                                  "only counted</span></td><td class='number'>"
                                : "<tr><th scope='row'>%.*s</th><td>Enforce</td><td "
                                  "class='number'>",
            STR_FMT(policy->name));
        if (policy->n_only_blocker == 0)
            html_write(html, "0");
        else
            html_write(html, "<a href='/pods?state=pending' class='bad'>%zu of %zu pending</a>",
                policy->n_only_blocker, summary.n_looked_at);
        html_write(html,
            "</td><td class='number'>%zu</td><td class='number'>%zu</td><td "
            "class='number'>%zu</td>",
            policy->n_matched, policy->n_rejected, policy->n_rejected_all);
        draw_cost(html, policy->cost_nsec);
        if (policy->matched_nsec > 0)
            html_write(html, "<td>%td</td></tr>", policy->matched_nsec);
        else
            html_write(html, "<td>not recently</td></tr>");
    }
    widget_table_end(html);
    draw_ranked(context, html, &summary);
    widget_section(html, "rules", "Rules by policy");
    for (size_t i = 0; i < summary.n; i++)
        draw_rules_of(context, html, &summary.policies[i]);
    html_close(html);
    html_write(html,
        "<h2>What the columns mean</h2><dl><dt>Only blocker of</dt><dd>Pending pods with a "
        "candidate node that fails only this policy: without it, the node would pass. Candidates "
        "are the nodes of the last attempt.</dd><dt>Nodes rejected</dt><dd>Since berth started. A "
        "node that fails several rules counts for the first one. In mode Observe: nodes that would "
        "have been rejected.</dd><dt>Cost per node</dt><dd>CPU time of each rule on its own, for "
        "recent pods. Rules that read only the node are evaluated when the node changes and cost "
        "almost nothing here.</dd></dl><p>Try a change before you apply it:</p><p><a "
        "href='/what-if'>What if …?</a></p>");
    return 200;
}
