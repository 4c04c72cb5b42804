/*
 * Prometheus stops answering. After maxAge its values are missing, and the rule has onMissing:
 * reject.
 */

#include "demo/scenario.h"

/* Whether some node has a value; whether none has. */
static bool is_fresh(const View *view, const void *context) {
    for (uint32_t row = 0; view->table->loads && row < view->table->n_rows; row++)
        if (loads_value(view->table->loads, 0, LOAD_MEASURED, row) >= 0)
            return true;
    return false;
}

static bool is_stale(const View *view, const void *context) {
    return !is_fresh(view, context);
}

static void build(ScenarioRun *run) {
    run_await(run, "the load was measured", is_fresh, NULL);
    run_place(run, run->workload);
    run_place(run, run->workload);
    run_reveal(run, "the Prometheus at %s goes away", mock_metrics_server(run->env.metrics)->url);
    if (run->status == 0)
        mock_server_stop(mock_metrics_server(run->env.metrics));
    run_place(run, run->workload);
    run_await(run, "the last values were stale", is_stale, NULL);
    run_tell(run, "two seconds later");
    run_place(run, run->workload);
    run_choose_pod(run);
    run_place(run, run->workload);
    run_expect(run, str_is_empty(run->placement.node), "the pod found a node");
}

static void show(ScenarioRun *run) {
    run_retry(run);
    run_describe(run);
    run_say(run, "A few seconds ago pods like it found a node. Nothing was changed.");
}

static void suggest(ScenarioRun *run) {
    run_suggest(run, WORDS("check", "--live", "--only", "policies", "--server", run_url(run)));
    run_say(run, "curl -s %s/api/v1/sources", run_url(run));
}

static void solve(ScenarioRun *run) {
    run_explain(run, NULL);
    run_note(run,
        "The reason is \"too busy\", but the last line explains it: the rule had no metric to "
        "read, "
        "and its onMissing decided.");
    run_command(run, WORDS("check", "--live", "--only", "B505,B506", "--server", run_url(run)));
    run_note(run,
        "It names the metric, its source and the error. The dashboard's page /sources shows the "
        "same, with the time of the last answer.");
    run_heading(run, "The cause");
    run_say(run,
        "Prometheus does not answer, the last values are older than maxAge, and the policy has "
        "onMissing: reject.");
    run_heading(run, "The fix");
    run_tell(run, "Prometheus comes back");
    if (run->status == 0 && mock_server_resume(mock_metrics_server(run->env.metrics)) < 0)
        run->status = RUN_FAILED;
    run_await(run, "the load was measured again", is_fresh, NULL);
    run_retry(run);
    run_show(run);
    run_expect(run, !str_is_empty(run->placement.node), "the pod still found no node");
    run_say(
        run, "The pod is placed. If a pending pod is worse than a busy node: onMissing: allow.");
}

const Scenario scenario_stale_metrics = {
    .name = "stale-metrics",
    .question = "Pods were placed a moment ago. Why is every node \"too busy\" all of a sudden?",
    .policy =
#include "scenario-stale-metrics.inc"
        ,
    .n_nodes = 20,
    .seed = 1,
    .workload = "api",
    .build = build,
    .show = show,
    .suggest = suggest,
    .solve = solve,
};
