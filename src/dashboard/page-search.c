/*
 * Nodes and pods by a part of their name. A single hit, or one with exactly this name, leads to its
 * page at once.
 */

#include <errno.h>
#include <stdlib.h>

#include "base/url.h"
#include "dashboard/page-parts.h"

#define HITS_SHOWN 100u /* of each kind */
#define SCRATCH_BUDGET ((size_t)64 * 1024)
#define URL_MAX ((size_t)64 * 1024)

/* The page that all hits share, if they do: a pod that was deleted and created again has one. */
typedef struct Target {
    const PodSummary *pod; /* the first; both NULL: nothing was found */
    const Node *node;
    bool is_ambiguous;
} Target;

typedef struct Search {
    Str text;
    PodsSummary summary;     /* references */
    const PodSummary **pods; /* that were found */
    const Node **nodes;
    size_t n_pods, n_nodes;
    Target any, exact;
} Search;

static void target_add(Target *target, const PodSummary *pod, const Node *node) {
    if (!target->pod && !target->node)
        *target = (Target){.pod = pod, .node = node};
    else if (!pod || !target->pod || !str_eq(pod->name, target->pod->name) ||
             !str_eq(pod->namespace, target->pod->namespace))
        target->is_ambiguous = true;
}

static void find_pods(Search *search, Arena *scratch) {
    for (size_t i = 0; i < search->summary.n; i++) {
        const PodSummary *pod = &search->summary.pods[i];
        Str full;

        arena_reset(scratch);
        full = arena_printf(scratch, "%.*s/%.*s", STR_FMT(pod->namespace), STR_FMT(pod->name));
        if (!str_contains_nocase(full, search->text) && !str_eq(pod->uid, search->text))
            continue;
        search->pods[search->n_pods++] = pod;
        target_add(&search->any, pod, NULL);
        if (str_eq(full, search->text) || str_eq(pod->name, search->text))
            target_add(&search->exact, pod, NULL);
    }
}

static int compare_names(const void *a, const void *b) {
    const Node *const *x = a, *const *y = b;

    return str_cmp((*x)->name, (*y)->name);
}

static void find_nodes(Search *search, const NodeTable *table) {
    for (uint32_t row = 0; row < table->n_rows; row++) {
        const Node *node = table_node(table, row);

        if (!node || !str_contains_nocase(node->name, search->text))
            continue;
        search->nodes[search->n_nodes++] = node;
        target_add(&search->any, NULL, node);
        if (str_eq(node->name, search->text))
            target_add(&search->exact, NULL, node);
    }
    qsort(search->nodes, search->n_nodes, sizeof(*search->nodes), compare_names);
}

static void search_done(Search *search) {
    pods_summary_done(&search->summary);
}

/* 0, or -ENOMEM; the caller calls search_done() in either case. */
static int search_make(const PageContext *context, Search *ret) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_BUDGET);
    const NodeTable *table = context->view->table;

    *ret = (Search){.text = query_get(context->query, STR("q"))};
    if (str_is_empty(ret->text))
        return 0;
    if (!scratch || pods_summary_all(context->api->decisions, context->api->recent_pods,
                        context->view, context->arena, &ret->summary) < 0)
        return -ENOMEM;
    ret->pods = ARENA_ARRAY(context->arena, const PodSummary *, ret->summary.n + 1);
    ret->nodes = ARENA_ARRAY(context->arena, const Node *, (table ? table->n_rows : 0) + 1);
    if (!ret->pods || !ret->nodes)
        return -ENOMEM;
    find_pods(ret, scratch);
    if (table)
        find_nodes(ret, table);
    return 0;
}

static void draw_number(Html *html, size_t n, const char *one, const char *many) {
    html_write(html, "<p>%zu %s", n, n == 1 ? one : many);
    if (n > HITS_SHOWN)
        html_write(html, "; the first %u are shown", HITS_SHOWN);
    html_write(html, ".</p>");
}

static void draw_hits(Html *html, const Search *search) {
    html_write(html, "<p>Names that contain <b>%.*s</b>.</p>", STR_FMT(search->text));
    if (search->n_nodes > 0) {
        widget_section(html, "found-nodes", "Nodes");
        draw_number(html, search->n_nodes, "node", "nodes");
        html_write(html, "<ul class='found'>");
        for (size_t i = 0; i < search->n_nodes && i < HITS_SHOWN; i++)
            html_write(html, "<li>" NODE_LINK "</li>", NODE_FMT(search->nodes[i]->name));
        html_write(html, "</ul></section>");
    }
    if (search->n_pods > 0) {
        widget_section(html, "found-pods", "Pods");
        draw_number(html, search->n_pods, "pod", "pods");
        pods_table_draw(
            html, search->pods, search->n_pods < HITS_SHOWN ? search->n_pods : HITS_SHOWN);
        html_close(html);
    }
    if (search->n_nodes + search->n_pods == 0)
        widget_empty(html, "No node and no recent pod has such a name.",
            "berth knows the pods that kube-scheduler sent to it. kubectl describe pod shows the "
            "scheduler of other pods.");
    html_write(html, "<p><a href='/pods?q=%.*s'>Pods by their node, policy or reason</a></p>",
        STR_FMT(search->text));
}

unsigned page_search(const PageContext *context, Html *html) {
    _cleanup_(search_done) Search search = {0};
    _cleanup_(buf_done) Buf url = BUF_INIT(URL_MAX);
    const Target *target;

    if (search_make(context, &search) < 0)
        return widget_no_memory(html, "this search");
    if (str_is_empty(search.text)) {
        widget_empty(html, "Type a part of the name of a pod or node.", NULL);
        return 200;
    }
    target = search.exact.pod || search.exact.node ? &search.exact : &search.any;
    if ((target->pod || target->node) && !target->is_ambiguous) {
        buf_append(&url, target->pod ? STR("/pod?namespace=") : STR("/node?name="));
        url_escape(&url, target->pod ? target->pod->namespace : target->node->name);
        if (target->pod) {
            buf_append(&url, STR("&name="));
            url_escape(&url, target->pod->name);
        }
        *context->target = arena_copy(context->arena, buf_str(&url));
        if (!buf_error(&url) && context->target->ptr)
            return 303;
    }
    draw_hits(html, &search);
    return 200;
}
