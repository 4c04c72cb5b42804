/*
 * Figures of the last minutes, pending pods, the newest decisions, and the policies that reject
 * most. Each links to the page with the details.
 */

#include <errno.h>
#include <stdlib.h>

#include "dashboard/dashboard.h"
#include "dashboard/page-parts.h"
#include "dashboard/widgets.h"
#include "history/pods-summary.h"

#define WINDOW_SEC 300
#define NEWEST_SHOWN 30u
#define WAITING_SHOWN 10u
#define POLICIES_SHOWN 5u
#define READ_AT_ONCE 64u

static void draw_tiles(const PageContext *context, Html *html) {
    const LatencySlot *slots = last_hour_read(context);
    const HealthFacts *facts = &context->health->facts;
    uint64_t n = 0, n_nodes = 0, n_rejected = 0;
    LatencyVerb verbs[_VERB_MAX];

    if (!slots)
        return;
    latency_read(context->api->latency, WINDOW_SEC, context->now_nsec, verbs);
    for (Verb verb = 0; verb < _VERB_MAX; verb++)
        n += verbs[verb].parts[LATENCY_TOTAL].n;
    for (size_t i = LATENCY_SLOTS - WINDOW_SEC / LATENCY_SLOT_SEC; i < LATENCY_SLOTS; i++) {
        n_nodes += slots[i].n_nodes;
        n_rejected += slots[i].n_rejected;
    }
    html_write(html,
        "<section id='figures' data-live><h2>Last 5 minutes</h2><dl class='tiles'>"
        "<div class='tile'><dt>decisions</dt><dd>%.1f / s</dd></div>"
        "<div class='tile'><dt>nodes rejected by filters</dt><dd>",
        (double)n / WINDOW_SEC);
    if (n_nodes == 0)
        html_write(html, "–");
    else
        html_write(html, "%.1f %%", (double)n_rejected / (double)n_nodes * 100);
    html_write(html,
        "</dd></div><div class='tile'><dt>pending pods</dt><dd>"
        "<a href='/pods?state=pending'>%zu</a></dd></div>"
        "<div class='tile'><dt>filter p99 latency</dt><dd><a href='/latency'>",
        facts->n_waiting);
    if (facts->p99_nsec > 0)
        html_duration(html, facts->p99_nsec);
    else
        html_write(html, "none yet");
    html_write(html, "</a></dd></div></dl></section>");
}

/* --- decisions -------------------------------------------------------------------------------- */

/* The newest at that time; references. */
static size_t read_newest(const PageContext *context, FoundDecision *ret, size_t max) {
    FoundDecision some[READ_AT_ONCE];
    uint64_t below = 0;
    size_t n = 0, n_some;

    if (!context->api->decisions)
        return 0;
    do {
        n_some = decisions_read(context->api->decisions, below, some, READ_AT_ONCE);
        for (size_t i = 0; i < n_some; i++) {
            below = some[i].past->id;
            if (n < max && (context->at_nsec == 0 || some[i].past->at_nsec <= context->at_nsec))
                ret[n++] = some[i];
            else
                found_done(&some[i]);
        }
    } while (n_some > 0 && n < max);
    return n;
}

static void draw_decision(Html *html, const PastDecision *past) {
    html_write(html, "<tr><td>%td</td><td>", past->at_nsec);
    widget_pod(html, past->pod_namespace, past->pod_name);
    html_write(html, "</td><td>");
    decision_open_link(html, past);
    html_write(html, "%s</a></td><td class='number'>", verb_name(past->verb));
    decision_counts(html, past);
    html_write(html, "</td><td>");
    decision_result(html, past);
    html_write(html, "</td></tr>");
}

static void draw_newest(const PageContext *context, Html *html) {
    FoundDecision found[NEWEST_SHOWN];
    size_t n = read_newest(context, found, NEWEST_SHOWN);

    widget_section(html, "newest", "Newest decisions");
    widget_table(
        html, "decisions", "The newest decisions", "When|Pod|Verb|#Candidates → passed|Result");
    for (size_t i = 0; i < n; i++) {
        draw_decision(html, found[i].past);
        found_done(&found[i]);
    }
    widget_table_end(html);
    if (n == 0)
        widget_empty(html,
            context->api->decisions ? "No decisions yet." : "Decisions are not kept.",
            context->api->decisions ? "Configure berth as an extender of kube-scheduler (berth "
                                      "config prints how), then create a pod."
                                    : "Start berth serve without --decisions 0.");
    html_close(html);
}

