#include "live/wakeup.h"

#include <stdio.h>

#include "base/nsec.h"
#include "base/test-assert.h"
#include "cluster/store.h"
#include "policy/test-scene.h"

/* A cluster that changes, and the nodes that were touched over it. */
typedef struct World {
    Store *store;
    TestScene scene; /* for its program */
    View *view;
    RecentPods *recent;
    Wakeup *wakeup;
    char touched[4096];
} World;

static void note_touch(void *context, Str node) {
    World *world = context;
    size_t len = strlen(world->touched);

    (void)snprintf(world->touched + len, sizeof(world->touched) - len, "%s%.*s", len ? " " : "",
        STR_FMT(node));
}

/* A filter rejects the only node for pod @uid. */
static void reject(World *world, const char *uid, int64_t now_nsec) {
    FilterArgs args = {.n = 1};
    const Decision decision = {.pod_uid = str_from_c(uid), .summary.n_in = 1, .args = &args};

    recent_pods_note(world->recent, /* view= */ NULL, VERB_FILTER, &decision, now_nsec, now_nsec);
}

static void world_init(World *world, const char *policy) {
    *world =
        (World){.store = store_new(), .recent = recent_pods_new(&(RecentPodsOptions){.max = 16})};
    world->wakeup = wakeup_new(world->recent);
    scene_init_text(&world->scene, policy);
    assert_int_equal(
        view_new(&(ViewParts){.program = world->scene.program}, /* before= */ NULL, &world->view),
        0);
}

static void world_done(World *world) {
    view_unref(world->view);
    scene_done(&world->scene);
    store_free(world->store);
    wakeup_free(world->wakeup);
    recent_pods_free(world->recent);
}

/* Publishes, and returns which nodes were touched. */
static const char *turn(World *world, Program *program, int64_t sec) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    View *after = NULL;

    assert_int_equal(store_publish(world->store, &snapshot), 0);
    assert_int_equal(
        view_new(&(ViewParts){.snapshot = snapshot, .program = program}, world->view, &after), 0);
    world->touched[0] = '\0';
    wakeup_note_view(world->wakeup, world->view, after, sec * NSEC_PER_SEC, note_touch, world);
    view_unref(world->view);
    world->view = after;
    return world->touched;
}

static void set_node(World *world, const char *name, bool is_ready) {
    Node node = {.name = str_from_c(name), .is_ready = is_ready};

    assert_int_equal(store_apply_node(world->store, &node), 0);
}

static void set_pod(World *world, const char *name, const char *node) {
    Pod pod = {.name = str_from_c(name), .uid = str_from_c(name), .node_name = str_from_c(node)};

    assert_true(store_apply_pod(world->store, &pod) >= 0);
}

static const char ready_and_capped[] = "policy:\n"
                                       "  filters:\n"
                                       "    - {name: ready, nodeReady: true}\n"
                                       "    - {name: cap, maxPods: 1}\n";

static void test_turns(void **state) {
    World world;

    (void)state;
    world_init(&world, ready_and_capped);
    set_node(&world, "a", false);
    set_node(&world, "b", true);
    assert_string_equal(turn(&world, world.scene.program, 100), ""); /* nothing was before */
    set_node(&world, "a", true);
    assert_string_equal(turn(&world, world.scene.program, 101), "a");
    set_pod(&world, "p", "b");
    assert_string_equal(turn(&world, world.scene.program, 102), ""); /* the other way */
    store_remove_pod(world.store, STR_NULL, STR("p"), STR_NULL);
    assert_string_equal(turn(&world, world.scene.program, 103), "b");
    set_node(&world, "new", true);
    assert_string_equal(turn(&world, world.scene.program, 104), ""); /* an event by itself */
    assert_string_equal(turn(&world, world.scene.program, 105), "");
    world_done(&world);
}

/* Rules that read the pod, too: what they ask of the node alone can turn all the same. */
static void test_parts_turn(void **state) {
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
        {"expression: \"node.pods.size() < pod.spec.priority\"", ""}, /* no part is the node's */
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char policy[256];
        World world;

        (void)snprintf(
            policy, sizeof(policy), "policy: {filters: [{name: r, %s}]}\n", cases[i].rule);
        world_init(&world, policy);
        set_node(&world, "a", true);
        set_pod(&world, "p", "a");
        (void)turn(&world, world.scene.program, 100);
        store_remove_pod(world.store, STR_NULL, STR("p"), STR_NULL);
        assert_text(
            cases[i].rule, str_from_c(turn(&world, world.scene.program, 101)), cases[i].touched);
        world_done(&world);
    }
}

static void test_observed_rules_wake_nobody(void **state) {
    World world;

    (void)state;
    world_init(&world, "policy: {mode: Observe, filters: [{name: ready, nodeReady: true}]}\n");
    set_node(&world, "a", false);
    (void)turn(&world, world.scene.program, 100);
    set_node(&world, "a", true);
    assert_string_equal(turn(&world, world.scene.program, 101), "");
    world_done(&world);
}

