/*
 * Why not this node? berth's data about it, the results of the rules for the last pods, and recent
 * verdicts. With ?at= the cluster of that time is restored, if it is kept.
 *
 * For the modules: #node-state, #node-failures, #node-verdicts and #node-facts are live.
 */

#include "base/clock.h"
#include "dashboard/page-parts.h"
#include "extender/explain.h"

#define PODS_SHOWN 50u
#define PODS_TRIED 10u
#define FAILURES_MAX 200u /* rows */
#define TIME_MAX_NSEC (200 * NSEC_PER_MSEC)
#define RULE_CHECK_BUDGET ((size_t)64 * 1024 * 1024)
#define VERDICTS_SHOWN 20u
#define VERDICTS_LOOKED_AT 2048u

/* A node in a view: the view in force, or a restored one of the past. */
typedef struct NodePage {
    const PageContext *context;
    const View *view;
    bool is_past;
    int64_t at_nsec; /* since 1970: time of the view; later verdicts are left out */
    const NodeTable *table;
    const Node *node; /* NULL: not known */
    Str name;
    uint32_t row;
} NodePage;

/* Failed rules: each rule of the policies that apply to a pod is evaluated on its own, because a
 * decision has only the first one that rejects. */

/* A row: a rule, and the pods that fail it with the same values. */
typedef struct Failure {
    const Filter *filter; /* NULL: the pods pass all filters */
    Str values;
    const PodSummary *pods[PODS_TRIED];
    size_t n_pods;
} Failure;

typedef struct RuleCheck {
    const NodePage *scene;
    Failure failures[FAILURES_MAX];
    size_t n_failures;
} RuleCheck;

static void note_failure(
    RuleCheck *check, const Filter *filter, Str values, const PodSummary *pod) {
    Failure *rows = check->failures;
    size_t i = 0;

    while (i < check->n_failures && (rows[i].filter != filter || !str_eq(rows[i].values, values)))
        i++;
    if (i == FAILURES_MAX)
        return;
    if (i == check->n_failures)
        rows[check->n_failures++] =
            (Failure){.filter = filter, .values = arena_copy(check->scene->context->arena, values)};
    rows[i].pods[rows[i].n_pods++] = pod;
}

static void draw_failure(Html *html, const Failure *row) {
    const Filter *filter = row->filter;

    html_write(html, "<tr><th scope='row'>");
    if (filter)
        html_write(html, "%.*s/%.*s", STR_FMT(filter->policy->name), STR_FMT(filter->name));
    else
        html_write(html, "<span class='good'>✓ passes all filters of berth</span>");
    if (filter && filter->policy->is_observed)
        html_write(html, " (Observe: only counted)");
    html_write(html, "</th><td>%.*s</td><td>%.*s</td><td>",
        STR_FMT(filter ? filter->reason : STR_NULL), STR_FMT(row->values));
    for (size_t i = 0; i < row->n_pods; i++)
        html_write(html, "%s" POD_LINK, i > 0 ? ", " : "",
            POD_FMT(row->pods[i]->namespace, row->pods[i]->name));
    html_write(html, "</td></tr>");
}

/* @arena is for temporary data. */
static void check_pod(RuleCheck *check, const PodSummary *pod, Arena *arena) {
    const NodePage *scene = check->scene;
    const NodeExplanation *node;
    Explanation explanation;
    Pod sent = {0};

    arena_reset(arena);
    if (!pod_text_decode(pod->filter->pod_text, arena, &sent) ||
        extender_explain_rows(
            scene->view, scene->at_nsec, &sent, &scene->row, /* n= */ 1, arena, &explanation) < 0)
        return;
    node = &explanation.nodes[0];
    for (size_t i = 0; i < node->n_failed; i++)
        note_failure(check, node->failed[i].filter, node->failed[i].detail, pod);
    if (node->n_failed == 0)
        note_failure(check, /* filter= */ NULL, STR_NULL, pod);
}

