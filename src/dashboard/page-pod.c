/*
 * One pod: why it is pending, why it is on its node, why not on another. This file finds the
 * attempt and draws the rest; pod-internal.h lists the parts.
 */

#include <errno.h>
#include <stdio.h>

#include "base/calendar.h"
#include "base/nsec.h"
#include "dashboard/pod-internal.h"
#include "replay/replayed-decision.h"

#define SCRATCH_BUDGET ((size_t)64 * 1024 * 1024)
#define ATTEMPTS_SHOWN 50u

const NodeExplanation *pod_explained(const PodPage *page, Str node) {
    uint32_t place = page->view ? map_find(&page->by_name, node) : MAP_NONE;

    return place == MAP_NONE ? NULL : &page->explanation.nodes[place];
}

Outcome pod_outcome(const PodPage *page, Str node) {
    Decisions *decisions = page->context->api->decisions;

    if (!page->outcomes)
        return (Outcome){.kind = OUTCOME_NOT_ASKED};
    return outcomes_find(page->outcomes, decisions_number(decisions, page->outcomes, node));
}

Str pod_chosen(const PodPage *page) {
    const PastDecision *bind = page->attempt->verbs[VERB_BIND].past;

    if (bind)
        return str_is_empty(bind->error) ? bind->node : STR_NULL;
    return page->attempt == &page->pod->attempts[0] ? page->pod->node : STR_NULL;
}

void pod_draw_why(const PodPage *page, const NodeExplanation *node, const FailedRule *failed) {
    CelLeaf values[PROBE_VALUES_MAX];
    size_t n = 0;

    if (!str_is_empty(failed->detail)) {
        html_text(page->html, failed->detail);
        return;
    }
    arena_reset(page->scratch);
    if (explain_values(&page->explanation, node, &failed->filter->test, page->scratch, values, &n) <
        0)
        return;
    for (size_t i = 0; i < n; i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(4096);

        probe_leaf_print(&values[i], &text);
        html_write(page->html, "%s%.*s", i > 0 ? ", " : "", STR_FMT(buf_str(&text)));
    }
}

void pod_draw_sum(const PodPage *page, const NodeExplanation *node) {
    const Explanation *explanation = &page->explanation;

    for (size_t i = 0; i < explanation->n_scores; i++)
        html_write(page->html, "%s%.1f %.*s", i > 0 ? " + " : "", node->parts[i].contribution,
            STR_FMT(explanation->scores[i]->name));
}

/* The index of the attempt with decision @id (0: the newest up to @at_nsec); SIZE_MAX: none. */
static size_t find_attempt(const PodSummary *pod, int64_t id, int64_t at_nsec) {
    for (size_t i = 0; i < pod->n_attempts; i++) {
        const PastDecision *first = attempt_first(&pod->attempts[i]);

        if (id == 0 && first && (at_nsec == 0 || first->at_nsec <= at_nsec))
            return i;
        for (Verb verb = 0; id > 0 && verb < _VERB_MAX; verb++) {
            const PastDecision *past = pod->attempts[i].verbs[verb].past;

            if (past && past->id == (uint64_t)id)
                return i;
        }
    }
    return SIZE_MAX;
}

/* Maps names to indexes of explanation.nodes, and sets the outcome of each in the filter. */
static int index_nodes(PodPage *page) {
    size_t size = page->outcomes ? outcomes_size(page->outcomes) : 0;

    page->by_name = MAP_INIT_IN(page->context->arena);
    for (size_t i = 0; i < page->explanation.n_nodes; i++)
        if (map_add(&page->by_name, page->explanation.nodes[i].node, (uint32_t)i) < 0)
            return -ENOMEM;
    if (size == 0)
        return 0;
    page->kinds = ARENA_ARRAY(page->context->arena, uint8_t, page->explanation.n_nodes + 1);
    for (size_t i = 0; page->kinds && i < size; i++) {
        uint32_t number, place;
        Outcome outcome = outcomes_at(page->outcomes, i, &number);

        place = map_find(&page->by_name, page->names[number - 1]);
        if (place != MAP_NONE)
            page->kinds[place] = (uint8_t)outcome.kind;
    }
    return page->kinds ? 0 : -ENOMEM;
}

