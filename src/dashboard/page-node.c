/*
 * Why not this node? Berth's data about it, the results of the rules for the last pods, and recent
 * verdicts. With ?at= the cluster of that time is restored, if it is kept.
 *
 * For the modules: #node-state, #node-failures, #node-verdicts and #node-facts are live; nothing
 * else than what every page has.
 */

#include "base/nsec.h"
#include "base/shell.h"
#include "dashboard/node-internal.h"
#include "dashboard/page-parts.h"

#define PODS_SHOWN 50u

/* --- drawing --------------------------------------------------------------------------------- */

static void draw_commands(const NodePage *scene, Html *html, const PodsSummary *pods) {
    _cleanup_(buf_done) Buf command = BUF_INIT(4096);

    html_write(html, "<h2>Command line equivalent</h2>");
    buf_append(&command, STR("kubectl describe node "));
    shell_word(&command, scene->name);
    widget_command(html, buf_str(&command));
    if (pods->n == 0)
        return;
    buf_reset(&command);
    buf_append(&command, STR("berth explain --last "));
    shell_word(&command, arena_printf(scene->context->arena, "%.*s/%.*s",
                             STR_FMT(pods->pods[0].namespace), STR_FMT(pods->pods[0].name)));
    buf_append(&command, STR(" --node "));
    shell_word(&command, scene->name);
    widget_command(html, buf_str(&command));
}

static void draw_pods(Html *html, const PodList *list) {
    html_write(html, "<details id='node-pods'><summary>%u %s on it</summary><ul>", list->n,
        list->n == 1 ? "pod" : "pods");
    for (uint32_t i = 0; i < list->n && i < PODS_SHOWN; i++)
        html_write(html, "<li>" POD_LINK "</li>",
            POD_FMT(list->items[i]->namespace, list->items[i]->name));
    if (list->n > PODS_SHOWN)
        html_write(html, "<li>… and more</li>");
    html_write(html, "</ul></details>");
}

static void draw_facts(const NodePage *scene, Html *html) {
    const PodList *list = table_chunk(scene->table, scene->row)->pods[table_slot(scene->row)];

    widget_section(
        html, "node-facts", scene->is_past ? "Node as of then" : "Node as berth sees it now");
    node_facts(html, scene->view, scene->row, "node");
    if (list)
        draw_pods(html, list);
    if (scene->node->created_at > 0)
        html_write(html, "<p>Created %td.</p>", scene->node->created_at * NSEC_PER_SEC);
    html_close(html);
}

static void draw_name(const NodePage *scene, Html *html) {
    html_write(html,
        "<p id='node-state' class='subject' data-live>Node <strong class='node'>%.*s</strong>",
        STR_FMT(scene->name));
    if (!scene->node->is_ready)
        html_write(html, "<strong class='bad'>: ✗ not ready</strong>");
    if (scene->node->is_unschedulable)
        html_write(html, "<strong class='warn'>: cordoned</strong>");
    html_close(html);
}

static void draw_form(Html *html, Str name) {
    html_write(html,
        "<form class='filter' action='/node' method='get'><label "
        "for='node-name'>Node</label><input id='node-name' name='name' value='%.*s' "
        "autocomplete='off'><button>Show</button></form>",
        STR_FMT(name));
}

/* --- the cluster of that time ----------------------------------------------------------------- */

/* The newest decision up to @at_nsec whose view is saved. False: none. */
static bool find_then(Decisions *decisions, int64_t at_nsec, FoundDecision *ret) {
    _cleanup_(decisions_walk_done) DecisionsWalk walk = {.decisions = decisions};

    while (decisions_next(&walk, ret)) {
        if (ret->saved_view && ret->past->at_nsec <= at_nsec)
            return true;
        found_done(ret);
    }
    return false;
}

/* The view of that time, a reference, with the policies of that time if they are kept; NULL: not
 * available. */
static View *view_then(const PageContext *context, int64_t *ret_at_nsec) {
    const RestoreOptions setting = {
        .zones = context->view->zones,
        .exemptions = context->view->exemptions,
    };
    FoundDecision found;
    Program *program;
    View *view = NULL;

    if (context->at_nsec == 0 || !find_then(context->api->decisions, context->at_nsec, &found))
        return NULL;
    program = found.saved_view->program ? found.saved_view->program : context->view->program;
    *ret_at_nsec = found.past->at_nsec;
    if (saved_view_restore(found.saved_view, program, &setting, /* before= */ NULL, &view, NULL) <
        0)
        view = NULL;
    found_done(&found);
    return view;
}

static void say_when(const NodePage *scene, Html *html) {
    if (scene->context->at_nsec == 0)
        return;
    if (scene->is_past)
        html_write(html, "<p class='notice'>The node as of the decision %td.</p>", scene->at_nsec);
    else
        html_write(html, "<p class='notice'>The cluster of that time is no longer kept: this is "
                         "the node as it is now.</p>");
}

/* --- the page --------------------------------------------------------------------------------- */

static unsigned draw_seen(NodePage *scene, Html *html) {
    PodsSummary pods = {0};

    scene->table = scene->view->table;
    scene->row = table_find(scene->table, scene->name);
    scene->node = scene->row < scene->table->n_rows ? table_node(scene->table, scene->row) : NULL;
    say_when(scene, html);
    if (!scene->node) {
        widget_empty(html, "berth knows no node with this name.",
            "It may be deleted, or not listed yet: kubectl get nodes.");
        node_draw_verdicts(scene, html);
        return 404;
    }
    if (pods_summary_all(scene->context->api->decisions, scene->context->api->recent_pods,
            scene->view, scene->context->arena, &pods) < 0)
        widget_empty(html, "Not enough memory to show pods now.", "Try again later.");
    draw_name(scene, html);
    node_draw_failures(scene, html, &pods);
    node_draw_verdicts(scene, html);
    draw_facts(scene, html);
    draw_commands(scene, html, &pods);
    pods_summary_done(&pods);
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

    draw_form(html, scene.name);
    if (!scene.name.ptr) {
        widget_empty(html, "Which node?", "Enter its name above, or choose one on the Nodes page.");
        return 400;
    }
    return draw_seen(&scene, html);
}
