/* The newest decisions, one row for each pod: the verbs of its last attempt together. */

#include "dashboard/page-parts.h"

#include "dashboard/widgets.h"

#define ROWS_SHOWN 15u
#define DECISIONS_READ_MAX 1024u

typedef struct NewestPods {
    PodAttempt rows[ROWS_SHOWN]; /* references; in the order of their newest decision */
    int64_t at_nsec[ROWS_SHOWN]; /* of that decision */
    size_t n, n_whole;           /* those with a filter, which is the first verb */
} NewestPods;

static PodAttempt *find_row(NewestPods *newest, const PastDecision *past) {
    for (size_t i = 0; i < newest->n; i++)
        if (past_is_same_pod(attempt_first(&newest->rows[i]), past))
            return &newest->rows[i];
    if (newest->n == ROWS_SHOWN)
        return NULL;
    newest->at_nsec[newest->n] = past->at_nsec;
    return &newest->rows[newest->n++];
}

/* Takes @found, or releases it: what is before a pod's last filter is an earlier attempt. */
static void add_found(NewestPods *newest, FoundDecision *found) {
    PodAttempt *row = find_row(newest, found->past);
    Verb verb = found->past->verb;

    if (!row || row->verbs[VERB_FILTER].past || row->verbs[verb].past) {
        found_done(found);
        return;
    }
    row->verbs[verb] = *found;
    newest->n_whole += verb == VERB_FILTER;
}

static void read_newest(const PageContext *context, NewestPods *newest) {
    _cleanup_(decisions_walk_done) DecisionsWalk walk = {.decisions = context->api->decisions};
    FoundDecision found;

    for (size_t n_read = 0; n_read < DECISIONS_READ_MAX && newest->n_whole < ROWS_SHOWN &&
                            decisions_next(&walk, &found);) {
        if (context->at_nsec == 0 || found.past->at_nsec <= context->at_nsec) {
            add_found(newest, &found);
            n_read++;
        } else {
            found_done(&found);
        }
    }
}

static void draw_row(Html *html, const PodAttempt *attempt, int64_t at_nsec) {
    const PastDecision *past = attempt_first(attempt);

    html_write(html, "<tr><th scope='row'>");
    decision_open_link(html, past);
    html_attr(html, "class", STR("pod"));
    html_write(html, "%.*s/%.*s</a></th><td>%td</td>", STR_FMT(past->pod_namespace),
        STR_FMT(past->pod_name), at_nsec);
    attempt_cells(html, attempt);
    html_close(html);
}

void newest_pods_draw(const PageContext *context, Html *html) {
    NewestPods *newest = ARENA_NEW(context->arena, NewestPods);

    if (!newest)
        return;
    widget_section(html, "newest", "Newest decisions");
    read_newest(context, newest);
    if (newest->n > 0) {
        widget_table(html, "decisions", "Newest decisions", "Pod|When|" ATTEMPT_COLUMNS);
        for (size_t i = 0; i < newest->n; i++)
            draw_row(html, &newest->rows[i], newest->at_nsec[i]);
        widget_table_end(html);
    } else {
        widget_no_decisions(html, context->api->decisions, "No decisions yet.");
    }
    for (size_t i = 0; i < newest->n; i++)
        for (Verb verb = 0; verb < _VERB_MAX; verb++)
            found_done(&newest->rows[i].verbs[verb]);
    html_close(html);
}
