#include "history/pods-summary.h"

#include <stdio.h>

#include "base/nsec.h"
#include "history/test-stage.h"

static const char scene_text[] =
    "policies:\n"
    "  zones:\n"
    "    filters:\n"
    "      - {name: zone, nodeLabels: {zone: a}, reason: wrong zone, unresolvable: true}\n"
    "      - {name: disk, nodeLabels: {disk: ssd}, reason: slow disk}\n"
    "      - {name: spin, nodeLabels: {spin: 'no'}, reason: slow disk}\n"
    "nodes:\n"
    "  n1: {labels: {zone: a, disk: ssd, spin: 'no'}}\n"
    "  n2: {labels: {zone: a, disk: hdd}}\n"
    "  n3: {labels: {zone: a, disk: ssd, spin: 'yes'}}\n"
    "  n4: {labels: {zone: b}}\n"
    "pods:\n"
    "  - {on: n2, uid: uid-elsewhere, namespace: default, name: elsewhere}\n"
    "  - {on: n3, uid: uid-resized, namespace: default, name: resized, scheduled: "
    "2026-01-01T00:00:00Z}\n"
    "  - {on: n4, uid: uid-since, namespace: default, name: since, scheduled: "
    "2026-01-02T00:00:30Z}\n";

/* A stage that remembers decisions, from second 1,000 on. */
static void open_stage(Stage *stage) {
    stage_init(stage, scene_text);
    stage->now = 1000 * NSEC_PER_SEC;
    stage->decisions = decisions_new(20000, STAGE_ROOM);
}

static PastTimes next_second(Stage *stage) {
    stage->now += NSEC_PER_SEC;
    return (PastTimes){.at_nsec = stage->now, .duration_nsec = 1000};
}

/* Asks about default/@pod with UID uid-@uid; an empty one: without. */
static void note(Stage *stage, Verb verb, const char *pod, const char *uid, const char *nodes) {
    Str body = arena_printf(stage->arena,
        "{\"Pod\":{\"metadata\":{\"namespace\":\"default\",\"name\":\"%s\",\"uid\":\"%s%s\"}},"
        "\"NodeNames\":[%s]}",
        pod, *uid ? "uid-" : "", uid, nodes);

    stage_ask(stage->decisions, stage->view, verb, body, next_second(stage));
}

static void note_bind(Stage *stage, const char *pod, const char *node, const char *error) {
    stage_bind(stage->decisions, stage->view, pod, node, error, next_second(stage));
}

#define GOOD "\"n1\",\"n2\""
#define BAD "\"n2\",\"n3\",\"n4\""

/* "NAME attempts passed/in waiting|at NODE|gone: RULE" */
static void print_pod(const PodSummary *pod, char text[static 128]) {
    (void)snprintf(text, 128, "%.*s %zu %zu/%zu %s%.*s: %.*s", STR_FMT(pod->name), pod->n_attempts,
        pod->n_passed, pod->n_in, pod->is_waiting ? "waiting" : "at ", STR_FMT(pod->node),
        STR_FMT(pod->rule));
}

