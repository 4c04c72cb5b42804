#include "live/wakeup.h"

#include <stdio.h>

#include "base/nsec.h"
#include "base/test-assert.h"
#include "cluster/store.h"
#include "policy/test-scene.h"

/* A changing cluster, and the nodes touched because of it. */
typedef struct Fixture {
    Store *store;
    TestScene scene; /* for its program */
    View *view;
    RecentPods *recent;
    Wakeup wakeup;
    char touched[4096];
} Fixture;

static void note_touch(void *context, Str node) {
    Fixture *fixture = context;
    size_t len = strlen(fixture->touched);

    (void)snprintf(fixture->touched + len, sizeof(fixture->touched) - len, "%s%.*s", len ? " " : "",
        STR_FMT(node));
}

/* A filter rejects the only node for pod @uid. */
static void reject(Fixture *fixture, const char *uid, int64_t now_nsec) {
    FilterArgs args = {.n = 1};
    const Decision decision = {.pod_uid = str_from_c(uid), .summary.n_in = 1, .args = &args};

    recent_pods_note(fixture->recent, /* view= */ NULL, VERB_FILTER, &decision, now_nsec, now_nsec);
}

static void fixture_init(Fixture *fixture, const char *policy) {
    *fixture =
        (Fixture){.store = store_new(), .recent = recent_pods_new(&(RecentPodsOptions){.max = 16})};
    fixture->wakeup = (Wakeup){.recent = fixture->recent};
    scene_init_text(&fixture->scene, policy);
    assert_int_equal(view_new(&(ViewParts){.program = fixture->scene.program}, /* before= */ NULL,
                         &fixture->view),
        0);
}

static void fixture_done(Fixture *fixture) {
    view_unref(fixture->view);
    scene_done(&fixture->scene);
    store_free(fixture->store);
    recent_pods_free(fixture->recent);
}

/* Publishes a snapshot, and returns the touched nodes. */
static const char *publish(Fixture *fixture, Program *program, int64_t sec) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    View *after = NULL;

    assert_int_equal(store_publish(fixture->store, &snapshot), 0);
    assert_int_equal(
        view_new(&(ViewParts){.snapshot = snapshot, .program = program}, fixture->view, &after), 0);
    fixture->touched[0] = '\0';
    wakeup_note_view(
        &fixture->wakeup, fixture->view, after, sec * NSEC_PER_SEC, note_touch, fixture);
    view_unref(fixture->view);
    fixture->view = after;
    return fixture->touched;
}

static void set_node(Fixture *fixture, const char *name, bool is_ready) {
    Node node = {.name = str_from_c(name), .is_ready = is_ready};

    assert_int_equal(store_apply_node(fixture->store, &node), 0);
}

static void set_pod(Fixture *fixture, const char *name, const char *node) {
    Pod pod = {.name = str_from_c(name), .uid = str_from_c(name), .node_name = str_from_c(node)};

    assert_true(store_apply_pod(fixture->store, &pod) >= 0);
}

static const char ready_and_capped[] = "policy:\n"
                                       "  filters:\n"
                                       "    - {name: ready, nodeReady: true}\n"
                                       "    - {name: cap, maxPods: 1}\n";

static void test_touches_node_that_starts_to_pass(void **state) {
    Fixture fixture;

    (void)state;
    fixture_init(&fixture, ready_and_capped);
    set_node(&fixture, "a", false);
    set_node(&fixture, "b", true);
    assert_string_equal(publish(&fixture, fixture.scene.program, 100), ""); /* the first view */
    set_node(&fixture, "a", true);
    assert_string_equal(publish(&fixture, fixture.scene.program, 101), "a");
    set_pod(&fixture, "p", "b");
    assert_string_equal(
        publish(&fixture, fixture.scene.program, 102), ""); /* it starts to reject: no touch */
    store_remove_pod(fixture.store, STR_NULL, STR("p"), STR_NULL);
    assert_string_equal(publish(&fixture, fixture.scene.program, 103), "b");
    set_node(&fixture, "new", true);
    assert_string_equal(publish(&fixture, fixture.scene.program, 104),
        ""); /* kube-scheduler sees the new node by itself */
    assert_string_equal(publish(&fixture, fixture.scene.program, 105), "");
    fixture_done(&fixture);
}