static void explain_past(PodPage *page) {
    const FoundDecision *filter = &page->attempt->verbs[VERB_FILTER];
    const RestoreOptions setting = {
        .zones = page->context->view->zones, .exemptions = page->context->view->exemptions};
    ReplayedDecision past = {
        .saved_view = filter->saved_view,
        .pod_text = pod_text_str(filter->pod_text),
        .now_nsec = filter->past ? filter->past->at_nsec : 0,
    };
    const SavedView *saved = filter->saved_view;
    Program *now = page->context->view->program;
    /* The policies of that time are mostly still the current ones. */
    bool is_current = saved && !saved->program && digest_equal(saved->policy, now->digest);
    int r = replayed_decision_explain(&past, is_current ? now : NULL, &setting,
        page->context->arena, &page->view, &page->as_sent, &page->explanation);

    if (r == 0 && index_nodes(page) == 0)
        return;
    page->obstacle = r > 0 ? replayed_decision_error(r) : "there is not enough memory now";
    page->view = view_unref(page->view);
}

static void open_attempt(PodPage *page, size_t place) {
    page->attempt = &page->pod->attempts[place];
    page->number = page->pod->n_attempts - place;
    page->filter = page->attempt->verbs[VERB_FILTER].past;
    page->outcomes = page->attempt->verbs[VERB_FILTER].outcomes;
    if (page->outcomes)
        page->names =
            decisions_names(page->context->api->decisions, page->outcomes, page->context->arena);
    if (!page->names)
        page->outcomes = NULL;
    if (page->filter)
        explain_past(page);
}

static void draw_commands(const PodPage *page) {
    const Server *server = page->context->api->server;
    const Str words[] = {arena_printf(page->context->arena, "%.*s/%.*s", STR_FMT(page->namespace),
                             STR_FMT(page->name)),
        STR("--node"), page->node};
    size_t n = str_is_empty(page->node) ? 1 : 3;

    html_write(page->html, "<section id='commands'><h2>Command line equivalent</h2>");
    widget_shell(page->html, "berth explain --last", words, n, server);
    widget_shell(page->html, "kubectl berth explain --last", words, n, server);
    html_write(page->html,
        "<p><a href='/api/v1/decisions?pod=%.*s/%.*s' id='json'>All decisions about this pod as "
        "JSON</a>",
        STR_FMT(page->namespace), STR_FMT(page->name));
    if (page->filter)
        html_write(page->html,
            "; <a href='/api/v1/decisions/%zu'>the filter of this attempt, node by node</a>",
            page->filter->id);
    html_write(page->html, "</p></section>");
}