static void test_all(void **state) {
    static const char *const want[] = {
        "late 1 0/3 waiting: zone", /* waiting ones first, the newest before the others */
        "stuck 2 0/3 waiting: zone",
        "broken 1 0/1 waiting: zone",
        "unnamed 2 1/2 at : disk",
        "bound 2 1/2 at n1: disk",
        "elsewhere 1 0/3 at n2: zone", /* by somebody else: the cluster has it */
        "open 1 1/2 at : disk",
    };
    PodsSummary summary;
    Stage stage;
    char text[128];

    (void)state;
    open_stage(&stage);
    note(&stage, VERB_FILTER, "open", "open", GOOD);
    note(&stage, VERB_PRIORITIZE, "open", "open", GOOD);
    note(&stage, VERB_FILTER, "stuck", "stuck", GOOD);
    note(&stage, VERB_FILTER, "bound", "bound", BAD);
    note(&stage, VERB_FILTER, "elsewhere", "elsewhere", BAD);
    note(&stage, VERB_FILTER, "bound", "bound", GOOD);
    note_bind(&stage, "bound", "n1", "");
    note(&stage, VERB_FILTER, "broken", "broken", "\"n4\"");
    note_bind(&stage, "broken", "n4", "refused");
    note(&stage, VERB_FILTER, "stuck", "stuck", BAD);
    note(&stage, VERB_FILTER, "unnamed", "", BAD);
    note(&stage, VERB_FILTER, "unnamed", "", GOOD);
    note(&stage, VERB_FILTER, "late", "late", BAD);
    note(&stage, VERB_FILTER, "", "", "7"); /* cannot be read */
    assert_int_equal(pods_summary_all(stage.decisions, stage.view, stage.arena, &summary), 0);
    assert_int_equal(summary.n_decisions, 14);
    assert_int_equal(summary.n_waiting, 3);
    assert_int_equal(summary.n, ELEMENTS_OF(want));
    for (size_t i = 0; i < summary.n; i++) {
        print_pod(&summary.pods[i], text);
        assert_text("pod", str_from_c(text), want[i]);
    }
    assert_int_equal(summary.pods[1].last_nsec - summary.pods[1].first_nsec, 7 * NSEC_PER_SEC);
    assert_non_null(summary.pods[0].filter);
    pods_summary_done(&summary);
    stage_done(&stage);
}

