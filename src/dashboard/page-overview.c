/*
 * Figures of the last minutes and the last hour, pending pods, the newest decisions, and the rules
 * that reject most. Each links to the page with the details.
 */

#include <math.h>
#include <stdlib.h>

#include "dashboard/dashboard.h"
#include "dashboard/page-parts.h"
#include "dashboard/widgets.h"
#include "history/pending-groups.h"

#define WINDOW_SEC 300
#define GROUPS_SHOWN 10u
#define RULES_SHOWN 8u

/* --- figures ---------------------------------------------------------------------------------- */

static void draw_tiles(const PageContext *context, Html *html) {
    double uptime_sec =
        (double)(context->now_nsec - context->api->fixed.started_at_nsec) / (double)NSEC_PER_SEC;
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
        (double)n / fmin(fmax(uptime_sec, 1), WINDOW_SEC));
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

static void draw_charts(const PageContext *context, Html *html) {
    static const HourChart charts[] = {
        {"Pending pods", "", slot_pending},
        {"Decisions", "/ s", slot_requests},
        {"Filter p99 latency", "ms", slot_p99_msec},
    };

    last_hour_draw(context, html, charts, ELEMENTS_OF(charts));
}

/* --- pending pods ----------------------------------------------------------------------------- */

/* To its pods; or to the pod, if it is the only one. */
static void draw_group_name(Html *html, const PendingGroup *group) {
    Str rest = group->workload, namespace, kind;

    if (group->n == 1) {
        html_write(html, POD_LINK, POD_FMT(group->first->namespace, group->first->name));
        return;
    }
    (void)str_split(&rest, '/', &namespace);
    (void)str_split(&rest, '/', &kind);
    html_write(html,
        "<a href='/pods?state=pending&workload=%.*s' class='pod'>%.*s/%.*s</a> <small>%.*s</small>",
        STR_FMT(group->workload), STR_FMT(namespace), STR_FMT(rest), STR_FMT(kind));
}

static void draw_group(Html *html, const PendingGroup *group) {
    html_write(html, "<tr><th scope='row'>");
    draw_group_name(html, group);
    html_write(html, "</th><td class='number'>%zu</td><td>%td</td><td>%td</td><td>%.*s</td></tr>",
        group->n, group->first->first_nsec, group->last->last_nsec, STR_FMT(group->last->reason));
}

static void draw_groups(Html *html, const PendingGroups *groups) {
    size_t n_shown = 0;

    widget_table(html, "waiting", "Pending pods by workload and main reason",
        "Workload or pod|#Pods|Pending since|Last attempt|Main reason");
    for (size_t i = 0; i < groups->n && i < GROUPS_SHOWN; i++) {
        draw_group(html, &groups->groups[i]);
        n_shown += groups->groups[i].n;
    }
    widget_table_end(html);
    if (n_shown < groups->n_pods)
        html_write(
            html, "<p><a href='/pods?state=pending'>All %zu pending pods</a></p>", groups->n_pods);
}

static void draw_waiting(const PageContext *context, Html *html, const PodsSummary *summary) {
    PendingGroups groups;

    widget_section(html, "wait", "Pending pods");
    if (pending_groups_make(summary, context->arena, &groups) < 0)
        (void)widget_no_memory(html, "pending pods");
    else if (groups.n > 0)
        draw_groups(html, &groups);
    else
        widget_empty(html, "No pod is pending because of berth.", NULL);
    html_close(html);
}

/* --- rules ------------------------------------------------------------------------------------ */

typedef struct Rejecting {
    const Filter *filter;
    uint64_t n_nodes;
} Rejecting;

static int compare_rejecting(const void *a, const void *b) {
    const Rejecting *x = a, *y = b;

    return (x->n_nodes < y->n_nodes) - (x->n_nodes > y->n_nodes);
}

/* All rules that rejected a node, those with the most first. */
static Rejecting *find_rejecting(const PageContext *context, size_t *ret_n) {
    const Program *program = context->view->program;
    size_t n_filters = 0, n = 0;
    Rejecting *all;

    for (size_t i = 0; i < program->n_policies; i++)
        n_filters += program->policies[i].n_filters;
    all = ARENA_ARRAY(context->arena, Rejecting, n_filters + 1);
    for (size_t i = 0; all && i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];

        for (size_t k = 0; k < policy->n_filters; k++) {
            all[n].filter = &policy->filters[k];
            all[n].n_nodes =
                metrics_of_rule(context->api->metrics, policy->name, policy->filters[k].name)
                    .n_rejected;
            n += all[n].n_nodes > 0;
        }
    }
    if (all)
        qsort(all, n, sizeof(*all), compare_rejecting);
    *ret_n = n;
    return all;
}

static void draw_rules(const PageContext *context, Html *html) {
    size_t n;
    const Rejecting *all = find_rejecting(context, &n);

    if (!all)
        return;
    widget_section(html, "rejecting", "Rules with the most rejections, since the start");
    if (context->view->program->n_policies == 0)
        widget_empty(html, "No policies are loaded: all nodes pass.",
            "Start berth serve with --policy FILE.");
    else if (n == 0)
        widget_empty(html, "No rule has rejected a node.", NULL);
    if (n > 0) {
        widget_table(html, "rules", "Rules with the most rejections, since the start",
            "Rule|Reason|#Nodes rejected");
        for (size_t i = 0; i < n && i < RULES_SHOWN; i++)
            html_write(html,
                "<tr><th scope='row'><a href='/policies'>%.*s/%.*s</a></th><td>%.*s</td><td "
                "class='number'>%zu</td></tr>",
                STR_FMT(all[i].filter->policy->name), STR_FMT(all[i].filter->name),
                STR_FMT(all[i].filter->reason), all[i].n_nodes);
        widget_table_end(html);
    }
    html_close(html);
}

unsigned page_overview(const PageContext *context, Html *html) {
    PodsSummary summary = {0};
    int r = pods_summary_all(context->api->decisions, context->api->recent_pods, context->view,
        context->arena, &summary);

    draw_tiles(context, html);
    draw_charts(context, html);
    if (r == 0)
        draw_waiting(context, html, &summary);
    newest_pods_draw(context, html);
    draw_rules(context, html);
    pods_summary_done(&summary);
    return 200;
}