static void test_flapping_node(void **state) {
    World world;

    (void)state;
    world_init(&world, ready_and_capped);
    set_node(&world, "a", true);
    for (int64_t sec = 100; sec < 100 + 3 * WAKEUP_NODE_SEC; sec++) {
        set_node(&world, "a", false);
        assert_string_equal(turn(&world, world.scene.program, sec), "");
        set_node(&world, "a", true);
        assert_string_equal(
            turn(&world, world.scene.program, sec), (sec - 100) % WAKEUP_NODE_SEC ? "" : "a");
    }
    world_done(&world);
}

/* What came too soon is not lost: the node is marked when its time has come. */
static void test_owed_node(void **state) {
    World world;

    (void)state;
    world_init(&world, ready_and_capped);
    set_node(&world, "a", true);
    (void)turn(&world, world.scene.program, 99);
    for (int64_t sec = 100; sec < 102; sec++) {
        set_node(&world, "a", false);
        (void)turn(&world, world.scene.program, sec);
        set_node(&world, "a", true);
        (void)turn(&world, world.scene.program, sec);
    }
    world.touched[0] = '\0';
    for (int64_t sec = 102; sec < 130; sec++) {
        assert_string_equal(world.touched, sec <= 100 + WAKEUP_NODE_SEC ? "" : "a");
        wakeup_tick(world.wakeup, sec * NSEC_PER_SEC, note_touch, &world);
    }
    world_done(&world);
}

/* Node a turns once more. */
static const char *flap(World *world, int64_t sec) {
    set_node(world, "a", false);
    (void)turn(world, world->scene.program, sec);
    set_node(world, "a", true);
    return turn(world, world->scene.program, sec);
}

/* Tests begin when it is still doubtful whether somebody waits; here that is over. */
static void test_nobody_waits(void **state) {
    const int64_t late = 2 * RECENT_PODS_PARKED_SEC;
    World world;
    TestScene other;

    (void)state;
    world_init(&world, ready_and_capped);
    scene_init_text(&other, ready_and_capped);
    set_node(&world, "a", true);
    (void)turn(&world, world.scene.program, late);
    for (int64_t sec = late; sec < late + 100; sec++)
        assert_string_equal(flap(&world, sec), "");
    assert_string_equal(turn(&world, other.program, late + 100), "");
    (void)turn(&world, world.scene.program, late + 101);

    reject(&world, "p", (late + 102) * NSEC_PER_SEC);
    wakeup_tick(world.wakeup, (late + 103) * NSEC_PER_SEC, note_touch, &world);
    assert_string_equal(world.touched, ""); /* nothing was owed to it */
    assert_string_equal(flap(&world, late + 103), "a");
    scene_done(&other);
    world_done(&world);
}

/* The pod that a node is owed to got its place meanwhile. */
static void test_nothing_is_owed_to_bound_pods(void **state) {
    const int64_t late = 2 * RECENT_PODS_PARKED_SEC;
    World world;

    (void)state;
    world_init(&world, ready_and_capped);
    set_node(&world, "a", true);
    (void)turn(&world, world.scene.program, late);
    reject(&world, "p", late * NSEC_PER_SEC);
    assert_string_equal(flap(&world, late), "a");
    assert_string_equal(flap(&world, late + 1), ""); /* too soon: owed */
    recent_pods_note_bound(world.recent, &(Pod){.uid = STR("p")});
    wakeup_tick(world.wakeup, (late + 2) * NSEC_PER_SEC, note_touch, &world);
    reject(&world, "q", (late + 3) * NSEC_PER_SEC);
    for (int64_t sec = late + 3; sec < late + 30; sec++)
        wakeup_tick(world.wakeup, sec * NSEC_PER_SEC, note_touch, &world);
    assert_string_equal(world.touched, "");
    world_done(&world);
}

static unsigned count_words(const char *text) {
    unsigned n = *text != '\0';

    for (; *text; text++)
        n += *text == ' ';
    return n;
}

static void test_burst(void **state) {
    World world;
    char name[16];

    (void)state;
    world_init(&world, ready_and_capped);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 200; i++) {
            (void)snprintf(name, sizeof(name), "n%u", i);
            set_node(&world, name, round == 1);
        }
        assert_int_equal(
            count_words(turn(&world, world.scene.program, 100)), round ? WAKEUP_BURST : 0);
    }
    /* A second later there is room for a few more. */
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 100; i < 200; i++) {
            (void)snprintf(name, sizeof(name), "n%u", i);
            set_node(&world, name, round == 1);
        }
        assert_int_equal(
            count_words(turn(&world, world.scene.program, 101)), round ? WAKEUP_PER_SEC : 0);
    }
    world_done(&world);
}

static void test_other_policies(void **state) {
    World world;
    TestScene other;

    (void)state;
    world_init(&world, ready_and_capped);
    scene_init_text(&other, ready_and_capped);
    set_node(&world, "down", false);
    set_node(&world, "up", true);
    (void)turn(&world, world.scene.program, 100);
    assert_string_equal(turn(&world, other.program, 101), "up"); /* one for all */
    scene_done(&other);
    world_done(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_parts_turn),
        cmocka_unit_test(test_observed_rules_wake_nobody),
        cmocka_unit_test(test_flapping_node),
        cmocka_unit_test(test_owed_node),
        cmocka_unit_test(test_nobody_waits),
        cmocka_unit_test(test_nothing_is_owed_to_bound_pods),
        cmocka_unit_test(test_burst),
        cmocka_unit_test(test_other_policies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
