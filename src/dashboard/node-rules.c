/*
 * Every rule by itself, of each policy that applies to the pod: a decision names only the first.
 * Pods that fail a rule by the same values share a row.
 */

#include "api/rule-evaluation.h"
#include "base/clock.h"
#include "dashboard/node-internal.h"

#define PODS_TRIED 10u
#define FAILURES_MAX 200u /* rows */
#define TIME_MAX_NSEC (200 * NSEC_PER_MSEC)

/* A row: a rule, or none, and the pods that fail it alike. */
typedef struct Failure {
    const Filter *filter; /* NULL: they pass all of them */
    Str values;
    const PodSummary *pods[PODS_TRIED];
    size_t n_pods;
} Failure;

typedef struct RuleCheck {
    const NodePage *scene;
    RequestTime time;
    const PodSummary *pod;
    RuleEvaluation evaluation;
    Arena *arena; /* of one pod */
    Failure failures[FAILURES_MAX];
    size_t n_failures;
    size_t n_failed; /* of the pod */
} RuleCheck;

static Str values_of(RuleCheck *check, const Filter *filter) {
    CelValue value;

    if (!expression_is_given(&filter->message))
        return STR_NULL;
    value = judge_value(check->evaluation.judge, &filter->message, check->scene->row, check->arena);
    return value.kind == CEL_STRING ? cel_str(value) : STR_NULL;
}

/* The row for this rule and these values, new or old. NULL: there are too many. */
static Failure *find_row(RuleCheck *check, const Filter *filter, Str values) {
    Failure *row;

    for (size_t i = 0; i < check->n_failures; i++)
        if (check->failures[i].filter == filter && str_eq(check->failures[i].values, values))
            return &check->failures[i];
    if (check->n_failures == FAILURES_MAX)
        return NULL;
    row = &check->failures[check->n_failures++];
    *row = (Failure){.filter = filter, .values = arena_copy(check->scene->context->arena, values)};
    return row;
}

static void note_failure(RuleCheck *check, const Filter *filter) {
    Failure *row = find_row(check, filter, filter ? values_of(check, filter) : STR_NULL);

    check->n_failed++;
    if (row)
        row->pods[row->n_pods++] = check->pod;
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

static int check_policy(RuleCheck *check, const Policy *policy) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < policy->n_filters; i++) {
        const bool *fails;

        r = rule_evaluation_filter(
            &check->evaluation, &check->time, &policy->filters[i], check->arena, &fails);
        if (r == 0 && fails[0])
            note_failure(check, &policy->filters[i]);
    }
    return r;
}

/* 0, one of rule-evaluation.h, or -ENOMEM. */
static int check_pod(RuleCheck *check, const PodSummary *pod) {
    const Program *program = check->scene->view->program;
    int r;

    arena_reset(check->arena);
    check->pod = pod;
    check->n_failed = 0;
    r = rule_evaluation_open(check->scene->view, &check->time, pod_text_str(pod->filter->pod_text),
        &check->scene->row,
        /* n= */ 1, check->arena, &check->evaluation);
    for (size_t i = 0; r == 0 && i < program->n_policies; i++)
        if (judge_applies(check->evaluation.judge, &program->policies[i]))
            r = check_policy(check, &program->policies[i]);
    if (r == 0 && check->n_failed == 0)
        note_failure(check, /* filter= */ NULL);
    return r;
}

static void check_pods(RuleCheck *check, const PodsSummary *pods) {
    size_t n_tried = 0;

    for (size_t i = 0; i < pods->n && n_tried < PODS_TRIED; i++) {
        int r;

        if (!pods->pods[i].filter || !pods->pods[i].filter->pod_text)
            continue;
        n_tried++;
        r = check_pod(check, &pods->pods[i]);
        if (r != 0 && r != RULE_EVALUATION_E_UNREADABLE)
            return;
    }
}

#define RULE_CHECK_BUDGET ((size_t)64 * 1024 * 1024)

void node_draw_failures(const NodePage *scene, Html *html, const PodsSummary *pods) {
    _cleanup_(arena_freep) Arena *arena = arena_new(RULE_CHECK_BUDGET);
    int64_t end_nsec = clock_thread_cpu_nsec() + TIME_MAX_NSEC;
    RuleCheck *check = ARENA_NEW(scene->context->arena, RuleCheck);

    if (!arena || !check)
        return;
    *check = (RuleCheck){
        .scene = scene,
        .time = {.now_nsec = scene->at_nsec, .is_over = cpu_time_is_over, .context = &end_nsec},
        .arena = arena,
    };
    html_write(html,
        "<h2>%s</h2><p>Each rule is evaluated on its own, for pending and recent pods. "
        "kube-scheduler's own filters are not included.</p>",
        scene->is_past ? "Rules that rejected it then" : "Rules that reject it");
    check_pods(check, pods);
    widget_table(html, "node-failures", "Failed rules", "Rule|Reason|Value and limit|Pods");
    for (size_t i = 0; i < check->n_failures; i++)
        draw_failure(html, &check->failures[i]);
    widget_table_end(html);
}
