/* Tests which filters count pods, and with which binding their counts are exact. */

#include "policy/exactness.h"

#include "base/test-assert.h"
#include "policy/program.h"
#include "policy/test-scene.h"

/* One filter of each kind, and expressions. Rules named "no-…" do not count pods. */
static const char kinds[] =
    "policy:\n"
    "  metrics: [{name: load, resourceMetrics: cpu}]\n"
    "  variables: [{name: left, expression: node.free.cpu}]\n"
    "  filters:\n"
    "    - {name: no-labels, nodeLabels: {a: b}, reason: r}\n"
    "    - {name: no-annotations, nodeAnnotations: {a: b}, reason: r}\n"
    "    - {name: no-ready, nodeReady: true, reason: r}\n"
    "    - {name: no-conditions, nodeConditions: {DiskPressure: 'False'}, reason: r}\n"
    "    - {name: no-tolerated, tolerations: true, reason: r}\n"
    "    - {name: no-draining, noTaints: [a], reason: r}\n"
    "    - {name: no-pools, dedicated: {key: a}, reason: r}\n"
    "    - {name: no-settled, nodeAge: {min: 2m}, reason: r}\n"
    "    - {name: no-cache, podAffinity: {sameOwner: true}, reason: r}\n"
    "    - {name: no-load, metricLimit: {metric: load, max: 0.8}, onMissing: allow, reason: r}\n"
    "    - {name: no-size, expression: node.allocatable.cpu > pod.requests.cpu, reason: r}\n"
    "    - {name: room, headroom: {cpu: 500m}, reason: r}\n"
    "    - {name: spare, poolHeadroom: {nodeLabels: {a: b}, nodes: 1}, reason: r}\n"
    "    - {name: seats, maxPods: 4, reason: r}\n"
    "    - {name: zone, maxPods: {limit: 4, topologyKey: zone}, reason: r, unresolvable: true}\n"
    "    - {name: fresh, maxFreshPods: {limit: 2, youngerThan: 2m}, reason: r}\n"
    "    - {name: apart, podAntiAffinity: {sameOwner: true}, reason: r}\n"
    "    - {name: even, topologySpread: {topologyKey: zone, maxSkew: 1, sameOwner: true}, reason: "
    "r}\n"
    "    - {name: free, expression: variables.left > 1.0, reason: r}\n"
    "    - {name: pods, expression: node.pods.size() < 4, reason: r}\n";

static void test_finds_rules_that_count_pods(void **state) {
    TestScene scene;

    (void)state;
    scene_init_text(&scene, kinds);
    assert_int_equal(scene.program->n_filters, n_filter_kinds + 4); /* every kind is tested */
    for (size_t i = 0; i < scene.program->n_filters; i++) {
        const Filter *filter = scene.program->filters[i];
        Exactness want = str_has_prefix(filter->name, STR("no-")) ? EXACT_NOTHING : EXACT_NOT;

        assert_case(filter->name.ptr, exactness_of(filter, BIND_BY_SCHEDULER) == want);
    }
    scene_done(&scene);
}

static const struct {
    const char *name;
    bool counts, observes, publishes;
    uint32_t narrow_to;
    BindWiring bind;
    Exactness want;
} cases[] = {
    {"filter only", true, false, false, 0, BIND_BY_SCHEDULER, EXACT_NOT},
    {"narrow to several", true, false, false, 2, BIND_BY_SCHEDULER, EXACT_NOT},
    {"narrow to 1", true, false, false, 1, BIND_BY_SCHEDULER, EXACT_BY_NARROW},
    {"bind", true, false, false, 0, BIND_BY_BERTH, EXACT_BY_BIND},
    {"bind, narrow to 1", true, false, false, 1, BIND_BY_BERTH, EXACT_BY_BIND},
    {"not known", true, false, false, 0, BIND_UNKNOWN, EXACT_IF_BOUND},
    {"not known, narrow to several", true, false, false, 100, BIND_UNKNOWN, EXACT_IF_BOUND},
    {"not known, narrow to 1", true, false, false, 1, BIND_UNKNOWN, EXACT_BY_NARROW},
    {"counts nothing", false, false, false, 0, BIND_BY_SCHEDULER, EXACT_NOTHING},
    {"counts nothing, bind", false, false, false, 0, BIND_BY_BERTH, EXACT_NOTHING},
    {"only observes", true, true, false, 0, BIND_BY_SCHEDULER, EXACT_NOTHING},
    {"slots", true, false, true, 0, BIND_BY_SCHEDULER, EXACT_IF_SLOTS},
    {"slots, not known", true, false, true, 0, BIND_UNKNOWN, EXACT_IF_SLOTS},
    {"slots, narrow to 1", true, false, true, 1, BIND_BY_SCHEDULER, EXACT_BY_NARROW},
    {"slots, bind", true, false, true, 0, BIND_BY_BERTH, EXACT_BY_BIND},
};

static void test_exactness_depends_on_the_binding(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Policy policy = {.is_observed = cases[i].observes, .narrow_to = cases[i].narrow_to};
        SlotRule slots = {0};
        Filter filter = {.policy = &policy,
            .counts_pods = cases[i].counts,
            .slots = cases[i].publishes ? &slots : NULL};
        Exactness got = exactness_of(&filter, cases[i].bind);

        assert_case(cases[i].name, got == cases[i].want);
        assert_case(cases[i].name, !exactness_text(got) == (got == EXACT_NOTHING));
        if (got != EXACT_NOTHING)
            assert_case(cases[i].name, strlen(exactness_text(got)) <= 90);
    }
}

/* Pods need no guess if their policy is exact already or if they request their slot. */
static void test_guesses_are_for_inexact_counts(void **state) {
    static Resource slot = {STR("berth.dev/slots.p"), 1};
    const Pod bare = {0}, requests = {.requests = {.items = &slot, .n = 1}};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Policy policy = {
            .is_observed = cases[i].observes, .narrow_to = cases[i].narrow_to, .n_filters = 1};
        SlotRule slots = {.resource = slot.name};
        Filter filter = {.policy = &policy,
            .counts_pods = cases[i].counts,
            .slots = cases[i].publishes ? &slots : NULL};
        Exactness exactness = exactness_of(&filter, BIND_BY_SCHEDULER);

        policy.filters = &filter;
        assert_case(cases[i].name, exactness_wants_guess(&policy, &bare) ==
                                       (exactness == EXACT_NOT || exactness == EXACT_IF_SLOTS));
        assert_case(
            cases[i].name, exactness_wants_guess(&policy, &requests) == (exactness == EXACT_NOT));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_rules_that_count_pods),
        cmocka_unit_test(test_exactness_depends_on_the_binding),
        cmocka_unit_test(test_guesses_are_for_inexact_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
