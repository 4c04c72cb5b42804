#include "history/kube-events.h"

#include <stdio.h>

#include "base/nsec.h"
#include "base/test-assert.h"
#include "policy/test-scene.h"

#define BUDGET ((size_t)64 * 1024 * 1024)
#define AT(sec) ((int64_t)(sec)*NSEC_PER_SEC)

static const char scene_text[] =
    "policies:\n"
    "  zones:\n"
    "    filters:\n"
    "      - {name: a, expression: \"node.metadata.name != 'n1'\", reason: not this one}\n"
    "      - {name: b, expression: \"node.metadata.name != 'n2'\", reason: not this one}\n"
    "      - {name: c, expression: \"node.metadata.name != 'n3'\", reason: too hot}\n"
    "      - {name: d, expression: \"node.metadata.name != 'n4'\", reason: too cold}\n"
    "      - {name: e, expression: \"node.metadata.name != 'n5'\", reason: too old}\n"
    "nodes: {n1: {}, n2: {}, n3: {}, n4: {}, n5: {}, n6: {}}\n";

static TestScene scene;
static View *view;
static RecentPods *recent;
static KubeEvents own, *events;
static size_t n_events;
static char note[8192], head[512];
static Arena *arena;

static void on_post(void *context, const PodEvent *what) {
    n_events++;
    (void)snprintf(note, sizeof(note), "%.*s", STR_FMT(what->note));
    (void)snprintf(head, sizeof(head), "%s %s %s %.*s/%.*s %.*s",
        what->is_warning ? "Warning" : "Normal", what->reason, what->action,
        STR_FMT(what->namespace), STR_FMT(what->pod), STR_FMT(what->uid));
}

static int set_up(void **state) {
    recent = recent_pods_new(&(RecentPodsOptions){.max = RECENT_PODS_MAX});
    n_events = 0;
    head[0] = note[0] = '\0';
    arena = arena_new(BUDGET);
    own = (KubeEvents){
        .self = {.namespace = "berth-system", .name = "berth-0", .uid = "own"},
        .recent = recent,
        .post = on_post,
        .lock = PTHREAD_MUTEX_INITIALIZER,
    };
    events = &own;
    scene_init_text(&scene, scene_text);
    return view_new(
        &(ViewParts){.snapshot = scene.snapshot, .program = scene.program}, NULL, &view);
}

static int tear_down(void **state) {
    view = view_unref(view);
    scene_done(&scene);
    recent = recent_pods_free(recent);
    arena = arena_free(arena);
    return 0;
}

static void note_filter(const View *by, const Decision *decision, int64_t now) {
    recent_pods_note(recent, by, VERB_FILTER, decision, now, now);
    kube_events_note_filter(events, by, decision, now);
}

/* @nodes: JSON strings. */
static void filter(const char *uid, const char *nodes, int64_t now) {
    char body[1024];
    Answer answer;

    (void)snprintf(body, sizeof(body),
        "{\"Pod\":{\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\",\"uid\":\"%s\"}},"
        "\"NodeNames\":[%s]}",
        uid, nodes);
    extender_filter(view, NULL, arena_copy(arena, str_from_c(body)), arena, &answer);
    assert_non_null(answer.decision.args);
    note_filter(view, &answer.decision, now);
}

