/* The newest decisions that were about the node, among those that are remembered. */

#include "dashboard/node-internal.h"

#define VERDICTS_SHOWN 20u
#define VERDICTS_LOOKED_AT 2048u

static void draw_outcome(Html *html, Outcome outcome) {
    static const struct {
        const char *class, *text;
    } texts[_OUTCOME_MAX] = {
        [OUTCOME_NOT_ASKED] = {"quiet", "not a candidate"},
        [OUTCOME_PASSED] = {"good", "✓ passed"},
        [OUTCOME_REJECTED] = {"bad", "✗ rejected"},
        [OUTCOME_UNKNOWN] = {"bad", "✗ unknown to berth"},
        [OUTCOME_NARROWED] = {"warn", "passed, but not among the best"},
        [OUTCOME_LATE] = {"bad", "✗ not evaluated before the deadline"},
        [OUTCOME_SCORED] = {"good", "✓ scored"},
    };

    html_write(html, "<td><span class='%s'>%s</span></td>", texts[outcome.kind].class,
        texts[outcome.kind].text);
}

/* A pod's filter, and what its prioritize after it gave. */
typedef struct Verdict {
    FoundDecision found;    /* a reference: the filter; or, where that is not kept, the other */
    Outcome outcome, score; /* without a score: has_score is false */
} Verdict;

static void draw_score(Html *html, Outcome outcome) {
    html_write(html, "<td class='number'>");
    if (outcome.has_score)
        html_write(html, "%u", outcome.score);
    else
        html_write(html, "–");
    if (outcome.rank > 0)
        html_write(html, ", rank %u", outcome.rank);
    html_close(html);
}

static void draw_verdict(const NodePage *scene, Html *html, const Verdict *verdict) {
    const PastDecision *past = verdict->found.past;
    const RuleName *rule = past_rule_of(past, verdict->outcome);

    html_write(html,
        "<tr><th scope='row'><a href='/pod?namespace=%.*s&name=%.*s&id=%zu&node=%.*s' "
        "class='pod'>%.*s/%.*s</a></th><td>%td</td>",
        STR_FMT(past->pod_namespace), STR_FMT(past->pod_name), past->id, STR_FMT(scene->name),
        STR_FMT(past->pod_namespace), STR_FMT(past->pod_name), past->at_nsec);
    draw_outcome(html, verdict->outcome);
    html_open(html, "td");
    if (rule)
        html_write(html, "%.*s/%.*s", STR_FMT(rule->policy), STR_FMT(rule->name));
    html_write(html, "</td><td>%.*s</td>", STR_FMT(rule ? rule->reason : STR_NULL));
    draw_score(html, verdict->score.has_score ? verdict->score : verdict->outcome);
    html_close(html);
}

typedef struct Verdicts {
    Verdict rows[VERDICTS_SHOWN];
    size_t n, n_scored; /* those of a prioritize whose filter has not been read yet */
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

void node_draw_verdicts(const NodePage *scene, Html *html) {
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