/* For rules that also read the pod, the parts that read only the node can change. */
static void test_touches_node_when_a_part_of_a_rule_changes(void **state) {
    static const struct {
        const char *rule, *touched;
    } cases[] = {
        {"expression: \"pod.metadata.namespace == 'x' || node.pods.size() < 1\"", "a"},
        {"expression: \"node.pods.size() < 1 || pod.metadata.namespace == 'x'\"", "a"},
        {"expression: \"pod.spec.priority > 0 && (pod.metadata.namespace == 'x' || "
         "node.pods.size() < 1)\"",
            "a"},
        {"maxPods: {limit: 1, podSelector: {}}", "a"},
        {"expression: \"pod.metadata.namespace == 'x' || node.pods.size() < 2\"", ""},
        {"expression: \"node.pods.size() < pod.spec.priority\"",
            ""}, /* no part reads only the node */
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char policy[256];
        Fixture fixture;

        (void)snprintf(
            policy, sizeof(policy), "policy: {filters: [{name: r, %s}]}\n", cases[i].rule);
        fixture_init(&fixture, policy);
        set_node(&fixture, "a", true);
        set_pod(&fixture, "p", "a");
        (void)publish(&fixture, fixture.scene.program, 100);
        store_remove_pod(fixture.store, STR_NULL, STR("p"), STR_NULL);
        assert_text(cases[i].rule, str_from_c(publish(&fixture, fixture.scene.program, 101)),
            cases[i].touched);
        fixture_done(&fixture);
    }
}

static void test_ignores_rules_in_observe_mode(void **state) {
    Fixture fixture;

    (void)state;
    fixture_init(&fixture, "policy: {mode: Observe, filters: [{name: ready, nodeReady: true}]}\n");
    set_node(&fixture, "a", false);
    (void)publish(&fixture, fixture.scene.program, 100);
    set_node(&fixture, "a", true);
    assert_string_equal(publish(&fixture, fixture.scene.program, 101), "");
    fixture_done(&fixture);
}

static void test_limits_touches_of_a_flapping_node(void **state) {
    Fixture fixture;

    (void)state;
    fixture_init(&fixture, ready_and_capped);
    set_node(&fixture, "a", true);
    for (int64_t sec = 100; sec < 100 + 3 * WAKEUP_NODE_SEC; sec++) {
        set_node(&fixture, "a", false);
        assert_string_equal(publish(&fixture, fixture.scene.program, sec), "");
        set_node(&fixture, "a", true);
        assert_string_equal(publish(&fixture, fixture.scene.program, sec),
            (sec - 100) % WAKEUP_NODE_SEC ? "" : "a");
    }
    fixture_done(&fixture);
}

/* A touch that came too soon is made later, when the node's interval is over. */
static void test_delayed_touch_is_made_later(void **state) {
    Fixture fixture;

    (void)state;
    fixture_init(&fixture, ready_and_capped);
    set_node(&fixture, "a", true);
    (void)publish(&fixture, fixture.scene.program, 99);
    for (int64_t sec = 100; sec < 102; sec++) {
        set_node(&fixture, "a", false);
        (void)publish(&fixture, fixture.scene.program, sec);
        set_node(&fixture, "a", true);
        (void)publish(&fixture, fixture.scene.program, sec);
    }
    fixture.touched[0] = '\0';
    for (int64_t sec = 102; sec < 130; sec++) {
        assert_string_equal(fixture.touched, sec <= 100 + WAKEUP_NODE_SEC ? "" : "a");
        wakeup_tick(&fixture.wakeup, sec * NSEC_PER_SEC, note_touch, &fixture);
    }
    fixture_done(&fixture);
}

/* Node a becomes unready and ready again. */
static const char *flap(Fixture *fixture, int64_t sec) {
    set_node(fixture, "a", false);
    (void)publish(fixture, fixture->scene.program, sec);
    set_node(fixture, "a", true);
    return publish(fixture, fixture->scene.program, sec);
}

