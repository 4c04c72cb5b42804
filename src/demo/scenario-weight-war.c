/*
 * The policy packs, kube-scheduler spreads: at weight 1 an extender's score is 100 of 1,300 points,
 * and LeastAllocated alone outweighs it.
 */

#include "demo/scenario.h"

#include <stdio.h>

#define N_PODS 10u

/* Places N_PODS Jobs on an empty cluster; returns how many nodes they are on. */
static size_t place_all(ScenarioRun *run) {
    char nodes[N_PODS][RUN_NAME_MAX];
    size_t n = 0;

    run_clear(run);
    for (size_t i = 0; i < N_PODS; i++) {
        size_t j = 0;

        run_place(run, run->workload);
        if (str_is_empty(run->placement.node))
            break;
        if (run->placement.score < run->placement.best_score) /* not berth's first choice */
            run_choose_pod(run);
        while (j < n && !str_is(run->placement.node, nodes[j]))
            j++;
        if (j == n)
            (void)snprintf(nodes[n++], sizeof(nodes[0]), "%.*s", STR_FMT(run->placement.node));
    }
    return n;
}

static void build(ScenarioRun *run) {
    demo_scheduler_set_weight(run->env.scheduler, 1);
    run->n_nodes_used = place_all(run);
    run_expect(run, run->pod, "all pods went to berth's first choice");
}

static void show(ScenarioRun *run) {
    run_say(run,
        "%u Jobs that would fit on a few nodes are on %zu, and the autoscaler can take none away.",
        N_PODS, run->n_nodes_used);
}

static void suggest(ScenarioRun *run) {
    run_suggest(run, WORDS("config", "--server", run_url(run), "--weight", "5"));
}

static void solve(ScenarioRun *run) {
    size_t n_before = run->n_nodes_used, n_after;

    run_explain(run, NULL);
    run_note(run,
        "The pod went to %s, which is not berth's first choice. The line below the table explains "
        "it: at weight 1 berth's score is at most 100 of 1,300 points, and kube-scheduler's own "
        "scores, which prefer empty nodes, outweigh it.",
        run->node);
    run_heading(run, "The cause");
    run_say(run, "The extender's weight in kube-scheduler's configuration is 1. The policy packs; "
                 "NodeResourcesFit (LeastAllocated) spreads; the two cancel each other out.");
    run_heading(run, "The fix");
    run_say(run,
        "`berth config --weight 5` prints the file for kube-scheduler: berth's score is then at "
        "most 500 of 1,700 points. The same Jobs again, on an empty cluster, with that weight:");
    if (run->status == 0)
        demo_scheduler_set_weight(run->env.scheduler, 5);
    n_after = place_all(run);
    run_expect(run, n_after < n_before, "the Jobs are not on fewer nodes");
    run_say(run, "On %zu nodes, instead of %zu.", n_after, n_before);
}

const Scenario scenario_weight_war = {
    .name = "weight-war",
    .question = "The policy packs Jobs onto few nodes. Why are they all over the place?",
    .policy =
#include "scenario-weight-war.inc"
        ,
    .n_nodes = 40,
    .seed = 1,
    .workload = "report",
    .build = build,
    .show = show,
    .suggest = suggest,
    .solve = solve,
};
