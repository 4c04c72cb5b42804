/*
 * What it comes to, in a sentence: it waits, for these reasons, or it is there; and all attempts as
 * a table, each with a link to itself.
 */

#include <inttypes.h>
#include <stdio.h>

#include "base/calendar.h"
#include "base/nsec.h"
#include "dashboard/headline.h"
#include "dashboard/pod-part.h"

#define ATTEMPTS_SHOWN 50u
#define REASONS_MAX 240u

/* --- headline --------------------------------------------------------------------------------- */

static void draw_passed(Html *html, const PodSight *pod) {
    html_count(html, pod->n_passed);
    html_text(html, STR(" of "));
    html_count(html, pod->n_in);
    html_text(html, pod->n_in == 1 ? STR(" node passed") : STR(" nodes passed"));
}

/* "; 4,203 node is too busy (policy busy, rule cool)" */
static void draw_reasons(const PodPage *page) {
    ReasonGroup *groups = ARENA_ARRAY(page->sitting->arena, ReasonGroup, REASONS_MAX);
    size_t n =
        groups && page->pod->filter ? attempt_reasons(page->pod->filter, groups, REASONS_MAX) : 0;
    Html *html = page->html;

    for (size_t i = 0; i < n; i++) {
        html_text(html, i == 0 ? STR("; ") : STR(", "));
        html_count(html, groups[i].n_nodes);
        html_text(html, STR(" "));
        html_text(html, groups[i].reason);
        html_text(html, STR(" "));
        if (!str_is_empty(groups[i].policy))
            pod_draw_rule(html, groups[i].policy, groups[i].rule);
    }
}

/* "03:04:05": the day is today's, or the next. */
static void draw_clock(Html *html, int64_t nsec) {
    int second;

    (void)calendar_day_of(nsec / NSEC_PER_SEC, &second);
    html_printf(html, "%02d:%02d:%02d UTC", second / 3600, second / 60 % 60, second % 60);
}

static void draw_retry(const PodPage *page) {
    int64_t latest = page->pod->last_nsec + PODS_SIGHT_RETRY_SEC * NSEC_PER_SEC;
    Html *html = page->html;

    html_open(html, "p");
    if (latest > page->sitting->wall_nsec) {
        html_text(html, STR("kube-scheduler tries again when something changes, and by "));
        draw_clock(html, latest);
        html_text(html, STR(" at the latest."));
    } else {
        html_text(html, STR("kube-scheduler should have tried again by "));
        draw_clock(html, latest);
        html_text(html,
            STR(", but has not asked: look whether it runs, and whether the pod is still there."));
    }
    html_close(html);
}

/* The first of its last attempts that found no node. A pod of the same name may have been before
 * it. */
static int64_t waiting_since(const PodSight *pod) {
    int64_t since = pod->last_nsec;

    for (size_t i = 0; i < pod->n_attempts; i++) {
        const PastDecision *filter = pod->attempts[i].filter.past;

        if (!filter || filter->summary.n_out > 0 || !str_eq(filter->pod_uid, pod->uid))
            break;
        since = filter->at_nsec;
    }
    return since;
}

static void draw_waiting(const PodPage *page) {
    Html *html = page->html;

    html_open(html, "p");
    html_attr(html, "class", STR("answer"));
    html_element_c(html, "strong", "warn", "◔ waiting");
    html_text(html, STR(" since "));
    html_time(html, waiting_since(page->pod), page->sitting->wall_nsec);
    html_text(html, STR(": "));
    draw_passed(html, page->pod);
    draw_reasons(page);
    html_text(html, STR("."));
    html_close(html);
    draw_retry(page);
}

