#include "api/policies-summary.h"

#include <math.h>

#include "api/test-api-fixture.h"

#define NO_END (INT64_MAX / 2)

/* A fixture with a decision history. */
static void open_fixture(ApiFixture *fixture, const char *text) {
    api_fixture_init(fixture, text);
    fixture->api.decisions = decisions_new(100, FIXTURE_HISTORY_BYTES);
}

/* note() filters @pod, with label app=@app, over @nodes. */
#define GPU "{\"containers\":[{\"resources\":{\"requests\":{\"nvidia.com/gpu\":\"1\"}}}]}"

static void ask_for(ApiFixture *fixture, const char *pod, const char *app, const char *nodes,
    const char *spec, int64_t at_nsec) {
    _cleanup_(arena_freep) Arena *arena = arena_new(FIXTURE_BUDGET);
    Str body = arena_printf(arena,
        "{\"Pod\":{\"metadata\":{\"namespace\":\"default\",\"name\":\"%s\",\"uid\":\"uid-%s\","
        "\"labels\":{\"app\":\"%s\"}},\"spec\":%s},\"NodeNames\":[%s]}",
        pod, pod, app, spec, nodes);
    Answer answer;

    extender_filter(fixture->base.view, /* time= */ NULL, body, arena, &answer);
    metrics_note_decision(
        fixture->api.metrics, VERB_FILTER, fixture->base.view->program, &answer.decision, at_nsec);
    decisions_note(fixture->api.decisions, fixture->base.view, VERB_FILTER, &answer.decision,
        (PastTimes){.at_nsec = at_nsec, .duration_nsec = -1});
}

static void ask(
    ApiFixture *fixture, const char *pod, const char *app, const char *nodes, int64_t at_nsec) {
    ask_for(fixture, pod, app, nodes, "{}", at_nsec);
}

static const PolicySummary *find(const PoliciesSummary *summary, const char *name) {
    for (size_t i = 0; i < summary->n; i++)
        if (str_is(summary->policies[i].name, name))
            return &summary->policies[i];
    fail_msg("no policy %s", name);
    return NULL;
}

static const RuleSummary *find_rule(const PolicySummary *policy, const char *name) {
    for (size_t i = 0; i < policy->n_rules; i++)
        if (str_is(policy->rules[i].name, name))
            return &policy->rules[i];
    fail_msg("no rule %s", name);
    return NULL;
}

/* n1 fails two policies; n2 only zones, by one rule; n3 only zones, by two rules; n4 only a policy
 * in mode Observe. */
static const char scene_text[] =
    "policies:\n"
    "  zones:\n"
    "    filters:\n"
    "      - {name: zone, nodeLabels: {zone: a}, reason: wrong zone}\n"
    "      - {name: area, nodeLabels: {area: x}, reason: wrong area}\n"
    "    scores: [{name: near, expression: '50.0', weight: 3}]\n"
    "  disks:\n"
    "    filters:\n"
    "      - {name: disk, nodeLabels: {disk: ssd}, reason: slow disk}\n"
    "  evaluation:\n"
    "    mode: Observe\n"
    "    filters: [{name: none, expression: 'false', reason: never}]\n"
    "  others:\n"
    "    match: {podSelector: {matchLabels: {app: other}}}\n"
    "    filters: [{name: none, expression: 'false', reason: never}]\n"
    "nodes:\n"
    "  n1: {labels: {zone: b, area: x, disk: hdd}}\n"
    "  n2: {labels: {zone: b, area: x, disk: ssd}}\n"
    "  n3: {labels: {zone: b, area: y, disk: ssd}}\n"
    "  n4: {labels: {zone: a, area: x, disk: ssd}}\n";

typedef struct Blockers {
    size_t zones, zone, area, disks, evaluation;
} Blockers;

static void test_finds_only_blockers(void **state) {
    static const struct {
        const char *nodes;
        Blockers want;
        size_t waiting;
    } cases[] = {
        {"\"n1\"", {0}, 1},                     /* two policies: neither is the only blocker */
        {"\"n2\"", {.zones = 1, .zone = 1}, 1}, /* one rule */
        {"\"n3\"", {.zones = 1}, 1},            /* one policy, two rules */
        {"\"n1\",\"n2\"", {.zones = 1, .zone = 1}, 1}, /* one such node is enough */
        {"\"n4\"", {0}, 0},                            /* passes */
        {"\"gone\"", {0}, 1},                          /* the node no longer exists */
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        PoliciesSummary summary;
        ApiFixture fixture;

        open_fixture(&fixture, scene_text);
        ask(&fixture, "a", "web", cases[i].nodes, 1000);
        assert_int_equal(
            policies_summary_make(&fixture.api, NO_END, fixture.base.arena, &summary), 0);
        assert_true(summary.is_whole);
        assert_case(cases[i].nodes, summary.n_waiting == cases[i].waiting);
        assert_case(cases[i].nodes, summary.n_looked_at == cases[i].waiting);
        assert_case(cases[i].nodes, find(&summary, "zones")->n_only_blocker == cases[i].want.zones);
        assert_case(cases[i].nodes,
            find_rule(find(&summary, "zones"), "zone")->n_only_blocker == cases[i].want.zone);
        assert_case(cases[i].nodes,
            find_rule(find(&summary, "zones"), "area")->n_only_blocker == cases[i].want.area);
        assert_case(cases[i].nodes, find(&summary, "disks")->n_only_blocker == cases[i].want.disks);
        assert_case(cases[i].nodes, find(&summary, "evaluation")->n_only_blocker == 0);
        assert_case(cases[i].nodes, find(&summary, "others")->n_only_blocker == 0);
        api_fixture_done(&fixture);
    }
}