static void draw_failures(const NodePage *scene, Html *html, const PodsSummary *pods) {
    _cleanup_(arena_freep) Arena *arena = arena_new(RULE_CHECK_BUDGET);
    int64_t end_nsec = clock_thread_cpu_nsec() + TIME_MAX_NSEC;
    RuleCheck *check = ARENA_NEW(scene->context->arena, RuleCheck);
    size_t n_tried = 0;

    if (!arena || !check || scene->view->facts.is_late)
        return;
    check->scene = scene;
    html_write(html,
        "<h2>%s</h2><p>Each rule is evaluated on its own, for pending and recent pods. "
        "kube-scheduler's own filters are not included.</p>",
        scene->is_past ? "Rules that rejected it then" : "Rules that reject it");
    for (size_t i = 0; i < pods->n && n_tried < PODS_TRIED && clock_thread_cpu_nsec() < end_nsec;
         i++) {
        const FoundDecision *filter = pods->pods[i].filter;

        if (!filter || !filter->pod_text)
            continue;
        n_tried++;
        check_pod(check, &pods->pods[i], arena);
    }
    widget_table(html, "node-failures", "Failed rules", "Rule|Reason|Value and limit|Pods");
    for (size_t i = 0; i < check->n_failures; i++)
        draw_failure(html, &check->failures[i]);
    widget_table_end(html);
}

/* Verdicts: the newest decisions about the node, among those that are remembered. */

static const struct {
    const char *class, *text;
} outcome_texts[_OUTCOME_MAX] = {
    [OUTCOME_NOT_ASKED] = {"quiet", "not a candidate"},
    [OUTCOME_PASSED] = {"good", "✓ passed"},
    [OUTCOME_REJECTED] = {"bad", "✗ rejected"},
    [OUTCOME_UNKNOWN] = {"bad", "✗ unknown to berth"},
    [OUTCOME_NARROWED] = {"warn", "passed, but not among the best"},
    [OUTCOME_LATE] = {"bad", "✗ not evaluated before the deadline"},
    [OUTCOME_SCORED] = {"good", "✓ scored"},
};

/* A pod's filter, and the score of the prioritize after it. */
typedef struct Verdict {
    FoundDecision found;    /* a reference: the filter, or the prioritize if that is not kept */
    Outcome outcome, score; /* without a score: has_score is false */
} Verdict;

static void draw_verdict(const NodePage *scene, Html *html, const Verdict *verdict) {
    const PastDecision *past = verdict->found.past;
    const RuleName *rule = past_rule_of(past, verdict->outcome);
    Outcome score = verdict->score.has_score ? verdict->score : verdict->outcome;

    html_write(html,
        "<tr><th scope='row'><a href='/pod?namespace=%.*s&name=%.*s&id=%zu&node=%.*s' "
        "class='pod'>%.*s/%.*s</a></th><td>%td</td><td><span class='%s'>%s</span></td><td>",
        STR_FMT(past->pod_namespace), STR_FMT(past->pod_name), past->id, STR_FMT(scene->name),
        STR_FMT(past->pod_namespace), STR_FMT(past->pod_name), past->at_nsec,
        outcome_texts[verdict->outcome.kind].class, outcome_texts[verdict->outcome.kind].text);
    if (rule)
        html_write(html, "%.*s/%.*s", STR_FMT(rule->policy), STR_FMT(rule->name));
    html_write(
        html, "</td><td>%.*s</td><td class='number'>", STR_FMT(rule ? rule->reason : STR_NULL));
    if (score.has_score)
        html_write(html, "%u", score.score);
    else
        html_write(html, "–");
    if (score.rank > 0)
        html_write(html, ", rank %u", score.rank);
    html_write(html, "</td></tr>");
}

typedef struct Verdicts {
    Verdict rows[VERDICTS_SHOWN];
    size_t n, n_scored; /* n_scored: rows of a prioritize whose filter is not read yet */
} Verdicts;

