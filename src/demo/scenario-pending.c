/*
 * A pod requests a GPU and lacks the toleration: it fits nowhere, and "0/20 nodes are available"
 * does not show which of two reasons is the one to fix.
 */

#include "demo/scenario.h"

static void build(ScenarioRun *run) {
    run_place(run, run->workload);
    run_place(run, run->workload);
    run_place(run, workload_named("render"));
    run_choose_pod(run);
    run_place(run, run->workload);
    run_expect(run, run->pod && str_is_empty(run->pod->model.node_name), "the pod found a node");
}

static void show(ScenarioRun *run) {
    run_retry(run);
    run_describe(run);
}

static void suggest(ScenarioRun *run) {
    run_suggest(run, WORDS("top", "--server", run_url(run)));
}

static void solve(ScenarioRun *run) {
    run_explain(run, NULL);
    run_note(run,
        "Two rules rejected it. Only the nodes of the second could take the pod: the others have "
        "no GPU. The line \"needs a toleration of …\" below it is the fix.");
    run_heading(run, "The cause");
    run_say(run,
        "The nodes with GPUs have a taint that keeps other pods away, and this Job's template "
        "does not tolerate it.");
    run_heading(run, "The fix");
    run_tell(run, "a user adds the toleration to the Job, and a new pod is created");
    run_place(run, workload_named("render") + 1);
    run_expect(run, !str_is_empty(run->placement.node), "the fixed pod found no node");
    run_say(run, "With the toleration the pod is placed. berth's policy stays as it is.");
}

const Scenario scenario_pending = {
    .name = "pending",
    .question = "GPUs are free, and training pods get them. Why is this pod pending?",
    .policy =
#include "scenario-pending.inc"
        ,
    .n_nodes = 40,
    .seed = 1,
    .workload = "training",
    .build = build,
    .show = show,
    .suggest = suggest,
    .solve = solve,
};
