#include "live/publisher.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/nsec.h"
#include "base/test-assert.h"
#include "cluster/store.h"
#include "policy/test-scene.h"

/* A changing cluster, and the writes to publish it. */
typedef struct Fixture {
    Store *store;
    TestScene scene; /* for its program */
    View *view;
    Publisher publisher;
    bool is_deaf; /* writes are refused */
    char written[4096];
} Fixture;

static bool note_write(void *context, const PublishChange *change) {
    Fixture *fixture = context;
    size_t len = strlen(fixture->written);
    size_t prefix = strlen(change->target == PUBLISH_TO_LABELS ? "closed.berth." : SLOTS_PREFIX);

    if (fixture->is_deaf)
        return false;
    (void)snprintf(fixture->written + len, sizeof(fixture->written) - len, "%s%.*s %.*s=%" PRId64,
        len ? ", " : "", STR_FMT(change->node), STR_FMT(str_skip(change->name, prefix)), change->n);
    return true;
}

static const char limited[] = "policy:\n"
                              "  filters:\n"
                              "    - name: cap\n"
                              "      maxPods: {limit: 4, podSelector: {matchLabels: {app: web}}}\n"
                              "      publish: slots\n";

static void fixture_init(Fixture *fixture, const char *policy) {
    *fixture = (Fixture){.store = store_new()};
    scene_init_text(&fixture->scene, policy);
}

static void fixture_done(Fixture *fixture) {
    publisher_reset(&fixture->publisher);
    view_unref(fixture->view);
    scene_done(&fixture->scene);
    store_free(fixture->store);
}

static const char *run(Fixture *fixture, int64_t msec) {
    fixture->written[0] = '\0';
    publisher_run(&fixture->publisher, fixture->view, msec * NSEC_PER_MSEC, note_write, fixture);
    return fixture->written;
}

/* Publishes a snapshot, and returns what was written. */
static const char *publish(Fixture *fixture, int64_t msec) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    View *after = NULL;

    assert_int_equal(store_publish(fixture->store, &snapshot), 0);
    assert_int_equal(view_new(&(ViewParts){.snapshot = snapshot, .program = fixture->scene.program},
                         fixture->view, &after),
        0);
    view_unref(fixture->view);
    fixture->view = after;
    return run(fixture, msec);
}

static void set_node(Fixture *fixture, const char *name, const char *policy, int64_t slots) {
    char resource[64];
    Resource item = {.amount = slots};
    Node node = {
        .name = str_from_c(name), .is_ready = true, .allocatable = {.items = &item, .n = 1}};

    (void)snprintf(resource, sizeof(resource), SLOTS_PREFIX "%s", policy);
    item.name = str_from_c(resource);
    assert_int_equal(store_apply_node(fixture->store, &node), 0);
}

/* @slots: the number that it requests. */
static void set_pod(
    Fixture *fixture, const char *name, const char *app, const char *node, int64_t slots) {
    Label label = {STR("app"), str_from_c(app)};
    Resource item = {.name = STR(SLOTS_PREFIX "policy"), .amount = slots};
    Pod pod = {.name = str_from_c(name),
        .uid = str_from_c(name),
        .node_name = str_from_c(node),
        .labels = {.items = &label, .n = 1},
        .requests = {.items = &item, .n = slots > 0}};

    assert_true(store_apply_pod(fixture->store, &pod) >= 0);
}

static void test_offers_the_limit(void **state) {
    Fixture fixture;

    (void)state;
    fixture_init(&fixture, limited);
    set_node(&fixture, "a", "policy", 0);
    assert_string_equal(publish(&fixture, 5000), ""); /* more slots: a second later */
    assert_string_equal(run(&fixture, 5999), "");
    assert_string_equal(run(&fixture, 6000), "a policy=4");
    assert_string_equal(run(&fixture, 6001), "");
    assert_int_equal(fixture.publisher.figures.n_different, 1);
    assert_int_equal(fixture.publisher.figures.oldest_nsec, 5000 * NSEC_PER_MSEC);
    set_node(&fixture, "a", "policy", 4);
    assert_string_equal(publish(&fixture, 6010), "");
    assert_int_equal(fixture.publisher.figures.n_different, 0);
    assert_string_equal(run(&fixture, 99000), "");
    fixture_done(&fixture);
}

