/*
 * A pod asks for a GPU and lacks the toleration: it fits nowhere, and "0/20 nodes are available"
 * hides which of two reasons is the one to mend.
 */

#include "demo/scenario.h"

static const char policy[] =
#include "scenario-pending.inc"
    ;

static void build(Play *play) {
    const Workload *training = workload_named("training");
    Placement placement;

    play_place(play, training, &placement);
    play_place(play, training, &placement);
    play_place(play, workload_named("render"), &placement);
    play_choose_pod(play, &placement);
    play_place(play, training, &placement);
    play_expect(play, str_is_empty(play->pod->model.node_name), "the pod found a node");
}

static void show(Play *play) {
    Placement placement;

    play_retry(play, &placement);
    play_describe(play, &placement);
}

static void suggest(Play *play) {
    play_suggest(play, WORDS("explain", "--last", play->pod_name, "--server", play_url(play)));
    play_suggest(play, WORDS("top", "--server", play_url(play)));
}

static void solve(Play *play) {
    Placement placement;

    play_heading(play, "How to find out");
    play_run(play, WORDS("explain", "--last", play->pod_name, "--server", play_url(play)));
    play_note(play,
        "Two rules rejected it. Of these, only the nodes of the second could ever take the pod: "
        "the others have no GPU. The line \"needs a toleration of …\" below it is the remedy.");
    play_heading(play, "The cause");
    play_say(play,
        "The nodes with GPUs have a taint that keeps other pods away, and this Job's template "
        "does not tolerate it.");
    play_heading(play, "The remedy");
    play_tell(play, "somebody adds the toleration to the Job, which makes a new pod");
    play_place(play, workload_named("render") + 1, &placement);
    play_expect(play, !str_is_empty(placement.node), "the mended pod found no node");
    play_say(play, "With the toleration the pod is placed. berth's policy stays as it is.");
}

const Scenario scenario_pending = {
    .name = "pending",
    .question = "GPUs are free, and training pods get them. Why does this pod wait?",
    .policy = policy,
    .n_nodes = 40,
    .seed = 1,
    .visitor = "training",
    .build = build,
    .show = show,
    .suggest = suggest,
    .solve = solve,
};
