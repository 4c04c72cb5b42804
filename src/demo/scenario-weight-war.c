/*
 * The policy packs, kube-scheduler spreads: at weight 1 an extender's points are 100 of 1,300, and
 * least-allocated alone takes back all that packing gives.
 */

#include "demo/scenario.h"

#include <stdio.h>

#define N_PODS 10u

static const char policy[] =
#include "scenario-weight-war.inc"
    ;

/* Places so many Jobs on an empty cluster; returns how many nodes they are on. */
static size_t place_all(Play *play) {
    char nodes[N_PODS][PLAY_NAME_MAX];
    size_t n = 0;

    if (play->status == 0 && world_clear(play->rig.world) < 0)
        play->status = PLAY_UNSOLVED;
    for (size_t i = 0; i < N_PODS; i++) {
        Placement placement;
        size_t j = 0;

        play_place(play, workload_named("report"), &placement);
        if (str_is_empty(placement.node))
            break;
        if (placement.score < placement.best_score) /* not our first choice */
            play_choose_pod(play, &placement);
        while (j < n && !str_is(placement.node, nodes[j]))
            j++;
        if (j == n)
            (void)snprintf(nodes[n++], sizeof(nodes[0]), "%.*s", STR_FMT(placement.node));
    }
    return n;
}

static void build(Play *play) {
    driver_set_weight(play->rig.driver, 1);
    play->n_nodes_used = place_all(play);
    play_expect(play, play->pod, "all pods went where berth liked it most");
}

static void show(Play *play) {
    play_say(play,
        "%u Jobs that would fit on a few nodes are on %zu, and the autoscaler can take none away.",
        N_PODS,
        play->n_nodes_used);
}

static void suggest(Play *play) {
    play_suggest(play, WORDS("explain", "--last", play->pod_name, "--server", play_url(play)));
    play_suggest(play, WORDS("config", "--server", play_url(play), "--weight", "5"));
}

static void solve(Play *play) {
    size_t n_before = play->n_nodes_used, n_after;

    play_heading(play, "How to find out");
    play_run(play, WORDS("explain", "--last", play->pod_name, "--server", play_url(play)));
    play_note(play,
        "The pod went to %s, which is not the first of our order. The line below the table says "
        "why that can be: at weight 1 ours are 100 points of 1,300, and kube-scheduler's own, "
        "which favour empty nodes, take as much back.",
        play->node);
    play_heading(play, "The cause");
    play_say(play,
        "The extender's weight in kube-scheduler's configuration is 1. The policy packs; "
        "NodeResourcesFit (LeastAllocated) spreads; the two cancel each other out.");
    play_heading(play, "The remedy");
    play_say(play,
        "`berth config --weight 5` prints the file for kube-scheduler: our points are up to 500 "
        "of 1,700 then. The same Jobs again, on an empty cluster, asked with that weight:");
    if (play->status == 0)
        driver_set_weight(play->rig.driver, 5);
    n_after = place_all(play);
    play_expect(play, n_after < n_before, "the Jobs are not on fewer nodes");
    play_say(play, "On %zu nodes, instead of %zu.", n_after, n_before);
}

const Scenario scenario_weight_war = {
    .name = "weight-war",
    .question = "The policy packs Jobs onto few nodes. Why are they all over the place?",
    .policy = policy,
    .n_nodes = 40,
    .seed = 1,
    .visitor = "report",
    .build = build,
    .show = show,
    .suggest = suggest,
    .solve = solve,
};