/* A node that does not offer a requested resource, or has none left, takes no pod. */
static void test_only_blocker_with_room(void **state) {
    static const char text[] = "policies:\n"
                               "  gpu:\n"
                               "    filters:\n"
                               "      - {name: pool, nodeLabels: {pool: gpu}, reason: other pool}\n"
                               "nodes:\n"
                               "  none: {allocatable: {cpu: 8}}\n"
                               "  used: {allocatable: {cpu: 8, nvidia.com/gpu: 1}}\n"
                               "  free: {allocatable: {cpu: 8, nvidia.com/gpu: 1}}\n"
                               "pods: [{on: used, requests: {nvidia.com/gpu: 1}}]\n";
    static const struct {
        const char *nodes;
        size_t want;
    } cases[] = {
        {"\"none\"", 0}, {"\"used\"", 0}, {"\"none\",\"used\"", 0}, {"\"none\",\"free\"", 1}};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        PoliciesSummary summary;
        ApiFixture fixture;

        open_fixture(&fixture, text);
        ask_for(&fixture, "a", "web", cases[i].nodes, GPU, 1000);
        assert_int_equal(
            policies_summary_make(&fixture.api, NO_END, fixture.base.arena, &summary), 0);
        assert_int_equal(summary.n_waiting, 1);
        assert_case(cases[i].nodes, find(&summary, "gpu")->n_only_blocker == cases[i].want);
        api_fixture_done(&fixture);
    }
}

/* Several pods, each counted once; and a policy that applies to one of them. */
static void test_counts_each_pod_once(void **state) {
    PoliciesSummary summary;
    ApiFixture fixture;

    (void)state;
    open_fixture(&fixture, scene_text);
    ask(&fixture, "a", "web", "\"n2\",\"n3\"", 1000);
    ask(&fixture, "b", "web", "\"n2\"", 2000);
    ask(&fixture, "b", "web", "\"n2\"", 3000);
    ask(&fixture, "c", "other", "\"n4\"", 4000);
    ask(&fixture, "d", "web", "\"n4\"", 5000);
    assert_int_equal(policies_summary_make(&fixture.api, NO_END, fixture.base.arena, &summary), 0);
    assert_int_equal(summary.n_waiting, 3);
    assert_int_equal(find(&summary, "zones")->n_only_blocker, 2);
    assert_int_equal(find(&summary, "others")->n_only_blocker, 1);
    assert_int_equal(find(&summary, "zones")->n_matched, 5);
    assert_int_equal(find(&summary, "others")->n_matched, 1);
    assert_int_equal(find(&summary, "others")->n_rejected_all, 1);
    assert_int_equal(find(&summary, "zones")->n_rejected, 4);
    assert_int_equal(find(&summary, "evaluation")->n_rejected, 6); /* in mode Observe */
    assert_int_equal(find(&summary, "zones")->matched_nsec, 5000);
    assert_int_equal(find(&summary, "others")->matched_nsec, 4000);
    api_fixture_done(&fixture);
}

static void test_summarizes_rules(void **state) {
    const PolicySummary *zones;
    PoliciesSummary summary;
    ApiFixture fixture;

    (void)state;
    open_fixture(&fixture, scene_text);
    assert_int_equal(policies_summary_make(&fixture.api, NO_END, fixture.base.arena, &summary), 0);
    zones = find(&summary, "zones");
    assert_int_equal(zones->n_rules, 3);
    assert_true(isnan(zones->cost_nsec)); /* no node was evaluated */
    assert_int_equal(zones->matched_nsec, 0);
    assert_text("kind", find_rule(zones, "zone")->kind, "nodeLabels");
    assert_text("reason", find_rule(zones, "zone")->reason, "wrong zone");
    assert_text("kind", find_rule(zones, "near")->kind, "expression");
    assert_false(find_rule(zones, "near")->is_filter);
    assert_true(find_rule(zones, "near")->weight == 3);
    assert_true(find(&summary, "evaluation")->is_observed);
    ask(&fixture, "a", "web", "\"n1\"", 1000);
    assert_int_equal(policies_summary_make(&fixture.api, NO_END, fixture.base.arena, &summary), 0);
    zones = find(&summary, "zones");
    assert_true(zones->cost_nsec >= 0);
    assert_true(find_rule(zones, "near")->cost_nsec >= 0);
    assert_true(isnan(find(&summary, "others")->cost_nsec)); /* does not apply to that pod */
    assert_int_equal(find_rule(zones, "zone")->n_rejected, 1);
    api_fixture_done(&fixture);
}

static void test_leaves_out_the_rest_without_time(void **state) {
    PoliciesSummary summary;
    ApiFixture fixture;

    (void)state;
    open_fixture(&fixture, scene_text);
    ask(&fixture, "a", "web", "\"n2\"", 1000);
    assert_int_equal(
        policies_summary_make(&fixture.api, /* cpu_nsec= */ -1, fixture.base.arena, &summary), 0);
    assert_false(summary.is_whole);
    assert_int_equal(summary.n_waiting, 1);
    assert_int_equal(summary.n_looked_at, 0);
    assert_int_equal(find(&summary, "zones")->n_only_blocker, 0);
    assert_int_equal(find(&summary, "zones")->n_matched, 1); /* but with counters */
    api_fixture_done(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_only_blockers),
        cmocka_unit_test(test_only_blocker_with_room),
        cmocka_unit_test(test_counts_each_pod_once),
        cmocka_unit_test(test_summarizes_rules),
        cmocka_unit_test(test_leaves_out_the_rest_without_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