/* After a start berth assumes that pods are parked; here that time is over. */
static void test_touches_nothing_without_parked_pods(void **state) {
    const int64_t late = 2 * RECENT_PODS_PARKED_SEC;
    Fixture fixture;
    TestScene other;

    (void)state;
    fixture_init(&fixture, ready_and_capped);
    scene_init_text(&other, ready_and_capped);
    set_node(&fixture, "a", true);
    (void)publish(&fixture, fixture.scene.program, late);
    for (int64_t sec = late; sec < late + 100; sec++)
        assert_string_equal(flap(&fixture, sec), "");
    assert_string_equal(publish(&fixture, other.program, late + 100), "");
    (void)publish(&fixture, fixture.scene.program, late + 101);

    reject(&fixture, "p", (late + 102) * NSEC_PER_SEC);
    wakeup_tick(&fixture.wakeup, (late + 103) * NSEC_PER_SEC, note_touch, &fixture);
    assert_string_equal(fixture.touched, ""); /* the rejection is newer than the change */
    assert_string_equal(flap(&fixture, late + 103), "a");
    scene_done(&other);
    fixture_done(&fixture);
}

/* The parked pod is bound before the delayed touch. */
static void test_drops_delayed_touch_when_pod_is_bound(void **state) {
    const int64_t late = 2 * RECENT_PODS_PARKED_SEC;
    Fixture fixture;

    (void)state;
    fixture_init(&fixture, ready_and_capped);
    set_node(&fixture, "a", true);
    (void)publish(&fixture, fixture.scene.program, late);
    reject(&fixture, "p", late * NSEC_PER_SEC);
    assert_string_equal(flap(&fixture, late), "a");
    assert_string_equal(flap(&fixture, late + 1), ""); /* too soon: delayed */
    recent_pods_note_end(fixture.recent, STR("p"), STR_NULL, STR_NULL, /* is_deleted= */ false);
    wakeup_tick(&fixture.wakeup, (late + 2) * NSEC_PER_SEC, note_touch, &fixture);
    reject(&fixture, "q", (late + 3) * NSEC_PER_SEC);
    for (int64_t sec = late + 3; sec < late + 30; sec++)
        wakeup_tick(&fixture.wakeup, sec * NSEC_PER_SEC, note_touch, &fixture);
    assert_string_equal(fixture.touched, "");
    fixture_done(&fixture);
}

static unsigned count_words(const char *text) {
    unsigned n = *text != '\0';

    for (; *text; text++)
        n += *text == ' ';
    return n;
}

static void test_limits_touches_per_second(void **state) {
    Fixture fixture;
    char name[16];

    (void)state;
    fixture_init(&fixture, ready_and_capped);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 200; i++) {
            (void)snprintf(name, sizeof(name), "n%u", i);
            set_node(&fixture, name, round == 1);
        }
        assert_int_equal(
            count_words(publish(&fixture, fixture.scene.program, 100)), round ? WAKEUP_BURST : 0);
    }
    /* A second later a few more are allowed. */
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 100; i < 200; i++) {
            (void)snprintf(name, sizeof(name), "n%u", i);
            set_node(&fixture, name, round == 1);
        }
        assert_int_equal(
            count_words(publish(&fixture, fixture.scene.program, 101)), round ? WAKEUP_PER_SEC : 0);
    }
    fixture_done(&fixture);
}

static void test_new_policies_touch_one_node(void **state) {
    Fixture fixture;
    TestScene other;

    (void)state;
    fixture_init(&fixture, ready_and_capped);
    scene_init_text(&other, ready_and_capped);
    set_node(&fixture, "down", false);
    set_node(&fixture, "up", true);
    (void)publish(&fixture, fixture.scene.program, 100);
    assert_string_equal(publish(&fixture, other.program, 101), "up"); /* one node for all rules */
    scene_done(&other);
    fixture_done(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_touches_node_that_starts_to_pass),
        cmocka_unit_test(test_touches_node_when_a_part_of_a_rule_changes),
        cmocka_unit_test(test_ignores_rules_in_observe_mode),
        cmocka_unit_test(test_limits_touches_of_a_flapping_node),
        cmocka_unit_test(test_delayed_touch_is_made_later),
        cmocka_unit_test(test_touches_nothing_without_parked_pods),
        cmocka_unit_test(test_drops_delayed_touch_when_pod_is_bound),
        cmocka_unit_test(test_limits_touches_per_second),
        cmocka_unit_test(test_new_policies_touch_one_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