static void test_pods_without_the_request_take_slots(void **state) {
    Fixture fixture;

    (void)state;
    fixture_init(&fixture, limited);
    set_node(&fixture, "a", "policy", 4);
    set_pod(&fixture, "asks", "web", "a", 1); /* kube-scheduler counts it */
    set_pod(&fixture, "other", "db", "a", 0); /* the rule does not count it */
    assert_string_equal(publish(&fixture, 5000), "");
    set_pod(&fixture, "old", "web", "a", 0);
    assert_string_equal(publish(&fixture, 5001), "a policy=3"); /* fewer slots: at once */
    set_node(&fixture, "a", "policy", 3);
    assert_string_equal(publish(&fixture, 5002), "");
    store_remove_pod(fixture.store, STR_NULL, STR("old"), STR_NULL);
    assert_string_equal(publish(&fixture, 6000), "");
    set_pod(&fixture, "next", "web", "a", 0); /* the slot was free for less than a second */
    assert_string_equal(publish(&fixture, 6500), "");
    assert_string_equal(run(&fixture, 9000), "");
    for (int i = 0; i < 6; i++) {
        char name[8];

        (void)snprintf(name, sizeof(name), "p%d", i);
        set_pod(&fixture, name, "web", "a", 0);
    }
    assert_string_equal(publish(&fixture, 9001), "a policy=0"); /* never negative */
    fixture_done(&fixture);
}

static void test_corrects_and_repeats(void **state) {
    Fixture fixture;

    (void)state;
    fixture_init(&fixture, limited);
    set_node(&fixture, "a", "policy", 9); /* another client wrote it */
    fixture.is_deaf = true;
    assert_string_equal(publish(&fixture, 5000), "");
    fixture.is_deaf = false;
    assert_string_equal(run(&fixture, 5001), "a policy=4");
    assert_string_equal(run(&fixture, 15000), "");
    assert_string_equal(run(&fixture, 15001), "a policy=4"); /* the watch never showed it */
    set_pod(&fixture, "old", "web", "a", 0);
    assert_string_equal(publish(&fixture, 15002), "a policy=3"); /* a new value: at once */
    fixture_done(&fixture);
}

static void test_removes_what_no_policy_publishes(void **state) {
    Fixture fixture;

    (void)state;
    fixture_init(&fixture, limited);
    set_node(&fixture, "a", "policy", 4);
    set_node(&fixture, "b", "gone", 7);
    assert_string_equal(publish(&fixture, 5000), "b gone=-1");
    assert_string_equal(run(&fixture, 6000), "b policy=4");
    fixture_done(&fixture);

    fixture_init(&fixture,
        "policy:\n  mode: Observe\n  filters:\n    - {name: cap, maxPods: 4, publish: slots}\n");
    set_node(&fixture, "a", "policy", 4);
    assert_string_equal(publish(&fixture, 5000), "a policy=-1");
    fixture_done(&fixture);
}

static void set_labelled(Fixture *fixture, const char *name, bool is_ready, const char *closed) {
    Label label = {closed ? str_from_c(closed) : STR_NULL, STR("true")};
    Node node = {.name = str_from_c(name),
        .is_ready = is_ready,
        .labels = {.items = &label, .n = closed != NULL}};

    assert_int_equal(store_apply_node(fixture->store, &node), 0);
}

