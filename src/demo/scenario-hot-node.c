/*
 * A process outside of Kubernetes keeps a node busy. Requests on it are low, so kube-scheduler
 * scores it high; the policy measures the load, but its limit is too high to matter.
 */

#include "demo/scenario.h"

#include <errno.h>
#include <stdio.h>

#define HOT_SHARE 0.87
#define N_PODS 6u

/* Whether services pass the policy's other rules on the node. */
static bool is_candidate(const Node *node) {
    return node && node->is_ready && !node->is_unschedulable &&
           str_has_prefix(node->name, STR("general-"));
}

/* Used instead of the policy, which would reject the other nodes. */
static int filter(void *context, const Pod *pod, int64_t now_nsec, const uint32_t *rows, size_t n,
    Arena *arena, const uint16_t **ret_verdicts) {
    const NodeTable *const *table = context;
    uint16_t *verdicts = ARENA_ARRAY(arena, uint16_t, n);

    for (size_t i = 0; verdicts && i < n; i++)
        verdicts[i] = is_candidate(table_node(*table, rows[i])) ? EXTENDER_PASSES : 0;
    *ret_verdicts = verdicts;
    return verdicts ? 0 : -ENOMEM;
}

/* All later pods as one. */
static PodRequest all_of_them(const DemoPod *pod, Resource items[static RESOURCES_MAX]) {
    PodRequest all = *pod->template;

    for (size_t i = 0; i < all.pod.requests.n && i < RESOURCES_MAX; i++) {
        items[i] = all.pod.requests.items[i];
        items[i].amount *= N_PODS;
    }
    all.pod.requests.items = items;
    all.scored.cpu *= N_PODS;
    all.scored.memory *= N_PODS;
    return all;
}

/* The node that kube-scheduler itself would choose for all of them together; NO_ROW: none. */
static uint32_t find_node(const ScenarioRun *run, const DemoPod *pod, const NodeTable *table) {
    _cleanup_(cluster_state_freep) ClusterState *state = NULL;
    _cleanup_(scheduler_freep) Scheduler *scheduler = NULL;
    SchedulerOptions options = demo_scheduler_options(run->scenario->seed);
    SchedulerExtender extender = {.context = &table, .filter = filter};
    Resource items[RESOURCES_MAX];
    PodRequest request = all_of_them(pod, items);
    Choice choice = {.row = NO_ROW};

    if (cluster_state_new(table, &state) < 0)
        return NO_ROW;
    cluster_state_add_table_pods(state);
    if (scheduler_new(&options, state, extender, &scheduler) == 0)
        (void)scheduler_choose(scheduler, &request, /* now_nsec= */ 0, NO_ROW, &choice);
    return choice.row;
}

static void add_load(ScenarioRun *run) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    const DemoPod *pod = demo_cluster_sample_pod(run->env.cluster, "web");
    const NodeTable *table;
    uint32_t row;

    if (!pod || environment_publish(&run->env, &snapshot) < 0)
        return;
    table = snapshot_table(snapshot);
    row = find_node(run, pod, table);
    if (row != NO_ROW)
        (void)snprintf(run->node, sizeof(run->node), "%.*s", STR_FMT(table->names->names[row]));
    mock_metrics_add_load(run->env.metrics, str_from_c(run->node), HOT_SHARE);
}

/* The measured load shows it. */
static bool is_hot(const View *view, const void *context) {
    uint32_t row = table_find(view->table, str_from_c(context));

    return row < view->table->n_rows && view->table->loads &&
           loads_value(view->table->loads, 0, LOAD_MEASURED, row) > HOT_SHARE - 0.01;
}

static void build(ScenarioRun *run) {
    add_load(run);
    run_tell(run, "on %s a process outside of Kubernetes compiles a kernel", run->node);
    run_await(run, "the load was measured", is_hot, run->node);
    for (size_t i = 0; i < N_PODS; i++) {
        run_place(run, run->workload);
        if (!str_is(run->placement.node, run->node))
            continue;
        run->n_there++;
        run_choose_pod(run);
    }
    run_expect(run, run->n_there > 0, "no pod went to the busy node");
}

static void show(ScenarioRun *run) {
    run_say(run, "$ kubectl top node %s", run->node);
    run_say(run, "CPU(%%) 87%%, and of the last %u pods %zu went there.", N_PODS, run->n_there);
}

#define CHANGE "services.params.maxLoad=0.8"

static void suggest(ScenarioRun *run) {
    run_suggest(run, WORDS("what-if", "--set", CHANGE, "--server", run_url(run)));
    run_suggest(run, WORDS("top", "--server", run_url(run)));
}

static void solve(ScenarioRun *run) {
    char node[RUN_NAME_MAX];

    (void)snprintf(node, sizeof(node), "%s", run->node);
    run_explain(run, node);
    run_note(run,
        "All three rules let the node pass, \"cool\" too: it measures the load, but its limit, "
        "params.maxLoad, is 0.97. What would 0.8 have changed for the pods of the last minutes?");
    run_command(run, WORDS("what-if", "--set", CHANGE, "--server", run_url(run)));
    run_note(run,
        "\"moved\" pods would have lost %s, and none would be newly rejected: it is safe to try.",
        node);
    run_heading(run, "The cause");
    run_say(run,
        "kube-scheduler counts requests, and on %s they are low. The policy measures the load, but "
        "rejects nodes only from 97 %% on.",
        node);
    run_heading(run, "The fix");
    run_reload(run, "maxLoad: 0.97", "maxLoad: 0.8");
    run_place(run, run->workload);
    run_place(run, run->workload);
    run_expect(run, !str_is_empty(run->placement.node) && !str_is(run->placement.node, node),
        "the pod went to the busy node again");
    run_choose_pod(run);
    run_explain(run, node);
    run_note(run,
        "The next pods avoid %s, and berth prints the value and the limit. The value is the "
        "measured one plus the pods of the last minute, which an average does not show yet.",
        node);
}

const Scenario scenario_hot_node = {
    .name = "hot-node",
    .question = "A node runs at 87 %. Why do new pods still go there?",
    .policy =
#include "scenario-hot-node.inc"
        ,
    .n_nodes = 20,
    .seed = 3,
    .workload = "web",
    .build = build,
    .show = show,
    .suggest = suggest,
    .solve = solve,
};