/* --- pending pods ----------------------------------------------------------------------------- */

static int compare_since(const void *a, const void *b) {
    const PodSummary *const *x = a, *const *y = b;

    return ((*x)->first_nsec > (*y)->first_nsec) - ((*x)->first_nsec < (*y)->first_nsec);
}

static void draw_waiting_rows(Html *html, const PodSummary **waiting, size_t n) {
    qsort(waiting, n, sizeof(*waiting), compare_since);
    widget_table(
        html, "waiting", "Pods pending longest", "Pod|First attempt|#Attempts|Main reason");
    for (size_t i = 0; i < n && i < WAITING_SHOWN; i++) {
        html_write(html, "<tr><td>");
        widget_pod(html, waiting[i]->namespace, waiting[i]->name);
        html_write(html, "</td><td>%td</td><td class='number'>%zu</td><td>%.*s</td></tr>",
            waiting[i]->first_nsec, waiting[i]->n_attempts, STR_FMT(waiting[i]->reason));
    }
    widget_table_end(html);
}

static void draw_waiting(const PageContext *context, Html *html, const PodsSummary *summary) {
    const PodSummary **waiting = ARENA_ARRAY(context->arena, const PodSummary *, summary->n + 1);
    size_t n = 0;

    widget_section(html, "wait", "Pending pods");
    for (size_t i = 0; waiting && i < summary->n; i++)
        if (summary->pods[i].is_waiting)
            waiting[n++] = &summary->pods[i];
    if (n > 0)
        draw_waiting_rows(html, waiting, n);
    else
        widget_empty(html, "No pod is pending because of berth.", NULL);
    html_close(html);
}

/* --- policies --------------------------------------------------------------------------------- */

typedef struct Rejecting {
    Str policy;
    uint64_t n_nodes;
    PolicyFigure figure;
} Rejecting;

static int compare_rejecting(const void *a, const void *b) {
    const Rejecting *x = a, *y = b;

    return (x->n_nodes < y->n_nodes) - (x->n_nodes > y->n_nodes);
}

static Rejecting rejecting_of(Metrics *metrics, const Policy *policy) {
    Rejecting rejecting = {
        .policy = policy->name, .figure = metrics_of_policy(metrics, policy->name)};

    for (size_t i = 0; i < policy->n_filters; i++)
        rejecting.n_nodes +=
            metrics_of_rule(metrics, policy->name, policy->filters[i].name).n_rejected;
    return rejecting;
}

static void draw_policies(const PageContext *context, Html *html) {
    const Program *program = context->view->program;
    Rejecting *all = ARENA_ARRAY(context->arena, Rejecting, program->n_policies + 1);

    widget_section(html, "rejecting", "Policies with the most rejections");
    if (program->n_policies == 0)
        widget_empty(html, "No policies are loaded: all nodes pass.",
            "Start berth serve with --policy FILE.");
    for (size_t i = 0; all && i < program->n_policies; i++)
        all[i] = rejecting_of(context->api->metrics, &program->policies[i]);
    if (all)
        qsort(all, program->n_policies, sizeof(*all), compare_rejecting);
    widget_table(html, "policies", "Since the start",
        "Policy|#Nodes rejected|#Filter requests|#No node passed");
    for (size_t i = 0; all && i < program->n_policies && i < POLICIES_SHOWN; i++)
        html_write(html,
            "<tr><td><a href='/policies'>%.*s</a></td><td class='number'>%zu</td><td "
            "class='number'>%zu</td><td class='number'>%zu</td></tr>",
            STR_FMT(all[i].policy), all[i].n_nodes, all[i].figure.n_matched,
            all[i].figure.n_rejected_all);
    widget_table_end(html);
    html_close(html);
}

unsigned page_overview(const PageContext *context, Html *html) {
    PodsSummary summary = {0};
    int r = pods_summary_all(context->api->decisions, context->api->recent_pods, context->view,
        context->arena, &summary);

    draw_tiles(context, html);
    if (r == 0)
        draw_waiting(context, html, &summary);
    draw_newest(context, html);
    draw_policies(context, html);
    pods_summary_done(&summary);
    return 200;
}
