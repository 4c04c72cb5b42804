/* A typo in a policy: the last good one stays in force, so the change seems to have no effect. */

#include "demo/scenario.h"

#define BEFORE "  scores:\n"
#define MISTYPED                                                                                   \
    "    - name: seats\n"                                                                          \
    "      maxPod: {limit: 2, podSelector: {matchLabels: {component: workspace}}}\n"               \
    "      reason: node has no free seat\n"                                                        \
    "  scores:\n"
#define TYPO "maxPod:"
#define FIXED "maxPods:"

static void build(ScenarioRun *run) {
    run_clear(run);
    run_place(run, run->workload);
    run_tell(run, "a user limits workspaces to two per node: edits the policy and saves it");
    run_edit(run, BEFORE, MISTYPED);
    run_await_page(run, "berth read the file", "/readyz?verbose", "degraded");
    for (size_t i = 0; i < 4; i++)
        run_place(run, run->workload);
    run_expect(run, !str_is_empty(run->placement.node), "the pods found no node");
    run_choose_pod(run);
}

static void show(ScenarioRun *run) {
    run_say(run, "$ kubectl get pods -n workspaces -o wide | grep -c %s", run->node);
    run_say(run, "5: the limit of two makes no difference.");
}

static void suggest(ScenarioRun *run) {
    run_suggest(run, WORDS("check", "--live", "--only", "berth", "--server", run_url(run)));
    run_suggest(run, WORDS("check", run->policy_path));
}

static void solve(ScenarioRun *run) {
    run_explain(run, NULL);
    run_note(run, "No rule \"seats\" took part. Is the policy on disk the one in force?");
    run_command(run, WORDS("check", "--live", "--only", "B208", "--server", run_url(run)));
    run_note(run, "It is not: berth rejected the file and kept the last good one. Why?");
    run_command(run, WORDS("check", run->policy_path));
    run_note(run, "It prints line, column, and the word that was probably meant.");
    run_heading(run, "The cause");
    run_say(run,
        "A typo: maxPod instead of maxPods. A broken policy never replaces a working one, so the "
        "edit had no effect. Run `berth check` before saving.");
    run_heading(run, "The fix");
    run_reload(run, TYPO, FIXED);
    run_place(run, run->workload);
    run_expect(run, !str_is_empty(run->placement.node) && !str_is(run->placement.node, run->node),
        "the pod went to the full node again");
    run_say(run, "The next workspace goes elsewhere: %s has more than two.", run->node);
}

const Scenario scenario_bad_policy = {
    .name = "bad-policy",
    .question = "The policy was changed, and nothing changes. Why?",
    .policy =
#include "scenario-bad-policy.inc"
        ,
    .n_nodes = 20,
    .seed = 1,
    .workload = "ws",
    .build = build,
    .show = show,
    .suggest = suggest,
    .solve = solve,
};
