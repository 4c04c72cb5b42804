/* Recent pods, pending ones first. The search looks at everything that a row shows. */

#include "dashboard/page-parts.h"

#define PAGE_ROWS 100u
#define SCRATCH_BUDGET ((size_t)8 * 1024 * 1024)

typedef struct PodsParams {
    Str text;     /* empty: all */
    Str workload; /* "shop/Deployment/web"; empty: all */
    bool only_waiting;
    size_t page; /* from 1 */
} PodsParams;

static bool read_params(const PageContext *context, PodsParams *ret, char *error) {
    Str state = query_get(context->query, STR("state"));
    int64_t page;

    ret->text = query_get(context->query, STR("q"));
    ret->workload = query_get(context->query, STR("workload"));
    ret->only_waiting = str_is(state, "pending") || str_is(state, "waiting"); /* its former name */
    if (state.ptr && !ret->only_waiting && !str_is(state, "all"))
        return query_fail(error, "state must be pending or all");
    if (!query_number(context->query, STR("page"), 1, 1000000, 1, &page, error))
        return false;
    ret->page = (size_t)page;
    return true;
}

/* "namespace/name" is searched as one text. */
static bool fits(const PodSummary *pod, const PodsParams *params, Arena *scratch) {
    Str text = params->text, full;

    if (params->only_waiting && !pod->is_waiting)
        return false;
    arena_reset(scratch);
    if (!str_is_empty(params->workload) &&
        !str_eq(pod_summary_workload(pod, scratch), params->workload))
        return false;
    if (str_is_empty(text))
        return true;
    full = arena_printf(scratch, "%.*s/%.*s", STR_FMT(pod->namespace), STR_FMT(pod->name));
    return str_contains_nocase(full, text) || str_contains_nocase(pod->node, text) ||
           str_contains_nocase(pod->reason, text) || str_contains_nocase(pod->policy, text) ||
           str_eq(pod->uid, text);
}

static void draw_state(Html *html, const PodSummary *pod) {
    if (pod->is_waiting)
        html_write(html, "<strong class='warn'>◔ pending</strong>");
    else if (!str_is_empty(pod->node))
        html_write(html, "<span class='good'>✓ on </span>" NODE_LINK, NODE_FMT(pod->node));
    else
        html_write(html, "%s",
            pod->is_exempt      ? "exempt from policies"
            : pod->n_passed > 0 ? "passed; node unknown"
                                : "not known");
}

void pods_table_draw(Html *html, const PodSummary *const *pods, size_t n) {
    widget_table(html, "pods", "Recent pods",
        "Pod|State|#Passed, last attempt|Main reason|#Attempts|First|Last");
    for (size_t i = 0; i < n; i++) {
        const PodSummary *pod = pods[i];

        html_write(
            html, "<tr><th scope='row'>" POD_LINK "</th><td>", POD_FMT(pod->namespace, pod->name));
        draw_state(html, pod);
        html_write(html,
            "</td><td class='number'>%zu of %zu</td><td>%.*s</td><td "
            "class='number'>%zu</td><td>%td</td><td>%td</td></tr>",
            pod->n_passed, pod->n_in, STR_FMT(pod->n_passed == 0 ? pod->reason : STR_NULL),
            pod->n_attempts, pod->first_nsec, pod->last_nsec);
    }
    widget_table_end(html);
}

static void draw_none(const PageContext *context, Html *html, const PodsParams *params) {
    bool is_filtered = params->text.len > 0 || params->only_waiting || params->workload.len > 0;

    html_write(html, "<div id='pods' data-live>");
    if (params->only_waiting && params->text.len + params->workload.len == 0)
        widget_empty(html, "No pod is pending because of berth.",
            "All pending pods: kubectl get pods -A --field-selector status.phase=Pending");
    else if (is_filtered)
        widget_empty(html, "No matching pods.",
            "berth shows pods that kube-scheduler sent to it. kubectl describe pod shows the "
            "scheduler of other pods.");
    else
        widget_no_decisions(html, context->api->decisions, "No pods yet.");
    html_close(html);
}

static unsigned draw_found(
    const PageContext *context, Html *html, const PodsParams *params, const PodsSummary *summary) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_BUDGET);
    const PodSummary **pods = ARENA_ARRAY(context->arena, const PodSummary *, summary->n + 1);
    size_t from = (params->page - 1) * PAGE_ROWS, n = 0;
    HtmlParameter parameters[] = {
        {params->text.len > 0 ? "q" : NULL, params->text},
        {params->only_waiting ? "state" : NULL, STR("pending")},
        {params->workload.len > 0 ? "workload" : NULL, params->workload},
        {"page"},
    };

    for (size_t i = 0; pods && scratch && i < summary->n; i++)
        if (fits(&summary->pods[i], params, scratch))
            pods[n++] = &summary->pods[i];
    if (n == 0) {
        draw_none(context, html, params);
        return 200;
    }
    html_write(html, "<p id='paging' data-live>%zu%s", n, n == 1 ? " pod. " : " pods. ");
    page_links_draw(html, "/pods", parameters, ELEMENTS_OF(parameters), params->page, PAGE_ROWS, n);
    html_close(html);
    if (from < n)
        pods_table_draw(html, pods + from, n - from < PAGE_ROWS ? n - from : PAGE_ROWS);
    return from < n ? 200 : 404;
}

unsigned page_pods(const PageContext *context, Html *html) {
    _cleanup_(pods_summary_done) PodsSummary summary = {0};
    char error[QUERY_ERROR_MAX];
    PodsParams params;

    if (!read_params(context, &params, error))
        return widget_problem(html, error);
    html_write(html,
        "<form class='filter' action='/pods' method='get'><label for='q'>Pod, node, policy or "
        "reason contains</label><input id='q' name='q' value='%.*s' autocomplete='off'><label "
        "for='state'>which</label><select id='state' name='state'>",
        STR_FMT(params.text));
    widget_option(html, STR(""), STR("all"), !params.only_waiting);
    widget_option(html, STR("pending"), STR("pending"), params.only_waiting);
    html_write(html, "</select><button>Show</button></form>");
    if (params.workload.len > 0)
        html_write(html, "<p>Only pods of %.*s. <a href='/pods'>Show all pods</a></p>",
            STR_FMT(params.workload));
    if (pods_summary_all(context->api->decisions, context->api->recent_pods, context->view,
            context->arena, &summary) < 0)
        return widget_no_memory(html, "this list");
    return draw_found(context, html, &params, &summary);
}
