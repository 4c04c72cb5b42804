/*
 * The state in a sentence: pending, with the reasons, or placed; and all attempts as a table, each
 * with a link to itself.
 */

#include <stdio.h>

#include "base/calendar.h"
#include "base/nsec.h"
#include "dashboard/pod-internal.h"

#define ATTEMPTS_SHOWN 50u
#define REASONS_MAX 240u

/* --- headline --------------------------------------------------------------------------------- */

static void draw_passed(Html *html, const PodSummary *pod) {
    html_write(html, "%zu of %zu%s", pod->n_passed, pod->n_in,
        pod->n_in == 1 ? " node passed" : " nodes passed");
}

/* "; 4,203 nodes: node is too busy (policy busy, rule cool)" */
static void draw_reasons(const PodPage *page) {
    ReasonGroup *groups = ARENA_ARRAY(page->context->arena, ReasonGroup, REASONS_MAX);
    size_t n =
        groups && page->pod->filter ? attempt_reasons(page->pod->filter, groups, REASONS_MAX) : 0;
    Html *html = page->html;

    for (size_t i = 0; i < n; i++) {
        html_write(html, "%s%zu %s: %.*s ", i == 0 ? "; " : " · ", groups[i].n_nodes,
            groups[i].n_nodes == 1 ? "node" : "nodes", STR_FMT(groups[i].reason));
        if (!str_is_empty(groups[i].policy))
            html_write(html, RULE_NOTE, RULE_FMT(groups[i].policy, groups[i].rule));
    }
}

static void draw_retry(const PodPage *page) {
    int64_t latest = page->pod->last_nsec + PODS_SUMMARY_RETRY_SEC * NSEC_PER_SEC;
    char clock[48]; /* the day is today's, or the next */
    int second;

    (void)calendar_day_of(latest / NSEC_PER_SEC, &second);
    (void)snprintf(
        clock, sizeof(clock), "%02d:%02d:%02d", second / 3600, second / 60 % 60, second % 60);
    html_write(page->html,
        latest > page->context->wall_nsec
            ? "<p>kube-scheduler retries when the cluster changes, at the latest at %s UTC.</p>"
            : "<p>kube-scheduler should have retried by %s UTC, but sent no request: check that it "
              "runs and that the pod still exists.</p>",
        clock);
}

/* The first of its last attempts that found no node. A pod of the same name may have been before
 * it. */
static int64_t waiting_since(const PodSummary *pod) {
    int64_t since = pod->last_nsec;

    for (size_t i = 0; i < pod->n_attempts; i++) {
        const PastDecision *filter = pod->attempts[i].verbs[VERB_FILTER].past;

        if (!filter || filter->summary.n_out > 0 || !str_eq(filter->pod_uid, pod->uid))
            break;
        since = filter->at_nsec;
    }
    return since;
}

static void draw_waiting(const PodPage *page) {
    html_write(page->html, "<p class='answer'><strong class='warn'>◔ pending</strong> since %td: ",
        waiting_since(page->pod));
    draw_passed(page->html, page->pod);
    draw_reasons(page);
    html_write(page->html, ".</p>");
    draw_retry(page);
}

static void draw_settled(const PodPage *page) {
    const PodSummary *pod = page->pod;
    Html *html = page->html;

    html_write(html, "<p class='answer'>");
    if (!str_is_empty(pod->node)) {
        html_write(
            html, "<strong class='good'>✓ on node </strong>" NODE_LINK ": ", NODE_FMT(pod->node));
    } else if (pod->is_exempt) {
        html_write(html, "This pod is exempt from policies (--exempt): ");
    }
    if (pod->filter && !str_is_empty(pod->filter->past->error)) {
        html_write(html, "<strong class='bad'>✗ the last request failed: </strong>%.*s",
            STR_FMT(pod->filter->past->error));
    } else {
        draw_passed(html, pod);
    }
    if (str_is_empty(pod->node) && pod->n_passed > 0)
        html_write(html, "; berth has not seen which node kube-scheduler chose");
    html_write(html, ".</p>");
}

void pod_nomination(const PodPage *page) {
    const NominationRecord *nomination = &page->nomination;
    Html *html = page->html;

    if (page->has_nomination) {
        html_write(html,
            "<p id='nominated'>Nominated for " NODE_LINK
            " by berth at %td: best of %zu nodes that can take the pod, by the model of "
            "kube-scheduler and the scores of policies",
            NODE_FMT(nomination->node), nomination->at_nsec, nomination->n_feasible);
        if (nomination->n_best > 1)
            html_write(html, " (%zu are equal)", nomination->n_best);
        html_write(html, "; %s.</p>", nomination_outcome_text(nomination->outcome));
    } else if (page->filter && !str_is_empty(page->filter->nominated)) {
        html_write(html,
            "<p id='nominated'>Nominated for " NODE_LINK
            ", but not by this berth (status.nominatedNodeName).</p>",
            NODE_FMT(page->filter->nominated));
    }
}

void pod_story(const PodPage *page) {
    html_write(page->html, "<section id='story' data-live><h2 class='subject'>%.*s/%.*s</h2>",
        STR_FMT(page->namespace), STR_FMT(page->name));
    if (page->pod->is_waiting)
        draw_waiting(page);
    else
        draw_settled(page);
    pod_nomination(page);
    html_close(page->html);
}

/* --- timeline --------------------------------------------------------------------------------- */

static void draw_attempt(const PodPage *page, const PodAttempt *attempt, size_t number) {
    const PastDecision *first = attempt_first(attempt);
    Html *html = page->html;

    if (!first)
        return;
    html_open(html, "tr");
    if (attempt == page->attempt)
        html_attr(html, "class", STR("chosen"));
    html_write(html, "<th scope='row'>");
    decision_open_link(html, first);
    if (attempt == page->attempt)
        html_attr(html, "aria-current", STR("true"));
    html_write(html, "Attempt %zu</a>", number);
    if (attempt == page->attempt)
        html_write(html, " ← shown below");
    html_write(html, "</th><td>%td</td>", first->at_nsec);
    attempt_cells(html, attempt);
    html_close(html);
}

void pod_attempts(const PodPage *page) {
    const PodSummary *pod = page->pod;
    Html *html = page->html;

    widget_table(html, "attempts", "Attempts, newest first", "Attempt|When|" ATTEMPT_COLUMNS);
    for (size_t i = 0; i < pod->n_attempts && i < ATTEMPTS_SHOWN; i++)
        draw_attempt(page, &pod->attempts[i], pod->n_attempts - i);
    widget_table_end(html);
    if (pod->n_attempts > ATTEMPTS_SHOWN)
        html_write(
            html, "<p>%zu older attempts are in the JSON.</p>", pod->n_attempts - ATTEMPTS_SHOWN);
}
