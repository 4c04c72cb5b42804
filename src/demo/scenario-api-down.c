/*
 * berth loses the API server that it watches; kube-scheduler, which uses another one, continues.
 * berth's copy of the cluster becomes stale, and a node whose daemon has failed still gets pods.
 */

#include "demo/scenario.h"

#include <stdio.h>

static const char policy[] =
#include "scenario-api-down.inc"
    ;

#define BROKEN "failed"
#define N_BEFORE 3u

/* berth knows the new label. */
static bool knows(const View *view, const void *context) {
    uint32_t row = table_find(view->table, str_from_c(context));
    const Node *node = row < view->table->n_rows ? table_node(view->table, row) : NULL;
    const Str *daemon = node ? labels_find(&node->labels, STR(DEMO_DAEMON)) : NULL;

    return daemon && str_is(*daemon, BROKEN);
}

static void build(ScenarioRun *run) {
    char node[RUN_NAME_MAX];

    run_clear(run);
    for (size_t i = 0; i < N_BEFORE; i++)
        run_place(run, run->workload);
    run_expect(run, !str_is_empty(run->placement.node), "the pods found no node");
    run_choose_pod(run);
    (void)snprintf(node, sizeof(node), "%s", run->node);
    run_reveal(run, "the API server that berth watches goes away; kube-scheduler has another");
    if (run->status == 0)
        mock_api_server_stop(run->env.api);
    run_await_page(run, "berth noticed", "/readyz?verbose", "refused; pods");
    run_await_page(run, "berth noticed", "/readyz?verbose", "refused\n");
    run_tell(run, "the workspace daemon of %s fails: its label is " BROKEN " now", node);
    if (run->status == 0 && demo_cluster_change_node(run->env.cluster, str_from_c(node),
                                (NodeChanges){.daemon = BROKEN}) < 0)
        run->status = RUN_FAILED;
    run_place(run, run->workload);
    run_place(run, run->workload);
    run_expect(run, str_is(run->placement.node, node), "the pod did not go to the failed node");
    run_choose_pod(run);
}

static void show(ScenarioRun *run) {
    run_say(run, "$ kubectl get node %s -L " DEMO_DAEMON, run->node);
    run_say(run, "WORKSPACE-DAEMON " BROKEN);
    run_say(run, "and the last two workspaces still went there.");
}

static void suggest(ScenarioRun *run) {
    run_suggest(run, WORDS("check", "--live", "--only", "cluster", "--server", run_url(run)));
    run_say(run, "curl -s '%s/readyz?verbose'", run_url(run));
}

static void solve(ScenarioRun *run) {
    run_explain(run, run->node);
    run_note(run,
        "The node passed the rule \"daemon\": when berth decided, the label was ready. berth does "
        "not see what kubectl sees. Is its copy of the cluster stale?");
    run_fetch(run, "/readyz?verbose");
    run_note(run,
        "It is: it shows how old nodes and pods are, and the error when berth connects to the API "
        "server.");
    run_heading(run, "The cause");
    run_say(run,
        "berth cannot reach its API server. It continues with the last known state of the cluster: "
        "better than no pods at all, but it misses later changes.");
    run_heading(run, "The fix");
    run_tell(run, "the API server comes back");
    if (run->status == 0 && mock_api_server_resume(run->env.api) < 0)
        run->status = RUN_FAILED;
    run_await(run, "berth knew the label", knows, run->node);
    run_place(run, run->workload);
    run_expect(run, !str_is_empty(run->placement.node) && !str_is(run->placement.node, run->node),
        "the pod went to the failed node again");
    run_say(run,
        "berth lists everything again by itself, and the next workspace avoids %s. "
        "berth check --live --only cluster warns of it, and so do the alerts that come with it.",
        run->node);
}

const Scenario scenario_api_down = {
    .name = "api-down",
    .question = "The node's daemon has failed, and the policy requires it. Why do pods go there?",
    .policy = policy,
    .n_nodes = 20,
    .seed = 1,
    .is_watched = true,
    .workload = "ws",
    .build = build,
    .show = show,
    .suggest = suggest,
    .solve = solve,
};
