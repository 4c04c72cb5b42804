/* Every rule by itself, of each policy that is for the pod: in a decision the first one speaks. */

#include "api/trial.h"
#include "base/clock.h"
#include "dashboard/node-part.h"

#define PODS_TRIED 10u
#define TIME_MAX_NSEC (200 * NSEC_PER_MSEC)

typedef struct Hearing {
    const NodeScene *scene;
    Html *html;
    RequestTime time;
    const PodSight *pod;
    Trial trial;
    Arena *arena; /* of one pod */
    size_t n_failed;
} Hearing;

static bool is_over(void *context) {
    return clock_thread_cpu_nsec() > *(const int64_t *)context;
}

/* Which value met which limit, as the rule tells it. */
static Str tell(Hearing *hearing, const Filter *filter) {
    CelValue value;

    if (!expression_is_given(&filter->message))
        return STR_NULL;
    value =
        judge_value(hearing->trial.judge, &filter->message, hearing->scene->row, hearing->arena);
    return value.kind == CEL_STRING ? cel_str(value) : STR_NULL;
}

static void draw_pod_cell(Html *html, const PodSight *pod) {
    html_open(html, "td");
    piece_pod(html, pod->namespace, pod->name);
    html_close(html);
}

static void draw_failure(Hearing *hearing, const Filter *filter) {
    Html *html = hearing->html;
    Str values = tell(hearing, filter);

    hearing->n_failed++;
    html_open(html, "tr");
    draw_pod_cell(html, hearing->pod);
    html_write(html, "<td>%.*s/%.*s", STR_FMT(filter->policy->name), STR_FMT(filter->name));
    if (filter->policy->is_observed)
        html_write(html, " (Observe: it only counts)");
    html_write(
        html, "</td><td>%.*s</td><td>%.*s</td></tr>", STR_FMT(filter->reason), STR_FMT(values));
}

static int hear_policy(Hearing *hearing, const Policy *policy) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < policy->n_filters; i++) {
        const bool *fails;

        r = trial_filter(
            &hearing->trial, &hearing->time, &policy->filters[i], hearing->arena, &fails);
        if (r == 0 && fails[0])
            draw_failure(hearing, &policy->filters[i]);
    }
    return r;
}

static void draw_passes(Hearing *hearing) {
    html_open(hearing->html, "tr");
    draw_pod_cell(hearing->html, hearing->pod);
    html_write(hearing->html,
        "<td><span class='good'>✓ passes every filter of berth</span></td><td></td><td></td></tr>");
}

/* 0, one of trial.h, or -ENOMEM. */
static int hear(Hearing *hearing, const PodSight *pod) {
    const Program *program = hearing->scene->view->program;
    int r;

    arena_reset(hearing->arena);
    hearing->pod = pod;
    hearing->n_failed = 0;
    r = trial_open(hearing->scene->view,
        &hearing->time,
        pod_text_str(pod->filter->pod_text),
        &hearing->scene->row,
        /* n= */ 1,
        hearing->arena,
        &hearing->trial);
    for (size_t i = 0; r == 0 && i < program->n_policies; i++)
        if (judge_applies(hearing->trial.judge, &program->policies[i]))
            r = hear_policy(hearing, &program->policies[i]);
    if (r == 0 && hearing->n_failed == 0)
        draw_passes(hearing);
    return r;
}

static void hear_pods(Hearing *hearing, const PodsSight *pods) {
    size_t n_tried = 0;

    for (size_t i = 0; i < pods->n && n_tried < PODS_TRIED; i++) {
        int r;

        if (!pods->pods[i].filter || !pods->pods[i].filter->pod_text)
            continue;
        n_tried++;
        r = hear(hearing, &pods->pods[i]);
        if (r != 0 && r != TRIAL_E_UNREADABLE)
            return;
    }
}

#define HEARING_BUDGET ((size_t)64 * 1024 * 1024)

void node_draw_failures(const NodeScene *scene, Html *html, const PodsSight *pods) {
    static const char *const columns[] = {
        "Pod", "Rule that the node fails", "Reason", "Value and limit"};
    _cleanup_(arena_freep) Arena *arena = arena_new(HEARING_BUDGET);
    int64_t end_nsec = clock_thread_cpu_nsec() + TIME_MAX_NSEC;
    Hearing hearing = {
        .scene = scene,
        .html = html,
        .time = {.now_nsec = scene->at_nsec, .is_over = is_over, .context = &end_nsec},
        .arena = arena,
    };

    html_write(html,
        "<h2>%s</h2><p>Every rule by itself, for pods that wait and for the last that were asked "
        "about. What kube-scheduler's own filters say is not berth's to know.</p>",
        scene->is_past ? "What the policies said of it" : "What the policies say of it");
    piece_table(html, "node-failures", "Rules it fails", columns, ELEMENTS_OF(columns));
    if (arena)
        hear_pods(&hearing, pods);
    piece_table_end(html);
}
