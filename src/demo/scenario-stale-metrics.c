/*
 * Whoever measures the load stops answering. After maxAge its numbers are absent, and the rule is
 * one of the careful: onMissing: reject.
 */

#include "demo/scenario.h"

static const char policy[] =
#include "scenario-stale-metrics.inc"
    ;

/* Some node has a value, or none has. */
static bool is_fresh(const View *view, const void *context) {
    (void)context;
    for (uint32_t row = 0; view->table->loads && row < view->table->n_rows; row++)
        if (loads_value(view->table->loads, 0, LOAD_MEASURED, row) >= 0)
            return true;
    return false;
}

static bool is_stale(const View *view, const void *context) {
    return !is_fresh(view, context);
}

static void build(Play *play) {
    const Workload *api = workload_named("api");
    Placement placement;

    play_await(play, "the load was measured", is_fresh, NULL);
    play_place(play, api, &placement);
    play_place(play, api, &placement);
    play_reveal(play, "the Prometheus at %s goes away", meter_url(play->rig.meter));
    if (play->status == 0)
        meter_stop(play->rig.meter);
    play_place(play, api, &placement);
    play_await(play, "the last numbers were too old", is_stale, NULL);
    play_tell(play, "two seconds later");
    play_place(play, api, &placement);
    play_choose_pod(play, &placement);
    play_place(play, api, &placement);
    play_expect(play, str_is_empty(placement.node), "the pod found a node");
}

static void show(Play *play) {
    Placement placement;

    play_retry(play, &placement);
    play_describe(play, &placement);
    play_say(play, "A few seconds ago pods like it found a node. Nobody has changed anything.");
}

static void suggest(Play *play) {
    play_suggest(play, WORDS("explain", "--last", play->pod_name, "--server", play_url(play)));
    play_suggest(play, WORDS("check", "--live", "--only", "policies", "--server", play_url(play)));
    play_say(play, "curl -s %s/api/v1/sources", play_url(play));
}

static void solve(Play *play) {
    Placement placement;

    play_heading(play, "How to find out");
    play_run(play, WORDS("explain", "--last", play->pod_name, "--server", play_url(play)));
    play_note(play,
        "The reason says \"too busy\", but the last line says what it is about: the rule had no "
        "metric to read, and its onMissing decided.");
    play_run(play, WORDS("check", "--live", "--only", "B505,B506", "--server", play_url(play)));
    play_note(play,
        "Which metric, who should answer, and what it says instead. The dashboard's page /sources "
        "shows the same, with the time of the last answer.");
    play_heading(play, "The cause");
    play_say(play,
        "Prometheus does not answer, the last values are older than maxAge, and the policy says "
        "onMissing: reject. berth does what it was told.");
    play_heading(play, "The remedy");
    play_tell(play, "Prometheus comes back");
    if (play->status == 0 && meter_resume(play->rig.meter) < 0)
        play->status = PLAY_UNSOLVED;
    play_await(play, "the load was measured again", is_fresh, NULL);
    play_retry(play, &placement);
    play_show(play, &placement);
    play_expect(play, !str_is_empty(placement.node), "the pod still found no node");
    play_say(play, "The pod is placed. Where waiting is worse than a busy node: onMissing: allow.");
}

const Scenario scenario_stale_metrics = {
    .name = "stale-metrics",
    .question = "Pods were placed a moment ago. Why is every node \"too busy\" all of a sudden?",
    .policy = policy,
    .n_nodes = 20,
    .seed = 1,
    .visitor = "api",
    .build = build,
    .show = show,
    .suggest = suggest,
    .solve = solve,
};
