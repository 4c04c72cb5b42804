/*
 * Somebody whom no scheduler knows keeps a node busy. Requests on it are low, so kube-scheduler's
 * own score likes it; the policy measures the load, but its limit is too high to matter.
 */

#include "demo/scenario.h"

#include <stdio.h>

#define HOT_SHARE 0.87
#define N_PODS 6u

static const char policy[] =
#include "scenario-hot-node.inc"
    ;

/* Whether the policy's other rules let services onto it. */
static bool is_candidate(const Node *node) {
    return node && node->is_ready && !node->is_unschedulable &&
           str_has_prefix(node->name, STR("general-"));
}

/* The pods to come, as one. */
static Pod all_of_them(const Pod *pod, Resource items[static RESOURCES_MAX]) {
    Pod all = *pod;

    for (size_t i = 0; i < pod->requests.n && i < RESOURCES_MAX; i++) {
        items[i] = pod->requests.items[i];
        items[i].amount *= N_PODS;
    }
    all.requests.items = items;
    return all;
}

/* The node that kube-scheduler itself would like best even with all of them on it. */
static void disturb(Play *play) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    const WorldPod *pod = world_sample_pod(play->rig.world, "web");
    Resource items[RESOURCES_MAX];
    const NodeTable *cluster;
    int64_t most = -1;
    Pod all;

    if (!pod || rig_publish(&play->rig, &snapshot) < 0)
        return;
    all = all_of_them(&pod->model, items);
    cluster = snapshot_table(snapshot);
    for (uint32_t row = 0; row < cluster->n_rows; row++) {
        int64_t points = driver_own_score(cluster, row, &all);

        if (!is_candidate(table_node(cluster, row)) || points <= most)
            continue;
        most = points;
        (void)snprintf(play->node, sizeof(play->node), "%.*s", STR_FMT(cluster->names->names[row]));
    }
    (void)meter_disturb(play->rig.meter, str_from_c(play->node), HOT_SHARE);
}

/* A value of that node has come in that shows it. */
static bool is_hot(const View *view, const void *context) {
    uint32_t row = table_find(view->table, str_from_c(context));

    return row < view->table->n_rows && view->table->loads &&
           loads_value(view->table->loads, 0, LOAD_MEASURED, row) > HOT_SHARE - 0.01;
}

static void build(Play *play) {
    char node[PLAY_NAME_MAX];

    disturb(play);
    (void)snprintf(node, sizeof(node), "%s", play->node);
    play_tell(play, "on %s somebody compiles a kernel, without a pod", node);
    play_await(play, "the load was measured", is_hot, node);
    for (size_t i = 0; i < N_PODS; i++) {
        Placement placement;

        play_place(play, workload_named("web"), &placement);
        if (!str_is(placement.node, node))
            continue;
        play->n_there++;
        play_choose_pod(play, &placement);
    }
    play_expect(play, play->n_there > 0, "no pod went to the busy node");
}

static void show(Play *play) {
    play_say(play, "$ kubectl top node %s", play->node);
    play_say(play, "CPU(%%) 87%%, and of the last %u pods %zu went there.", N_PODS, play->n_there);
}

#define CHANGE "services.params.maxLoad=0.8"

static void suggest(Play *play) {
    play_suggest(play, WORDS("explain", "--last", play->pod_name, "--server", play_url(play)));
    play_suggest(play, WORDS("what-if", "--set", CHANGE, "--server", play_url(play)));
    play_suggest(play, WORDS("top", "--server", play_url(play)));
}

static bool has_limit(const View *view, const void *context) {
    return view->program != context;
}

static void reload(Play *play) {
    _cleanup_(view_unrefp) View *before = daemon_view(play->rig.daemon);

    play_edit(play, "maxLoad: 0.97", "maxLoad: 0.8");
    play_await(play, "the policy was reloaded", has_limit, before->program);
}

static void solve(Play *play) {
    char node[PLAY_NAME_MAX];
    Placement placement;

    (void)snprintf(node, sizeof(node), "%s", play->node);
    play_heading(play, "How to find out");
    play_run(play,
        WORDS("explain", "--last", play->pod_name, "--node", node, "--server", play_url(play)));
    play_note(play,
        "All three rules let the node pass, \"cool\" too: it measures the load, but its limit, "
        "params.maxLoad, is 0.97. What would 0.8 have done to the pods of the last minutes?");
    play_run(play, WORDS("what-if", "--set", CHANGE, "--server", play_url(play)));
    play_note(play,
        "\"moved\" pods would have lost %s, and none would be newly rejected: it is safe to try.",
        node);
    play_heading(play, "The cause");
    play_say(play,
        "kube-scheduler counts what pods ask for, and on %s they ask for little; the policy, "
        "which knows better, speaks up only from 97 %% on.",
        node);
    play_heading(play, "The remedy");
    reload(play);
    play_tell(play, "reloaded");
    play_place(play, workload_named("web"), &placement);
    play_place(play, workload_named("web"), &placement);
    play_expect(play,
        !str_is_empty(placement.node) && !str_is(placement.node, node),
        "the pod went to the busy node again");
    play_choose_pod(play, &placement);
    play_run(play,
        WORDS("explain", "--last", play->pod_name, "--node", node, "--server", play_url(play)));
    play_note(play,
        "The next pods avoid %s, and berth says from which value and limit. The value is what was "
        "measured, with the pods of the last minute, which an average does not show yet.",
        node);
}

const Scenario scenario_hot_node = {
    .name = "hot-node",
    .question = "A node runs at 87 %. Why do new pods still go there?",
    .policy = policy,
    .n_nodes = 20,
    .seed = 3,
    .visitor = "web",
    .build = build,
    .show = show,
    .suggest = suggest,
    .solve = solve,
};