static void test_labels_of_rejected_nodes(void **state) {
    Fixture fixture;

    (void)state;
    fixture_init(&fixture, "policy:\n"
                           "  filters:\n"
                           "    - {name: ready, nodeReady: true, publish: label}\n"
                           "    - {name: few, maxPods: 1, publish: label}\n"
                           "    - {name: other, nodeLabels: {pool: x}}\n");
    set_labelled(&fixture, "a", true, NULL);
    set_labelled(&fixture, "b", false, NULL);
    set_labelled(&fixture, "c", true, "closed.berth.dev/gone");
    assert_string_equal(publish(&fixture, 5000), "b dev/policy=0");
    assert_string_equal(run(&fixture, 6000), "c dev/gone=-1");
    set_labelled(&fixture, "b", false, "closed.berth.dev/policy");
    set_labelled(&fixture, "c", true, NULL);
    assert_string_equal(publish(&fixture, 6001), "");
    assert_int_equal(fixture.publisher.figures.n_different, 0);
    set_pod(&fixture, "p", "web", "a", 0);
    assert_string_equal(publish(&fixture, 6002), "a dev/policy=0"); /* full: at once */
    set_labelled(&fixture, "b", true, "closed.berth.dev/policy");
    assert_string_equal(publish(&fixture, 6003), "");
    assert_string_equal(run(&fixture, 7003), "b dev/policy=-1"); /* ready again: after a second */
    fixture_done(&fixture);
}

/* Until a metric has been read, nodes stay open or closed as they are. */
static void test_labels_where_a_metric_is_absent(void **state) {
    Fixture fixture;

    (void)state;
    fixture_init(&fixture,
        "policy:\n"
        "  metrics: [{name: load, prometheus: {query: up}}]\n"
        "  filters:\n"
        "    - {name: cool, metricLimit: {metric: load, max: 1}, publish: label}\n"
        "    - {name: ready, nodeReady: true, publish: label}\n");
    set_labelled(&fixture, "open", true, NULL);
    set_labelled(&fixture, "closed", true, "closed.berth.dev/policy");
    set_labelled(&fixture, "down", false, NULL);
    assert_string_equal(publish(&fixture, 5000), "down dev/policy=0");
    assert_string_equal(run(&fixture, 9000), "");
    fixture_done(&fixture);
}

/* A taint makes a new dictionary in the table; the differences must survive that. */
static void test_keeps_differences(void **state) {
    Taint taint = {.key = STR("k"), .effect = TAINT_NO_SCHEDULE};
    Node tainted = {.name = STR("b"), .taints = {.items = &taint, .n = 1}};
    Fixture fixture;

    (void)state;
    fixture_init(&fixture, limited);
    set_node(&fixture, "a", "policy", 9);
    assert_string_equal(publish(&fixture, 5000), "a policy=4");
    assert_int_equal(store_apply_node(fixture.store, &tainted), 0);
    assert_string_equal(publish(&fixture, 5500), "");
    assert_string_equal(run(&fixture, 6500), "b policy=4");
    publisher_reset(&fixture.publisher);
    assert_string_equal(run(&fixture, 6501), "a policy=4"); /* again from the nodes' values */
    fixture_done(&fixture);
}

static void test_limits_the_pace(void **state) {
    Fixture fixture;
    size_t n = 1;

    (void)state;
    fixture_init(&fixture, limited);
    for (int i = 0; i < 200; i++) {
        char name[8];

        (void)snprintf(name, sizeof(name), "n%d", i);
        set_node(&fixture, name, "policy", 9);
    }
    for (const char *at = publish(&fixture, 5000); (at = strchr(at, ',')); at++)
        n++;
    assert_int_equal(n, PUBLISHER_BURST);
    n = 1;
    for (const char *at = run(&fixture, 5500); (at = strchr(at, ',')); at++)
        n++;
    assert_int_equal(n, PUBLISHER_PER_SEC / 2);
    fixture_done(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_offers_the_limit),
        cmocka_unit_test(test_pods_without_the_request_take_slots),
        cmocka_unit_test(test_corrects_and_repeats),
        cmocka_unit_test(test_removes_what_no_policy_publishes),
        cmocka_unit_test(test_labels_of_rejected_nodes),
        cmocka_unit_test(test_labels_where_a_metric_is_absent),
        cmocka_unit_test(test_keeps_differences),
        cmocka_unit_test(test_limits_the_pace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
