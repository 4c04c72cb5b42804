/*
 * berth loses the API server that it watches; kube-scheduler, which has another one, goes on. What
 * berth knows of the cluster is what it knew, and a node whose daemon has failed since still gets
 * pods.
 */

#include "demo/scenario.h"

#include <stdio.h>

static const char policy[] =
#include "scenario-api-down.inc"
    ;

#define BROKEN "failed"
#define N_BEFORE 3u

/* berth has heard of the label. */
static bool knows(const View *view, const void *context) {
    uint32_t row = table_find(view->table, str_from_c(context));
    const Node *node = row < view->table->n_rows ? table_node(view->table, row) : NULL;
    const Str *daemon = node ? labels_find(&node->labels, STR(FLEET_DAEMON)) : NULL;

    return daemon && str_is(*daemon, BROKEN);
}

static void build(Play *play) {
    const Workload *workspace = workload_named("ws");
    Placement placement;
    char node[PLAY_NAME_MAX];

    if (play->status == 0 && world_clear(play->rig.world) < 0)
        play->status = PLAY_UNSOLVED;
    for (size_t i = 0; i < N_BEFORE; i++)
        play_place(play, workspace, &placement);
    play_expect(play, !str_is_empty(placement.node), "the pods found no node");
    play_choose_pod(play, &placement);
    (void)snprintf(node, sizeof(node), "%s", play->node);
    play_reveal(play, "the API server that berth watches goes away; kube-scheduler has another");
    if (play->status == 0)
        api_server_stop(play->rig.api);
    play_await_page(play, "berth noticed", "/readyz?verbose", "refused; pods");
    play_await_page(play, "berth noticed", "/readyz?verbose", "refused\n");
    play_tell(play, "the workspace daemon of %s fails: its label is " BROKEN " now", node);
    if (play->status == 0 &&
        world_mark_node(play->rig.world, str_from_c(node), (NodeMarks){.daemon = STR(BROKEN)}) < 0)
        play->status = PLAY_UNSOLVED;
    play_place(play, workspace, &placement);
    play_place(play, workspace, &placement);
    play_expect(play, str_is(placement.node, node), "the pod did not go to the failed node");
    play_choose_pod(play, &placement);
}

static void show(Play *play) {
    play_say(play, "$ kubectl get node %s -L " FLEET_DAEMON, play->node);
    play_say(play, "WORKSPACE-DAEMON " BROKEN);
    play_say(play, "and the last two workspaces went there all the same.");
}

static void suggest(Play *play) {
    play_suggest(play, WORDS("explain", "--last", play->pod_name, "--server", play_url(play)));
    play_suggest(play, WORDS("check", "--live", "--only", "cluster", "--server", play_url(play)));
    play_say(play, "curl -s '%s/readyz?verbose'", play_url(play));
}

static void solve(Play *play) {
    const Workload *workspace = workload_named("ws");
    Placement placement;
    char node[PLAY_NAME_MAX];

    (void)snprintf(node, sizeof(node), "%s", play->node);
    play_heading(play, "How to find out");
    play_run(play,
        WORDS("explain", "--last", play->pod_name, "--node", node, "--server", play_url(play)));
    play_note(play,
        "The rule \"daemon\" let the node pass: when berth decided, the label said ready. berth "
        "does not see what kubectl sees. Is its picture old?");
    play_fetch(play, "/readyz?verbose");
    play_note(play,
        "It is: nodes and pods are as they were so long ago, and this is what happens when berth "
        "tries to reach the API server.");
    play_heading(play, "The cause");
    play_say(play,
        "berth cannot reach its API server. It goes on with the cluster as it last saw it: better "
        "than no pods at all, but it misses what has changed since.");
    play_heading(play, "The remedy");
    play_tell(play, "the API server comes back");
    if (play->status == 0 && api_server_resume(play->rig.api) < 0)
        play->status = PLAY_UNSOLVED;
    play_await(play, "berth heard of the label", knows, node);
    play_place(play, workspace, &placement);
    play_expect(play,
        !str_is_empty(placement.node) && !str_is(placement.node, node),
        "the pod went to the failed node again");
    play_say(play,
        "berth lists everything again by itself, and the next workspace avoids %s. "
        "berth check --live --only cluster warns of it, and so do the alerts that come with it.",
        node);
}

const Scenario scenario_api_down = {
    .name = "api-down",
    .question = "The node's daemon has failed, and the policy asks for it. Why do pods go there?",
    .policy = policy,
    .n_nodes = 20,
    .seed = 1,
    .is_watched = true,
    .visitor = "ws",
    .build = build,
    .show = show,
    .suggest = suggest,
    .solve = solve,
};