/* Takes @found, or releases it. The newest are added first. */
static void add_verdict(Verdicts *verdicts, FoundDecision *found, Outcome outcome) {
    Verdict *row = NULL;

    for (size_t i = 0; found->past->verb == VERB_FILTER && !row && i < verdicts->n; i++)
        if (verdicts->rows[i].found.past->verb == VERB_PRIORITIZE &&
            past_is_same_pod(verdicts->rows[i].found.past, found->past))
            row = &verdicts->rows[i];
    if (row) {
        found_done(&row->found);
        *row = (Verdict){*found, outcome, row->outcome};
        verdicts->n_scored--;
    } else if (verdicts->n < VERDICTS_SHOWN) {
        verdicts->rows[verdicts->n++] = (Verdict){.found = *found, .outcome = outcome};
        verdicts->n_scored += found->past->verb == VERB_PRIORITIZE;
    } else {
        found_done(found);
    }
}

static void read_verdicts(const NodePage *scene, Verdicts *ret) {
    _cleanup_(decisions_walk_done)
        DecisionsWalk walk = {.decisions = scene->context->api->decisions};
    FoundDecision found;

    for (size_t n_read = 0;
         n_read < VERDICTS_LOOKED_AT && (ret->n < VERDICTS_SHOWN || ret->n_scored > 0) &&
         decisions_next(&walk, &found);
         n_read++) {
        Outcome outcome = {.kind = OUTCOME_NOT_ASKED};

        if (found.outcomes && found.past->at_nsec <= scene->at_nsec)
            outcome = decisions_walk_outcome(&walk, found.outcomes, scene->name);
        if (outcome.kind != OUTCOME_NOT_ASKED)
            add_verdict(ret, &found, outcome);
        else
            found_done(&found);
    }
}

static void draw_verdicts(const NodePage *scene, Html *html) {
    Verdicts *verdicts = ARENA_NEW(scene->context->arena, Verdicts);

    if (!verdicts)
        return;
    html_write(html, "<h2>Recent verdicts</h2>");
    read_verdicts(scene, verdicts);
    widget_table(html, "node-verdicts", "The latest verdicts on this node",
        "Pod|When|Verdict|Rule|Reason|#Score");
    for (size_t i = 0; i < verdicts->n; i++) {
        draw_verdict(scene, html, &verdicts->rows[i]);
        found_done(&verdicts->rows[i].found);
    }
    widget_table_end(html);
    if (verdicts->n == 0)
        widget_empty(html, "No recent decision included this node.",
            "kube-scheduler sends only nodes that pass its own filters. kubectl describe node "
            "shows whether it is full, tainted or cordoned.");
}

static void draw_facts(const NodePage *scene, Html *html) {
    const PodList *list = table_chunk(scene->table, scene->row)->pods[table_slot(scene->row)];

    widget_section(
        html, "node-facts", scene->is_past ? "Node as of then" : "Node as berth sees it now");
    node_facts(html, scene->view, scene->row, "node");
    if (list) {
        html_write(html, "<details id='node-pods'><summary>%u %s on it</summary><ul>", list->n,
            list->n == 1 ? "pod" : "pods");
        for (uint32_t i = 0; i < list->n && i < PODS_SHOWN; i++)
            html_write(html, "<li>" POD_LINK "</li>",
                POD_FMT(list->items[i]->namespace, list->items[i]->name));
        if (list->n > PODS_SHOWN)
            html_write(html, "<li>… and more</li>");
        html_write(html, "</ul></details>");
    }
    if (scene->node->created_at > 0)
        html_write(html, "<p>Created %td.</p>", scene->node->created_at * NSEC_PER_SEC);
    html_close(html);
}

/* The view of that time, a reference, with the policies of that time if they are kept; NULL: not
 * available. */
