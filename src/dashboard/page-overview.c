/*
 * Figures of the last minutes and the last hour, pending pods, and the newest decisions. Each links
 * to the page with the details.
 */

#include <math.h>

#include "dashboard/page-parts.h"

#define WINDOW_SEC 300
#define GROUPS_SHOWN 10u
#define DECISIONS_SHOWN 15u
#define DECISIONS_READ_MAX 1024u

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

static void draw_groups(Html *html, const PendingGroups *groups) {
    size_t n_shown = 0;

    widget_table(html, "waiting", "Pending pods by workload and main reason",
        "Workload or pod|#Pods|Pending since|Last attempt|Main reason");
    for (size_t i = 0; i < groups->n && i < GROUPS_SHOWN; i++) {
        const PendingGroup *group = &groups->groups[i];
        Str rest = group->workload, namespace, kind;

        (void)str_split(&rest, '/', &namespace);
        (void)str_split(&rest, '/', &kind);
        html_write(html, "<tr><th scope='row'>");
        if (group->n == 1) /* the pod itself */
            html_write(html, POD_LINK, POD_FMT(group->first->namespace, group->first->name));
        else
            html_write(html,
                "<a href='/pods?state=pending&workload=%.*s' class='pod'>%.*s/%.*s</a> "
                "<small>%.*s</small>",
                STR_FMT(group->workload), STR_FMT(namespace), STR_FMT(rest), STR_FMT(kind));
        html_write(html,
            "</th><td class='number'>%zu</td><td>%td</td><td>%td</td><td>%.*s</td></tr>", group->n,
            group->first->first_nsec, group->last->last_nsec, STR_FMT(group->last->reason));
        n_shown += group->n;
    }
    widget_table_end(html);
    if (n_shown < groups->n_pods)
        html_write(
            html, "<p><a href='/pods?state=pending'>All %zu pending pods</a></p>", groups->n_pods);
}

/* The newest decisions, one row for each pod: the verbs of its last attempt together. */
typedef struct NewestPods {
    PodAttempt rows[DECISIONS_SHOWN]; /* references; in the order of their newest decision */
    int64_t at_nsec[DECISIONS_SHOWN]; /* of that decision */
    size_t n, n_whole;                /* n_whole: rows with a filter, the first verb */
} NewestPods;

static void read_newest(const PageContext *context, NewestPods *newest) {
    _cleanup_(decisions_walk_done) DecisionsWalk walk = {.decisions = context->api->decisions};
    FoundDecision found;

    for (size_t n_read = 0; n_read < DECISIONS_READ_MAX && newest->n_whole < DECISIONS_SHOWN &&
                            decisions_next(&walk, &found);) {
        Verb verb = found.past->verb;
        PodAttempt *row = NULL;
        size_t i = 0;

        if (context->at_nsec == 0 || found.past->at_nsec <= context->at_nsec) {
            n_read++;
            while (i < newest->n && !past_is_same_pod(attempt_first(&newest->rows[i]), found.past))
                i++;
            row = i < DECISIONS_SHOWN ? &newest->rows[i] : NULL;
            if (row && i == newest->n)
                newest->at_nsec[newest->n++] = found.past->at_nsec;
        }
        /* Decisions before a pod's last filter are of an earlier attempt. */
        if (row && !row->verbs[VERB_FILTER].past && !row->verbs[verb].past) {
            row->verbs[verb] = found;
            newest->n_whole += verb == VERB_FILTER;
        } else {
            found_done(&found);
        }
    }
}

static void draw_newest(const PageContext *context, Html *html) {
    NewestPods *newest = ARENA_NEW(context->arena, NewestPods);

    if (!newest)
        return;
    widget_section(html, "newest", "Newest decisions");
    read_newest(context, newest);
    if (newest->n > 0) {
        widget_table(html, "decisions", "Newest decisions", "Pod|When|" ATTEMPT_COLUMNS);
        for (size_t i = 0; i < newest->n; i++) {
            const PastDecision *past = attempt_first(&newest->rows[i]);

            html_write(html, "<tr><th scope='row'>");
            decision_open_link(html, past);
            html_attr(html, "class", STR("pod"));
            html_write(html, "%.*s/%.*s</a></th><td>%td</td>", STR_FMT(past->pod_namespace),
                STR_FMT(past->pod_name), newest->at_nsec[i]);
            attempt_cells(html, &newest->rows[i]);
            html_close(html);
        }
        widget_table_end(html);
    } else {
        widget_no_decisions(html, context->api->decisions, "No decisions yet.");
    }
    for (size_t i = 0; i < newest->n; i++)
        for (Verb verb = 0; verb < _VERB_MAX; verb++)
            found_done(&newest->rows[i].verbs[verb]);
    html_close(html);
}

unsigned page_overview(const PageContext *context, Html *html) {
    static const HourChart charts[] = {
        {"Pending pods", "", slot_pending},
        {"Decisions", "/ s", slot_requests},
        {"Filter p99 latency", "ms", slot_p99_msec},
    };
    _cleanup_(pods_summary_done) PodsSummary summary = {0};
    int r = pods_summary_all(context->api->decisions, context->api->recent_pods, context->view,
        context->arena, &summary);
    PendingGroups groups;

    draw_tiles(context, html);
    last_hour_draw(context, html, charts, ELEMENTS_OF(charts), /* marks= */ NULL, 0);
    if (r == 0) {
        widget_section(html, "wait", "Pending pods");
        if (pending_groups_make(&summary, context->arena, &groups) < 0)
            (void)widget_no_memory(html, "pending pods");
        else if (groups.n > 0)
            draw_groups(html, &groups);
        else
            widget_empty(html, "No pod is pending because of berth.", NULL);
        html_close(html);
    }
    draw_newest(context, html);
    return 200;
}
