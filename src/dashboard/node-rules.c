/* Every rule by itself, of each policy that applies to the pod: a decision names only the first. */

#include "api/rule-evaluation.h"
#include "base/clock.h"
#include "dashboard/node-internal.h"

#define PODS_TRIED 10u
#define TIME_MAX_NSEC (200 * NSEC_PER_MSEC)

typedef struct RuleCheck {
    const NodePage *scene;
    Html *html;
    RequestTime time;
    const PodSummary *pod;
    RuleEvaluation evaluation;
    Arena *arena; /* of one pod */
    size_t n_failed;
} RuleCheck;

/* The values and limits that the rule compared. */
static Str values_of(RuleCheck *check, const Filter *filter) {
    CelValue value;

    if (!expression_is_given(&filter->message))
        return STR_NULL;
    value = judge_value(check->evaluation.judge, &filter->message, check->scene->row, check->arena);
    return value.kind == CEL_STRING ? cel_str(value) : STR_NULL;
}

static void draw_pod_cell(Html *html, const PodSummary *pod) {
    html_write(html, "<tr><td>");
    widget_pod(html, pod->namespace, pod->name);
    html_close(html);
}

static void draw_failure(RuleCheck *check, const Filter *filter) {
    Html *html = check->html;
    Str values = values_of(check, filter);

    check->n_failed++;
    draw_pod_cell(html, check->pod);
    html_write(html, "<td>%.*s/%.*s", STR_FMT(filter->policy->name), STR_FMT(filter->name));
    if (filter->policy->is_observed)
        html_write(html, " (Observe: only counted)");
    html_write(
        html, "</td><td>%.*s</td><td>%.*s</td></tr>", STR_FMT(filter->reason), STR_FMT(values));
}

static int check_policy(RuleCheck *check, const Policy *policy) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < policy->n_filters; i++) {
        const bool *fails;

        r = rule_evaluation_filter(
            &check->evaluation, &check->time, &policy->filters[i], check->arena, &fails);
        if (r == 0 && fails[0])
            draw_failure(check, &policy->filters[i]);
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
    if (r == 0 && check->n_failed == 0) {
        draw_pod_cell(check->html, pod);
        html_write(check->html, "<td><span class='good'>✓ passes all filters of "
                                "berth</span></td><td></td><td></td></tr>");
    }
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
    RuleCheck check = {
        .scene = scene,
        .html = html,
        .time = {.now_nsec = scene->at_nsec, .is_over = cpu_time_is_over, .context = &end_nsec},
        .arena = arena,
    };

    html_write(html,
        "<h2>%s</h2><p>Each rule is evaluated on its own, for pending and recent pods. "
        "kube-scheduler's own filters are not included.</p>",
        scene->is_past ? "Rules that rejected it then" : "Rules that reject it");
    widget_table(html, "node-failures", "Failed rules", "Pod|Failed rule|Reason|Value and limit");
    if (arena)
        check_pods(&check, pods);
    widget_table_end(html);
}