static void draw_settled(const PodPage *page) {
    const PodSight *pod = page->pod;
    Html *html = page->html;

    html_open(html, "p");
    html_attr(html, "class", STR("answer"));
    if (!str_is_empty(pod->node)) {
        html_element_c(html, "strong", "good", "✓ on node ");
        piece_node(html, pod->node);
        html_text(html, STR(": "));
    } else if (pod->is_exempt) {
        html_text(html, STR("No policy is for this pod (--exempt): "));
    }
    if (pod->filter && !str_is_empty(pod->filter->past->error)) {
        html_element_c(html, "strong", "bad", "✗ the last answer was an error: ");
        html_text(html, pod->filter->past->error);
    } else {
        draw_passed(html, pod);
    }
    if (str_is_empty(pod->node) && pod->n_passed > 0)
        html_text(html, STR("; which of them kube-scheduler took, berth has not seen"));
    html_text(html, STR("."));
    html_close(html);
}

void pod_story(const PodPage *page) {
    Html *html = page->html;

    html_open(html, "section");
    html_attr(html, "id", STR("story"));
    html_flag(html, "data-live");
    html_open(html, "h2");
    html_attr(html, "class", STR("subject"));
    html_text(html, page->namespace);
    html_text(html, STR("/"));
    html_text(html, page->name);
    html_close(html);
    if (page->pod->is_waiting)
        draw_waiting(page);
    else
        draw_settled(page);
    html_close(html);
}

/* --- timeline --------------------------------------------------------------------------------- */

static void draw_verbs(Html *html, const Attempt *attempt) {
    const FoundDecision *const all[] = {
        &attempt->filter, &attempt->prioritize, &attempt->preempt, &attempt->bind};
    const char *separator = "";

    for (size_t i = 0; i < ELEMENTS_OF(all); i++) {
        if (!all[i]->past)
            continue;
        html_text(html, str_from_c(separator));
        html_text(html, str_from_c(verb_name(all[i]->past->verb)));
        separator = ", ";
    }
}

/* What the attempt came to: a bind says more than a filter. */
static void draw_outcome(Html *html, const Attempt *attempt) {
    if (attempt->bind.past)
        headline_said(html, attempt->bind.past);
    else
        headline_said(html, pod_attempt_first(attempt));
}

static void draw_attempt(const PodPage *page, const Attempt *attempt, size_t number) {
    const PastDecision *first = pod_attempt_first(attempt);
    Html *html = page->html;

    if (!first)
        return;
    html_open(html, "tr");
    if (attempt == page->attempt)
        html_attr(html, "class", STR("chosen"));
    piece_open_head(html);
    headline_open_link(html, first);
    if (attempt == page->attempt)
        html_attr(html, "aria-current", STR("true"));
    html_printf(html, "Attempt %zu", number);
    html_close(html);
    if (attempt == page->attempt)
        html_text(html, STR(" ← shown below"));
    html_close(html);
    html_open(html, "td");
    html_time(html, first->at_nsec, page->sitting->wall_nsec);
    html_close(html);
    piece_open_number(html);
    if (attempt->filter.past)
        headline_counts(html, attempt->filter.past);
    html_close(html);
    html_open(html, "td");
    draw_verbs(html, attempt);
    html_close(html);
    html_open(html, "td");
    draw_outcome(html, attempt);
    html_close(html);
    html_close(html);
}

void pod_attempts(const PodPage *page) {
    static const char *const columns[] = {
        "Attempt", "When", "#Nodes asked → passed", "Verbs", "What came of it"};
    const PodSight *pod = page->pod;
    Html *html = page->html;

    piece_table(html, "attempts", "Attempts, the newest first", columns, ELEMENTS_OF(columns));
    for (size_t i = 0; i < pod->n_attempts && i < ATTEMPTS_SHOWN; i++)
        draw_attempt(page, &pod->attempts[i], pod->n_attempts - i);
    piece_table_end(html);
    if (pod->n_attempts > ATTEMPTS_SHOWN) {
        html_open(html, "p");
        html_count(html, pod->n_attempts - ATTEMPTS_SHOWN);
        html_text(html, STR(" older ones are in the JSON."));
        html_close(html);
    }
}