/* Where pods are that others have bound, also when nodes are passed over where nothing has come. */
static void test_elsewhere(void **state) {
    static const struct {
        const char *name, *nodes;
        const char *want;
    } cases[] = {
        {"elsewhere", BAD, "elsewhere 1 0/3 at n2: zone"}, /* when is not known */
        {"since", BAD, "since 1 0/3 at n4: zone"},
        {"resized", "\"n3\"", "resized 1 0/1 at n3: spin"}, /* it has been there all along */
        {"nowhere", BAD, "nowhere 1 0/3 waiting: zone"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        PodsSummary summary;
        Stage stage;
        char text[128];

        open_stage(&stage);
        stage.now = INT64_C(1767312000) * NSEC_PER_SEC; /* 2026-01-02T00:00:00Z */
        note(&stage, VERB_FILTER, cases[i].name, cases[i].name, cases[i].nodes);
        assert_int_equal(pods_summary_all(stage.decisions, stage.view, stage.arena, &summary), 0);
        assert_int_equal(summary.n, 1);
        print_pod(&summary.pods[0], text);
        assert_text(cases[i].name, str_from_c(text), cases[i].want);
        pods_summary_done(&summary);
        stage_done(&stage);
    }
}

static void test_nothing(void **state) {
    PodsSummary summary;
    Stage stage;

    (void)state;
    open_stage(&stage);
    assert_int_equal(pods_summary_all(NULL, stage.view, stage.arena, &summary), 0);
    assert_int_equal(summary.n, 0);
    pods_summary_done(&summary);
    assert_int_equal(pods_summary_all(stage.decisions, stage.view, stage.arena, &summary), 0);
    assert_int_equal(summary.n, 0);
    pods_summary_done(&summary);
    note(&stage, VERB_FILTER, "a", "a", GOOD);
    assert_int_equal(pods_summary_one(stage.decisions, stage.view, STR("default"), STR("b"),
                         STR_NULL, stage.arena, &summary),
        0);
    assert_int_equal(summary.n, 0);
    assert_int_equal(summary.n_decisions, 1);
    pods_summary_done(&summary);
    stage_done(&stage);
}

static uint64_t id_of(const FoundDecision *found) {
    return found->past ? found->past->id : 0;
}

/* A pod whose filter is not kept, two attempts, then another pod of the same name. */
static void test_one(void **state) {
    static const struct {
        uint64_t filter, prioritize, bind;
    } want[] = {{6, 0, 0}, {4, 5, 0}, {2, 0, 3}, {0, 1, 0}};
    PodsSummary summary;
    Stage stage;

    (void)state;
    open_stage(&stage);
    note(&stage, VERB_PRIORITIZE, "a", "a", GOOD);
    note(&stage, VERB_FILTER, "a", "a", BAD);
    note_bind(&stage, "a", "n1", "refused");
    note(&stage, VERB_FILTER, "a", "a", GOOD);
    note(&stage, VERB_PRIORITIZE, "a", "a", GOOD);
    note(&stage, VERB_FILTER, "a", "other", BAD);
    note(&stage, VERB_FILTER, "b", "b", BAD);
    assert_int_equal(pods_summary_one(stage.decisions, stage.view, STR("default"), STR("a"),
                         STR(""), stage.arena, &summary),
        0);
    assert_int_equal(summary.n, 1);
    assert_int_equal(summary.pods[0].n_attempts, ELEMENTS_OF(want));
    assert_true(summary.pods[0].is_waiting);
    assert_text("uid", summary.pods[0].uid, "uid-other");
    for (size_t i = 0; i < ELEMENTS_OF(want); i++) {
        assert_int_equal(id_of(&summary.pods[0].attempts[i].filter), want[i].filter);
        assert_int_equal(id_of(&summary.pods[0].attempts[i].prioritize), want[i].prioritize);
        assert_int_equal(id_of(&summary.pods[0].attempts[i].bind), want[i].bind);
        assert_int_equal(id_of(&summary.pods[0].attempts[i].preempt), 0);
    }
    pods_summary_done(&summary);
    assert_int_equal(pods_summary_one(stage.decisions, stage.view, STR("default"), STR("a"),
                         STR("uid-a"), stage.arena, &summary),
        0);
    assert_int_equal(summary.pods[0].n_attempts, 3);
    assert_false(summary.pods[0].is_waiting);
    pods_summary_done(&summary);
    stage_done(&stage);
}

/* Equal texts together, sorted as text with their numbers. */
static void test_reasons(void **state) {
    static const struct {
        const char *reason;
        size_t n;
        const char *rule;
        bool is_unresolvable;
        OutcomeKind kind;
    } want[] = {
        {"node is not known to berth", 1, "", false, OUTCOME_UNKNOWN},
        {"wrong zone", 1, "zone", true, OUTCOME_REJECTED},
        {"slow disk", 2, "disk", false, OUTCOME_REJECTED},
    };
    ReasonGroup groups[8];
    FoundDecision found;
    Stage stage;

    (void)state;
    open_stage(&stage);
    note(&stage, VERB_FILTER, "a", "a", "\"n1\"," BAD ",\"ghost\"");
    assert_true(decisions_find(stage.decisions, 1, &found));
    assert_int_equal(attempt_reasons(&found, groups, ELEMENTS_OF(groups)), 3);
    for (size_t i = 0; i < ELEMENTS_OF(want); i++) {
        assert_text(want[i].reason, groups[i].reason, want[i].reason);
        assert_text(want[i].reason, groups[i].rule, want[i].rule);
        assert_int_equal(groups[i].n_nodes, want[i].n);
        assert_int_equal(groups[i].is_unresolvable, want[i].is_unresolvable);
        assert_int_equal(groups[i].kind, want[i].kind);
    }
    assert_int_equal(attempt_reasons(&found, groups, 1), 1);
    found_done(&found);
    assert_int_equal(attempt_reasons(&found, groups, 8), 0);
    stage_done(&stage);
}

/* More than are looked at: the newest count. */
static void test_many(void **state) {
    PodsSummary summary;
    Stage stage;
    char name[32];

    (void)state;
    open_stage(&stage);
    for (unsigned i = 0; i < PODS_SUMMARY_DECISIONS_MAX + 100; i++) {
        (void)snprintf(name, sizeof(name), "p%u", i / 2);
        note(&stage, VERB_FILTER, name, name, "\"n4\"");
    }
    assert_int_equal(pods_summary_all(stage.decisions, stage.view, stage.arena, &summary), 0);
    assert_int_equal(summary.n_decisions, PODS_SUMMARY_DECISIONS_MAX);
    assert_int_equal(summary.n, PODS_SUMMARY_DECISIONS_MAX / 2);
    assert_int_equal(summary.n_waiting, PODS_SUMMARY_DECISIONS_MAX / 2);
    assert_text("newest", summary.pods[0].name, name);
    pods_summary_done(&summary);
    stage_done(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_elsewhere),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_one),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