/* With long names and reasons the command must be complete, and no character cut. */
static void test_keeps_command_whole(void **state) {
    char name[254], namespace[64], reason[1500] = "";
    const Policy policy = {.name = STR("p")};
    const Filter rule = {.policy = &policy, .reason = str_of(reason, sizeof(reason))};
    const Filter *filters[] = {&rule};
    Program program = {.filters = filters, .n_filters = 1};
    const View long_view = {.program = &program};
    FilterArgs args = {.pod = {.uid = STR("u1")}};
    uint32_t rejected[] = {7};
    const Decision decision = {
        .pod_uid = STR("u1"), .args = &args, .summary.n_in = 7, .rejected = rejected};
    const char *end;

    memset(name, 'p', sizeof(name) - 1);
    memset(namespace, 'n', sizeof(namespace) - 1);
    name[sizeof(name) - 1] = namespace[sizeof(namespace) - 1] = '\0';
    args.pod.name = str_from_c(name);
    args.pod.namespace = str_from_c(namespace);
    for (size_t shift = 0; shift < 4; shift++) {
        memset(reason, 'x', shift);
        for (size_t at = shift; at + 3 <= sizeof(reason); at += 3)
            memcpy(reason + at, "\xe2\x82\xac", 3);
        note_filter(&long_view, &decision, AT(1000 + 1000 * (int)shift));
        assert_int_equal(n_events, shift + 1);
        assert_in_range(strlen(note), 500, EVENT_NOTE_MAX);
        end = strstr(note, ". See: berth explain --last n");
        assert_non_null(end);
        assert_int_equal(end[strlen(end) - 1], 'p');
        assert_null(strstr(note, "\\x")); /* a cut character would be printed as \\x bytes */
    }
    memset(reason, '\n', sizeof(reason)); /* each is escaped as four bytes */
    note_filter(&long_view, &decision, AT(9000));
    assert_non_null(strstr(note, ". See: berth explain --last n"));
    assert_in_range(strlen(note), 500, EVENT_NOTE_MAX);
}

static void test_counts_nodes_by_reason(void **state) {
    static const struct {
        const char *nodes, *note; /* NULL: no Event */
    } cases[] = {
        {"", NULL},
        {"\"n6\"", NULL},
        {"\"n1\",\"n6\"", NULL},
        {"\"n1\"", "0 of 1 nodes passed berth's policies: 1 not this one"},
        {"\"n3\",\"n1\",\"n2\"", "0 of 3 nodes passed berth's policies: 2 not this one, 1 too hot"},
        {"\"n5\",\"n3\",\"n4\",\"n2\",\"n1\"",
            "0 of 5 nodes passed berth's policies: 2 not this one, 1 too hot, 1 too cold, 1 for "
            "other reasons"},
        {"\"x\",\"y\",\"n1\"",
            "0 of 3 nodes passed berth's policies: 1 not this one, 2 node is not known to berth"},
    };
    char uid[16], want[512];

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        size_t before = n_events;

        (void)snprintf(uid, sizeof(uid), "u%zu", i);
        filter(uid, cases[i].nodes, AT(1000 + 10 * (int)i));
        assert_int_equal(n_events - before, cases[i].note != NULL);
        if (!cases[i].note)
            continue;
        (void)snprintf(want, sizeof(want), "%s. See: berth explain --last shop/web", cases[i].note);
        assert_string_equal(note, want);
        (void)snprintf(want, sizeof(want), "Warning NoNodePassed Filter shop/web %s", uid);
        assert_string_equal(head, want);
    }
}

static bool is_over(void *context) {
    (void)context;
    return true;
}

/* Rules that read only the node still reject after the deadline; their node must not also count as
 * late. */
static void test_counts_each_late_node_once(void **state) {
    static const char text[] =
        "policies:\n"
        "  zones:\n"
        "    onTimeout: reject\n"
        "    filters:\n"
        "      - {name: a, expression: \"node.metadata.name != 'n1'\", reason: not this one}\n"
        "      - {name: b, expression: \"node.metadata.name != pod.metadata.name\", reason: own}\n"
        "nodes: {n1: {}, n2: {}}\n";
    const RequestTime none = {.is_over = is_over};
    Str body =
        STR("{\"Pod\":{\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\",\"uid\":\"u\"}},"
            "\"NodeNames\":[\"n1\",\"n2\"]}");
    TestScene late;
    View *late_view = NULL;
    Answer answer;

    scene_init_text(&late, text);
    assert_int_equal(view_new(&(ViewParts){.snapshot = late.snapshot, .program = late.program},
                         NULL, &late_view),
        0);
    extender_filter(late_view, &none, body, arena, &answer);
    assert_int_equal(answer.decision.summary.n_unjudged, 2);
    note_filter(late_view, &answer.decision, AT(1000));
    assert_string_equal(note,
        "0 of 2 nodes passed berth's policies: 1 not this one, 1 berth ran out of time to judge "
        "the "
        "node. See: berth explain --last shop/web");
    view_unref(late_view);
    scene_done(&late);
}