static View *view_then(const PageContext *context, int64_t *ret_at_nsec) {
    const RestoreOptions setting = {
        .zones = context->view->zones,
        .exemptions = context->view->exemptions,
    };
    _cleanup_(decisions_walk_done) DecisionsWalk walk = {.decisions = context->api->decisions};
    FoundDecision found;

    /* The newest decision up to that time whose view is saved. */
    while (context->at_nsec > 0 && decisions_next(&walk, &found)) {
        const SavedView *saved = found.saved_view;
        bool is_then = saved && found.past->at_nsec <= context->at_nsec;
        View *view = NULL;

        if (is_then) {
            *ret_at_nsec = found.past->at_nsec;
            if (saved_view_restore(saved, saved->program ? saved->program : context->view->program,
                    &setting, /* before= */ NULL, &view, NULL) < 0)
                view = NULL;
        }
        found_done(&found);
        if (is_then)
            return view;
    }
    return NULL;
}

static unsigned draw_node(NodePage *scene, Html *html) {
    _cleanup_(pods_summary_done) PodsSummary pods = {0};

    scene->table = scene->view->table;
    scene->row = table_find(scene->table, scene->name);
    scene->node = scene->row < scene->table->n_rows ? table_node(scene->table, scene->row) : NULL;
    if (scene->is_past)
        html_write(html, "<p class='notice'>The node as of the decision %td.</p>", scene->at_nsec);
    else if (scene->context->at_nsec != 0)
        html_write(html, "<p class='notice'>The cluster of that time is no longer kept: this is "
                         "the node as it is now.</p>");
    if (!scene->node) {
        widget_empty(html, "berth knows no node with this name.",
            "It may be deleted, or not listed yet: kubectl get nodes.");
        draw_verdicts(scene, html);
        return 404;
    }
    if (pods_summary_all(scene->context->api->decisions, scene->context->api->recent_pods,
            scene->view, scene->context->arena, &pods) < 0)
        widget_empty(html, "Not enough memory to show pods now.", "Try again later.");
    html_write(html,
        "<p id='node-state' class='subject' data-live>Node <strong class='node'>%.*s</strong>",
        STR_FMT(scene->name));
    if (!scene->node->is_ready)
        html_write(html, "<strong class='bad'>: ✗ not ready</strong>");
    if (scene->node->is_unschedulable)
        html_write(html, "<strong class='warn'>: cordoned</strong>");
    html_close(html);
    draw_failures(scene, html, &pods);
    draw_verdicts(scene, html);
    draw_facts(scene, html);
    html_write(html, "<h2>Command line equivalent</h2>");
    widget_shell(html, "kubectl describe node", &scene->name, 1, NULL);
    if (pods.n > 0)
        widget_shell(html, "berth explain --last",
            (Str[]){arena_printf(scene->context->arena, "%.*s/%.*s",
                        STR_FMT(pods.pods[0].namespace), STR_FMT(pods.pods[0].name)),
                STR("--node"), scene->name},
            3, NULL);
    return 200;
}

unsigned page_node(const PageContext *context, Html *html) {
    int64_t at_nsec = context->at_nsec > 0 ? context->at_nsec : context->wall_nsec;
    _cleanup_(view_unrefp) View *then = view_then(context, &at_nsec);
    NodePage scene = {
        .context = context,
        .view = then ? then : context->view,
        .is_past = then != NULL,
        .at_nsec = at_nsec,
        .name = query_get(context->query, STR("name")),
    };

    html_write(html,
        "<form class='filter' action='/node' method='get'><label "
        "for='node-name'>Node</label><input id='node-name' name='name' value='%.*s' "
        "autocomplete='off'><button>Show</button></form>",
        STR_FMT(scene.name));
    if (!scene.name.ptr) {
        widget_empty(html, "Which node?", "Enter its name above, or choose one on the Nodes page.");
        return 400;
    }
    return draw_node(&scene, html);
}
