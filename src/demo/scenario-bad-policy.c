/*
 * Somebody edits the policy and mistypes a word. The last good one stays in force, so the change
 * seems to do nothing.
 */

#include "demo/scenario.h"

#include <stdio.h>

static const char policy[] =
#include "scenario-bad-policy.inc"
    ;

#define BEFORE "  scores:\n"
#define MISTYPED                                                                                   \
    "    - name: seats\n"                                                                          \
    "      maxPod: {limit: 2, podSelector: {matchLabels: {component: workspace}}}\n"               \
    "      reason: node has no free seat\n"                                                        \
    "  scores:\n"
#define TYPO "maxPod:"
#define MENDED "maxPods:"

static void build(Play *play) {
    const Workload *workspace = workload_named("ws");
    Placement placement;

    if (play->status == 0 && world_clear(play->rig.world) < 0)
        play->status = PLAY_UNSOLVED;
    play_place(play, workspace, &placement);
    play_tell(play, "somebody wants at most two workspaces on a node, edits the policy, saves");
    play_edit(play, BEFORE, MISTYPED);
    play_await_page(play, "berth looked at the file", "/readyz?verbose", "refused");
    for (size_t i = 0; i < 4; i++)
        play_place(play, workspace, &placement);
    play_expect(play, !str_is_empty(placement.node), "the pods found no node");
    play_choose_pod(play, &placement);
}

static void show(Play *play) {
    play_say(play, "$ kubectl get pods -n workspaces -o wide | grep -c %s", play->node);
    play_say(play, "5: the limit of two makes no difference.");
}

static void suggest(Play *play) {
    play_suggest(play, WORDS("explain", "--last", play->pod_name, "--server", play_url(play)));
    play_suggest(play, WORDS("check", "--live", "--only", "berth", "--server", play_url(play)));
    play_suggest(play, WORDS("check", play->policy_path));
}

static bool is_other(const View *view, const void *context) {
    return view->program != context;
}

static void reload(Play *play) {
    _cleanup_(view_unrefp) View *before = daemon_view(play->rig.daemon);

    play_edit(play, TYPO, MENDED);
    play_await(play, "the policy was reloaded", is_other, before->program);
}

static void solve(Play *play) {
    const Workload *workspace = workload_named("ws");
    Placement placement;
    char node[PLAY_NAME_MAX];

    (void)snprintf(node, sizeof(node), "%s", play->node);
    play_heading(play, "How to find out");
    play_run(play, WORDS("explain", "--last", play->pod_name, "--server", play_url(play)));
    play_note(play, "No rule \"seats\" took part. Is the policy on disk the one in force?");
    play_run(play, WORDS("check", "--live", "--only", "B208", "--server", play_url(play)));
    play_note(play, "It is not: berth refused the file and kept the last good one. Why?");
    play_run(play, WORDS("check", play->policy_path));
    play_note(play, "Line, column, and the word that was meant.");
    play_heading(play, "The cause");
    play_say(play,
        "A typo: maxPod instead of maxPods. A broken policy never replaces a working one, so that "
        "the edit did no harm, but no good either. `berth check` before saving tells at once.");
    play_heading(play, "The remedy");
    reload(play);
    play_tell(play, "reloaded");
    play_place(play, workspace, &placement);
    play_expect(play,
        !str_is_empty(placement.node) && !str_is(placement.node, node),
        "the pod went to the full node again");
    play_say(play, "The next workspace goes elsewhere: %s has more than two.", node);
}

const Scenario scenario_bad_policy = {
    .name = "bad-policy",
    .question = "The policy was changed, and nothing changes. Why?",
    .policy = policy,
    .n_nodes = 20,
    .seed = 1,
    .visitor = "ws",
    .build = build,
    .show = show,
    .suggest = suggest,
    .solve = solve,
};