static void test_limits_events_per_pod(void **state) {
    for (int sec = 0; sec <= 2 * KUBE_EVENTS_POD_SEC; sec += 10)
        filter("u1", "\"n1\"", AT(1000 + sec));
    assert_int_equal(n_events, 3);
    assert_int_equal(kube_events_dropped(events), 0);
}

static void test_limits_events_of_all_pods(void **state) {
    char uid[16];

    for (int i = 0; i < 100; i++) {
        (void)snprintf(uid, sizeof(uid), "u%d", i);
        filter(uid, "\"n1\"", AT(1000));
    }
    assert_int_equal(n_events, KUBE_EVENTS_BURST);
    assert_int_equal(kube_events_dropped(events), 100 - KUBE_EVENTS_BURST);
    for (int i = 0; i < 100; i++) { /* ten more in ten seconds */
        (void)snprintf(uid, sizeof(uid), "u%d", i);
        filter(uid, "\"n1\"", AT(1000) + (i + 1) * NSEC_PER_SEC / 10);
    }
    assert_int_equal(n_events, KUBE_EVENTS_BURST + 10);
}

static void test_skips_pod_without_uid(void **state) {
    filter("", "\"n1\"", AT(1000)); /* kubectl could not find the Event */
    assert_int_equal(n_events, 0);
}

static void test_reports_bypassed_pod(void **state) {
    const Pod pod = {
        .namespace = STR("shop"),
        .name = STR("web"),
        .uid = STR("u1"),
        .node_name = STR("n1"),
        .scheduler_name = STR("default\n-scheduler"),
    };

    kube_events_note_bypassed(events, &pod, AT(1000));
    assert_string_equal(head, "Warning Bypassed Bind shop/web u1");
    assert_string_equal(note,
        "Bound to n1 by default\\x0a-scheduler, which did not call berth: no policy was evaluated");
}

static void test_reports_each_policy_error_once(void **state) {
    kube_events_note_policy(events, STR(""), AT(1000));
    assert_int_equal(n_events, 0);
    for (int i = 0; i < 5; i++)
        kube_events_note_policy(events, STR("p.yaml:3:5: error: x"), AT(1001 + i));
    assert_int_equal(n_events, 1);
    assert_string_equal(head, "Warning PolicyRejected Reload berth-system/berth-0 own");
    assert_string_equal(
        note, "A policy was rejected, the last good ones stay in force: p.yaml:3:5: error: x");
    kube_events_note_policy(events, STR("p.yaml:4:5: error: y"), AT(1010));
    kube_events_note_policy(events, STR(""), AT(1011)); /* fixed */
    kube_events_note_policy(events, STR("p.yaml:4:5: error: y"), AT(1012));
    assert_int_equal(n_events, 3);
}

static void test_reports_stale_metric(void **state) {
    kube_events_note_stale(events, STR("cool"), STR("load"), STR("default"), AT(1000));
    assert_string_equal(head, "Warning MetricsStale Measure berth-system/berth-0 own");
    assert_string_equal(note,
        "Metric load of policy cool has no value any more, older than its maxAge; source default. "
        "onMissing of each rule decides");
}

static void test_needs_own_pod(void **state) {
    KubeEvents unknown = {.self = {.namespace = "berth-system", .name = "berth-0"},
        .post = on_post,
        .lock = PTHREAD_MUTEX_INITIALIZER};

    kube_events_note_stale(&unknown, STR("cool"), STR("load"), STR("default"), AT(1000));
    kube_events_note_policy(&unknown, STR("x"), AT(1000));
    assert_int_equal(n_events, 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_counts_nodes_by_reason),
        TEST(test_keeps_command_whole),
        TEST(test_counts_each_late_node_once),
        TEST(test_limits_events_per_pod),
        TEST(test_limits_events_of_all_pods),
        TEST(test_skips_pod_without_uid),
        TEST(test_reports_bypassed_pod),
        TEST(test_reports_each_policy_error_once),
        TEST(test_reports_stale_metric),
        TEST(test_needs_own_pod),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
