#include "extender/guessed-pods.h"

#include <stdio.h>

#include "base/test-assert.h"
#include "cluster/store.h"
#include "extender/test-reply.h"
#include "policy/test-scene.h"

#define NODES_MAX 3u

/* Pods on nodes a, b and c. A lower case letter is a pod that is known to be there, an upper case
 * one a guessed pod; the rule does not count 'x' and 'X'. A digit is that number of known pods. */
typedef struct Case {
    const char *name;
    const char *limit; /* fields of maxPods */
    const char *pods[NODES_MAX];
    const char *passed; /* nodes that pass */
} Case;

static const Case cases[] = {
    {"no pod is guessed", "limit: 3", {"pp", "", "p"}, "abc"},
    {"full", "limit: 3", {"ppp", "pp", "p"}, "bc"},
    {"room for all guessed pods", "limit: 40", {"P", "P", ""}, "abc"},
    {"one node is near its limit", "limit: 40", {"9999ppp", "P", ""}, "bc"},
    {"a guess counts once, where it is", "limit: 40", {"9999ppP", "", "p"}, "abc"},
    {"few places: the node with the most room", "limit: 3", {"P", "P", ""}, "c"},
    {"few places: the first of equals", "limit: 2", {"P", "p", "p"}, "a"},
    {"not few", "limit: 23", {"P", "p", "p"}, "abc"},
    {"few", "limit: 22", {"P", "p", "p"}, "a"},
    {"full by a guess", "limit: 1", {"P", "p", ""}, "c"},
    {"pods that do not count", "limit: 2", {"xX", "X", "X"}, "abc"},
    {"the limit is not of one node", "limit: 8, topologyKey: zone", {"pP", "P", "P"}, "abc"},
};

static void add_pod(Store *store, const char *node, unsigned number, char letter) {
    static const Label counted = {STR("app"), STR("web")};
    bool counts = letter != 'x' && letter != 'X';
    Pod pod = {.namespace = STR("shop"), .labels = {&counted, counts ? 1 : 0}};
    char name[32];

    (void)snprintf(name, sizeof(name), "%s-%u", node, number);
    pod.name = pod.uid = str_from_c(name);
    pod.node_name = str_from_c(node);
    pod.is_guessed = letter < 'a';
    if (pod.is_guessed)
        assert_int_equal(store_assume(store, &pod, pod.node_name, INT64_MAX), 0);
    else
        assert_true(store_apply_pod(store, &pod) >= 0);
}

static void add_pods(Store *store, const char *node, const char *letters) {
    unsigned number = 0;

    for (size_t i = 0; letters[i]; i++) {
        bool is_digit = letters[i] <= '9';
        int n = is_digit ? letters[i] - '0' : 1;

        for (int k = 0; k < n; k++)
            add_pod(store, node, number++, is_digit ? 'p' : letters[i]);
    }
}

static void run_case(const Case *each, const char *uid, const char *passed, bool is_dry_run) {
    static const Label zone = {STR("zone"), STR("z")};
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)16 << 20);
    _cleanup_(store_freep) Store *store = store_new();
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    _cleanup_(view_unrefp) View *view = NULL;
    RequestTime time = {0};
    FilterReply reply;
    TestScene scene;
    Answer answer;
    Str body;

    scene_init_text(
        &scene, arena_printf(arena,
                    "policy: {filters: [{name: l, maxPods: {podSelector: {matchLabels: {app: web}},"
                    " %s}}]}\n",
                    each->limit)
                    .ptr);
    for (size_t i = 0; i < NODES_MAX; i++) {
        char name[] = {(char)('a' + i), '\0'};

        assert_int_equal(
            store_apply_node(store, &(Node){.name = str_from_c(name), .labels = {&zone, 1}}), 0);
        add_pods(store, name, each->pods[i]);
    }
    assert_int_equal(store_publish(store, &snapshot), 0);
    assert_int_equal(
        view_new(&(ViewParts){.snapshot = snapshot, .program = scene.program}, NULL, &view), 0);
    body = arena_printf(arena,
        "{\"Pod\":{\"metadata\":{\"name\":\"%s\",\"namespace\":\"shop\",\"uid\":\"%s\",\"labels\":{"
        "\"app\":\"web\"}}},\"NodeNames\":[\"a\",\"b\",\"c\"]}",
        uid, uid);
    if (is_dry_run)
        extender_filter_dry_run(view, &time, body, arena, &answer);
    else
        extender_filter(view, &time, body, arena, &answer);
    assert_true(reply_filter(reply_text(&answer.body, arena), arena, &reply));
    assert_case(each->name, reply.passed.n == strlen(passed));
    for (size_t i = 0; i < reply.passed.n; i++)
        assert_case(each->name, reply.passed.items[i].name.ptr[0] == passed[i]);
    assert_case(each->name,
        answer.decision.summary.n_narrowed == NODES_MAX - strlen(passed) - reply.failed.n);
    scene_done(&scene);
}

static void test_nodes_near_their_limit_are_left_out(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        run_case(&cases[i], "new", cases[i].passed, /* is_dry_run= */ false);
}

/* kube-scheduler sends a pod again that is already guessed to be on a node. */
static void test_pod_does_not_count_against_itself(void **state) {
    const Case again = {"again", "limit: 1", {"P", "", "p"}, "ab"};

    (void)state;
    run_case(&again, "a-0", again.passed, /* is_dry_run= */ false);
}

static void test_dry_run_leaves_out_no_node(void **state) {
    const Case dry = {"dry run", "limit: 2", {"P", "P", ""}, "abc"};

    (void)state;
    run_case(&dry, "new", dry.passed, /* is_dry_run= */ true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_near_their_limit_are_left_out),
        cmocka_unit_test(test_pod_does_not_count_against_itself),
        cmocka_unit_test(test_dry_run_leaves_out_no_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