/* "; 4,203 nodes: node is too busy (policy busy, rule cool)" */
static void draw_reasons(const PodPage *page) {
    ReasonGroup *groups = ARENA_ARRAY(page->context->arena, ReasonGroup, REASONS_MAX);
    size_t n =
        groups && page->pod->filter ? attempt_reasons(page->pod->filter, groups, REASONS_MAX) : 0;

    for (size_t i = 0; i < n; i++) {
        html_write(page->html, "%s%zu %s: %.*s ", i == 0 ? "; " : " · ", groups[i].n_nodes,
            groups[i].n_nodes == 1 ? "node" : "nodes", STR_FMT(groups[i].reason));
        if (!str_is_empty(groups[i].policy))
            html_write(page->html, RULE_NOTE, RULE_FMT(groups[i].policy, groups[i].rule));
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

/* When the pod became pending: the first of its attempts since which no node has passed. Older
 * attempts may be those of another pod with its name. */
static int64_t pending_since(const PodSummary *pod) {
    int64_t since = pod->last_nsec;

    for (size_t i = 0; i < pod->n_attempts; i++) {
        const PastDecision *filter = pod->attempts[i].verbs[VERB_FILTER].past;

        if (!filter || filter->summary.n_out > 0 || !str_eq(filter->pod_uid, pod->uid))
            break;
        since = filter->at_nsec;
    }
    return since;
}

static void draw_nomination(const PodPage *page) {
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
        html_write(html, "; %s.</p>", nomination_outcomes[nomination->outcome].text);
    } else if (page->filter && !str_is_empty(page->filter->nominated)) {
        html_write(html,
            "<p id='nominated'>Nominated for " NODE_LINK
            ", but not by this berth (status.nominatedNodeName).</p>",
            NODE_FMT(page->filter->nominated));
    }
}

static void draw_story(const PodPage *page) {
    const PodSummary *pod = page->pod;
    const char *nodes_passed = pod->n_in == 1 ? " node passed" : " nodes passed";
    Html *html = page->html;

    html_write(html, "<section id='story' data-live><h2 class='subject'>%.*s/%.*s</h2>",
        STR_FMT(page->namespace), STR_FMT(page->name));
    if (pod->is_waiting) {
        html_write(html,
            "<p class='answer'><strong class='warn'>◔ pending</strong> since %td: %zu of %zu%s",
            pending_since(pod), pod->n_passed, pod->n_in, nodes_passed);
        draw_reasons(page);
        html_write(html, ".</p>");
        draw_retry(page);
    } else {
        html_write(html, "<p class='answer'>");
        if (!str_is_empty(pod->node))
            html_write(html, "<strong class='good'>✓ on node </strong>" NODE_LINK ": ",
                NODE_FMT(pod->node));
        else if (pod->is_exempt)
            html_write(html, "This pod is exempt from policies (--exempt): ");
        if (pod->filter && !str_is_empty(pod->filter->past->error))
            html_write(html, "<strong class='bad'>✗ the last request failed: </strong>%.*s",
                STR_FMT(pod->filter->past->error));
        else
            html_write(html, "%zu of %zu%s", pod->n_passed, pod->n_in, nodes_passed);
        if (str_is_empty(pod->node) && pod->n_passed > 0)
            html_write(html, "; berth has not seen which node kube-scheduler chose");
        html_write(html, ".</p>");
    }
    draw_nomination(page);
    html_close(html);
}

static void draw_attempts(const PodPage *page) {
    const PodSummary *pod = page->pod;
    Html *html = page->html;

    widget_table(html, "attempts", "Attempts, newest first", "Attempt|When|" ATTEMPT_COLUMNS);
    for (size_t i = 0; i < pod->n_attempts && i < ATTEMPTS_SHOWN; i++) {
        const PodAttempt *attempt = &pod->attempts[i];
        const PastDecision *first = attempt_first(attempt);
        bool is_shown = attempt == page->attempt;

        if (!first)
            continue;
        html_open(html, "tr");
        if (is_shown)
            html_attr(html, "class", STR("chosen"));
        html_write(html, "<th scope='row'>");
        decision_open_link(html, first);
        if (is_shown)
            html_attr(html, "aria-current", STR("true"));
        html_write(html, "Attempt %zu</a>%s</th><td>%td</td>", pod->n_attempts - i,
            is_shown ? " ← shown below" : "", first->at_nsec);
        attempt_cells(html, attempt);
        html_close(html);
    }
    widget_table_end(html);
    if (pod->n_attempts > ATTEMPTS_SHOWN)
        html_write(
            html, "<p>%zu older attempts are in the JSON.</p>", pod->n_attempts - ATTEMPTS_SHOWN);
}

static unsigned draw_found(PodPage *page, const PodsSummary *summary, int64_t id) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_BUDGET);
    size_t place = SIZE_MAX;

    page->has_nomination = nomination_log_find(page->context->api->nominated, page->namespace,
        page->name, summary->n > 0 ? summary->pods[0].uid : STR_NULL, page->context->arena,
        &page->nomination);
    if (summary->n == 0) {
        html_write(page->html,
            "<p class='problem'>No decisions about <b>%.*s</b>/<b>%.*s</b> are kept.</p>",
            STR_FMT(page->namespace), STR_FMT(page->name));
        draw_nomination(page);
        widget_empty(page->html,
            "kube-scheduler has not sent it to berth, or the decisions are no longer kept.",
            "kubectl describe pod shows its scheduler and events.");
        return 404;
    }
    page->pod = &summary->pods[0];
    page->scratch = scratch;
    if (scratch)
        place = find_attempt(page->pod, id, page->context->at_nsec);
    if (place == SIZE_MAX) {
        widget_empty(page->html, "This attempt is no longer kept.",
            "Remove id and at from the address to see the newest attempt.");
        return 404;
    }
    page->is_pinned = id > 0 || page->context->at_nsec > 0;
    open_attempt(page, place);
    draw_story(page);
    draw_attempts(page);
    pod_attempt(page);
    pod_suggestions(page);
    pod_order(page);
    pod_node(page);
    draw_commands(page);
    page->view = view_unref(page->view);
    return 200;
}

unsigned page_pod(const PageContext *context, Html *html) {
    PodPage page = {
        .context = context,
        .html = html,
        /* Decisions keep names cut to this length. */
        .namespace = str_take(query_get(context->query, STR("namespace")), PAST_NAME_MAX),
        .name = str_take(query_get(context->query, STR("name")), PAST_NAME_MAX),
        .node = query_get(context->query, STR("node")),
    };
    char error[QUERY_ERROR_MAX] = "namespace and name are required: /pod?namespace=…&name=…";
    _cleanup_(pods_summary_done) PodsSummary summary = {0};
    int64_t id;

    if (!page.namespace.ptr || !page.name.ptr ||
        !query_number(context->query, STR("id"), 1, INT64_MAX, 0, &id, error))
        return widget_problem(html, error);
    if (pods_summary_one(context->api->decisions, context->api->recent_pods, context->view,
            page.namespace, page.name, context->arena, &summary) < 0)
        return widget_no_memory(html, "this page");
    return draw_found(&page, &summary, id);
}
