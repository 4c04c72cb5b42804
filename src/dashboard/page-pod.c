/*
 * One pod: why it is pending, why it is on its node, why not on another. The attempt is found here,
 * each part draws its own.
 */

#include <errno.h>
#include <stdio.h>

#include "base/shell.h"
#include "dashboard/pod-internal.h"
#include "replay/replayed-decision.h"

#define SCRATCH_BUDGET ((size_t)64 * 1024 * 1024)

/* --- shared by the parts ---------------------------------------------------------------------- */

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

static void draw_values(Html *html, const CelLeaf *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(4096);

        probe_leaf_print(&values[i], &text);
        if (i > 0)
            html_write(html, ", ");
        html_text(html, buf_str(&text));
    }
}

void pod_draw_why(const PodPage *page, const NodeExplanation *node, const FailedRule *failed) {
    CelLeaf values[PROBE_VALUES_MAX];
    size_t n = 0;

    if (!str_is_empty(failed->detail)) {
        html_text(page->html, failed->detail);
        return;
    }
    arena_reset(page->scratch);
    if (explain_values(
            &page->explanation, node, &failed->filter->test, page->scratch, values, &n) == 0)
        draw_values(page->html, values, n);
}

void pod_draw_sum(const PodPage *page, const NodeExplanation *node) {
    const Explanation *explanation = &page->explanation;

    for (size_t i = 0; i < explanation->n_scores; i++)
        html_write(page->html, "%s%.1f %.*s", i > 0 ? " + " : "", node->parts[i].contribution,
            STR_FMT(explanation->scores[i]->name));
}

/* --- the attempt ------------------------------------------------------------------------------ */

static bool has_id(const PodAttempt *attempt, uint64_t id) {
    for (size_t i = 0; i < _VERB_MAX; i++)
        if (attempt->verbs[i].past && attempt->verbs[i].past->id == id)
            return true;
    return false;
}

/* The attempt with decision @id; or the newest at that time. SIZE_MAX: none is kept. */
static size_t find_attempt(const PodSummary *pod, int64_t id, int64_t at_nsec) {
    for (size_t i = 0; i < pod->n_attempts; i++) {
        const PastDecision *first = attempt_first(&pod->attempts[i]);

        if (!first)
            continue;
        if (id > 0 ? has_id(&pod->attempts[i], (uint64_t)id)
                   : at_nsec == 0 || first->at_nsec <= at_nsec)
            return i;
    }
    return SIZE_MAX;
}

/* The policies of that time, which are mostly still the current ones. */
static Program *program_of(const PodPage *page, const SavedView *scene) {
    Program *now = page->context->view->program;

    return scene && !scene->program && digest_equal(scene->policy, now->digest) ? now : NULL;
}

static int index_nodes(PodPage *page) {
    page->by_name = MAP_INIT_IN(page->context->arena);
    for (size_t i = 0; i < page->explanation.n_nodes; i++)
        if (map_add(&page->by_name, page->explanation.nodes[i].node, (uint32_t)i) < 0)
            return -ENOMEM;
    return 0;
}

static int note_kinds(PodPage *page) {
    size_t size = page->outcomes ? outcomes_size(page->outcomes) : 0;

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

static void look_back(PodPage *page) {
    const FoundDecision *filter = &page->attempt->verbs[VERB_FILTER];
    const RestoreOptions setting = {
        .zones = page->context->view->zones, .exemptions = page->context->view->exemptions};
    ReplayedDecision past = {
        .saved_view = filter->saved_view,
        .pod_text = pod_text_str(filter->pod_text),
        .now_nsec = filter->past ? filter->past->at_nsec : 0,
    };
    int r = replayed_decision_explain(&past, program_of(page, filter->saved_view), &setting,
        page->context->arena, &page->view, &page->as_sent, &page->explanation);

    if (r == 0 && index_nodes(page) == 0 && note_kinds(page) == 0)
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
        look_back(page);
}

/* --- commands --------------------------------------------------------------------------------- */

static void draw_command(const PodPage *page, const char *program) {
    const ApiContext *api = page->context->api;
    _cleanup_(buf_done) Buf command = BUF_INIT((size_t)64 * 1024);
    char url[SERVER_URL_MAX];

    buf_printf(&command, "%s explain --last ", program);
    shell_word(&command, arena_printf(page->context->arena, "%.*s/%.*s", STR_FMT(page->namespace),
                             STR_FMT(page->name)));
    if (!str_is_empty(page->node)) {
        buf_append(&command, STR(" --node "));
        shell_word(&command, page->node);
    }
    if (api->server)
        buf_printf(&command, " --server %s", server_url(api->server, url));
    widget_command(page->html, buf_str(&command));
}

static void draw_commands(const PodPage *page) {
    html_write(page->html, "<section id='commands'><h2>Command line equivalent</h2>");
    draw_command(page, "berth");
    draw_command(page, "kubectl berth");
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

/* --- the page --------------------------------------------------------------------------------- */

static unsigned draw_unknown(const PodPage *page) {
    Html *html = page->html;

    html_write(html, "<p class='problem'>No decisions about <b>%.*s</b>/<b>%.*s</b> are kept.</p>",
        STR_FMT(page->namespace), STR_FMT(page->name));
    pod_nomination(page);
    widget_empty(html,
        "kube-scheduler has not sent it to berth, or the decisions are no longer kept.",
        "kubectl describe pod shows its scheduler and events.");
    return 404;
}

static unsigned draw_found(PodPage *page, const PodsSummary *summary, int64_t id) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_BUDGET);
    size_t place = SIZE_MAX;

    page->has_nomination = nomination_log_find(page->context->api->nominated, page->namespace,
        page->name, summary->n > 0 ? summary->pods[0].uid : STR_NULL, page->context->arena,
        &page->nomination);
    if (summary->n == 0)
        return draw_unknown(page);
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
    pod_story(page);
    pod_attempts(page);
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
        /* As they are remembered. */
        .namespace = str_take(query_get(context->query, STR("namespace")), PAST_NAME_MAX),
        .name = str_take(query_get(context->query, STR("name")), PAST_NAME_MAX),
        .node = query_get(context->query, STR("node")),
    };
    char error[QUERY_ERROR_MAX] = "namespace and name are required: /pod?namespace=…&name=…";
    PodsSummary summary = {0};
    unsigned status;
    int64_t id;

    if (!page.namespace.ptr || !page.name.ptr ||
        !query_number(context->query, STR("id"), 1, INT64_MAX, 0, &id, error))
        return widget_problem(html, error);
    if (pods_summary_one(context->api->decisions, context->api->recent_pods, context->view,
            page.namespace, page.name,
            /* uid= */ STR_NULL, context->arena, &summary) < 0)
        return widget_no_memory(html, "this page");
    status = draw_found(&page, &summary, id);
    pods_summary_done(&summary);
    return status;
}
