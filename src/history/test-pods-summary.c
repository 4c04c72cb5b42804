#include "history/pods-summary.h"

#include <stdio.h>

#include "base/nsec.h"
#include "history/test-view-fixture.h"

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

/* A fixture with a decision history; its clock starts at second 1,000. */
static void open_fixture(ViewFixture *fixture) {
    fixture_init(fixture, scene_text);
    fixture->now = 1000 * NSEC_PER_SEC;
    fixture->decisions = decisions_new(20000, FIXTURE_HISTORY_BYTES);
}

static PastTimes next_second(ViewFixture *fixture) {
    fixture->now += NSEC_PER_SEC;
    return (PastTimes){.at_nsec = fixture->now, .duration_nsec = 1000};
}

/* Sends a request for default/@pod with UID uid-@uid; an empty @uid: without one. */
static void note(
    ViewFixture *fixture, Verb verb, const char *pod, const char *uid, const char *nodes) {
    Str body = arena_printf(fixture->arena,
        "{\"Pod\":{\"metadata\":{\"namespace\":\"default\",\"name\":\"%s\",\"uid\":\"%s%s\"}},"
        "\"NodeNames\":[%s]}",
        pod, *uid ? "uid-" : "", uid, nodes);

    fixture_request(fixture->decisions, fixture->view, verb, body, next_second(fixture));
}

static void note_bind(ViewFixture *fixture, const char *pod, const char *node, const char *error) {
    fixture_bind(fixture->decisions, fixture->view, pod, node, error, next_second(fixture));
}

#define GOOD "\"n1\",\"n2\""
#define BAD "\"n2\",\"n3\",\"n4\""

/* Prints "NAME ATTEMPTS PASSED/IN waiting: RULE", or "at NODE: RULE". */
static void print_pod(const PodSummary *pod, char text[static 128]) {
    (void)snprintf(text, 128, "%.*s %zu %zu/%zu %s%.*s: %.*s", STR_FMT(pod->name), pod->n_attempts,
        pod->n_passed, pod->n_in, pod->is_waiting ? "waiting" : "at ", STR_FMT(pod->node),
        STR_FMT(pod->rule));
}

static void test_lists_pending_pods_first(void **state) {
    static const char *const want[] = {
        "late 1 0/3 waiting: spin", /* pending pods first, the newest before the others */
        "stuck 2 0/3 waiting: spin",
        "broken 1 0/1 waiting: zone",
        "unnamed 2 1/2 at : disk",
        "bound 2 1/2 at n1: disk",
        "elsewhere 1 0/3 at n2: spin", /* the snapshot shows its node */
        "open 1 1/2 at : disk",
    };
    PodsSummary summary;
    ViewFixture fixture;
    char text[128];

    (void)state;
    open_fixture(&fixture);
    note(&fixture, VERB_FILTER, "open", "open", GOOD);
    note(&fixture, VERB_PRIORITIZE, "open", "open", GOOD);
    note(&fixture, VERB_FILTER, "stuck", "stuck", GOOD);
    note(&fixture, VERB_FILTER, "bound", "bound", BAD);
    note(&fixture, VERB_FILTER, "elsewhere", "elsewhere", BAD);
    note(&fixture, VERB_FILTER, "bound", "bound", GOOD);
    note_bind(&fixture, "bound", "n1", "");
    note(&fixture, VERB_FILTER, "broken", "broken", "\"n4\"");
    note_bind(&fixture, "broken", "n4", "refused");
    note(&fixture, VERB_FILTER, "stuck", "stuck", BAD);
    note(&fixture, VERB_FILTER, "unnamed", "", BAD);
    note(&fixture, VERB_FILTER, "unnamed", "", GOOD);
    note(&fixture, VERB_FILTER, "late", "late", BAD);
    note(&fixture, VERB_FILTER, "", "", "7"); /* not a valid request */
    assert_int_equal(
        pods_summary_all(fixture.decisions, NULL, fixture.view, fixture.arena, &summary), 0);
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
    fixture_done(&fixture);
}

/* Pods that others have bound. Nodes where no pod was placed since are skipped. */
static void test_pods_bound_by_others(void **state) {
    static const struct {
        const char *name, *nodes;
        const char *want;
    } cases[] = {
        {"elsewhere", BAD, "elsewhere 1 0/3 at n2: spin"}, /* unknown time */
        {"since", BAD, "since 1 0/3 at n4: spin"},
        {"resized", "\"n3\"", "resized 1 0/1 at n3: spin"}, /* bound before the filter */
        {"nowhere", BAD, "nowhere 1 0/3 waiting: spin"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        PodsSummary summary;
        ViewFixture fixture;
        char text[128];

        open_fixture(&fixture);
        fixture.now = INT64_C(1767312000) * NSEC_PER_SEC; /* 2026-01-02T00:00:00Z */
        note(&fixture, VERB_FILTER, cases[i].name, cases[i].name, cases[i].nodes);
        assert_int_equal(
            pods_summary_all(fixture.decisions, NULL, fixture.view, fixture.arena, &summary), 0);
        assert_int_equal(summary.n, 1);
        print_pod(&summary.pods[0], text);
        assert_text(cases[i].name, str_from_c(text), cases[i].want);
        pods_summary_done(&summary);
        fixture_done(&fixture);
    }
}

/* The main reason is found once, with the view of the filter, even if another is in force. */
static void test_finds_main_reasons(void **state) {
    _cleanup_(view_unrefp) View *other = NULL;
    PodsSummary summary;
    ViewFixture fixture;

    (void)state;
    open_fixture(&fixture);
    assert_int_equal(
        view_new(&(ViewParts){.program = fixture.scene.program, .now_nsec = fixture.scene.now},
            NULL, &other),
        0);
    note(&fixture, VERB_FILTER, "a", "a", BAD);
    note(&fixture, VERB_FILTER, "b", "b", "\"n2\",\"gone\"");
    assert_int_equal(
        pods_summary_all(fixture.decisions, NULL, fixture.view, fixture.arena, &summary), 0);
    assert_text("until it is known", summary.pods[1].reason, "slow disk");
    pods_summary_done(&summary);
    assert_true(decisions_find_reasons(fixture.decisions, other, NULL));
    assert_true(decisions_find_reasons(fixture.decisions, other, NULL));
    assert_true(decisions_find_reasons(NULL, other, NULL));
    assert_int_equal(
        pods_summary_all(fixture.decisions, NULL, fixture.view, fixture.arena, &summary), 0);
    assert_text("a", summary.pods[1].reason,
        "1 node: slow disk · 1 node: wrong zone · 1 node: other reasons");
    assert_text("b", summary.pods[0].reason, "1 node: slow disk · 1 node: other reasons");
    pods_summary_done(&summary);
    fixture_done(&fixture);
}

static void test_deleted_pods_are_not_pending(void **state) {
    _cleanup_(recent_pods_freep) RecentPods *recent =
        recent_pods_new(&(RecentPodsOptions){.max = 8, .pending_within = 100});
    PodsSummary summary;
    ViewFixture fixture;
    Answer answer;

    (void)state;
    open_fixture(&fixture);
    note(&fixture, VERB_FILTER, "a", "a", BAD);
    extender_filter(fixture.view, NULL,
        STR("{\"Pod\":{\"metadata\":{\"name\":\"a\",\"uid\":\"uid-a\"}},\"NodeNames\":[\"n4\"]}"),
        fixture.arena, &answer);
    recent_pods_note(recent, fixture.view, VERB_FILTER, &answer.decision, 0, 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(
            pods_summary_all(fixture.decisions, recent, fixture.view, fixture.arena, &summary), 0);
        assert_int_equal(summary.n_waiting, 1 - i);
        pods_summary_done(&summary);
        recent_pods_note_end(recent, STR("uid-a"), STR_NULL, STR_NULL, /* is_deleted= */ true);
    }
    fixture_done(&fixture);
}

static void test_no_pods_without_decisions(void **state) {
    PodsSummary summary;
    ViewFixture fixture;

    (void)state;
    open_fixture(&fixture);
    assert_int_equal(pods_summary_all(NULL, NULL, fixture.view, fixture.arena, &summary), 0);
    assert_int_equal(summary.n, 0);
    pods_summary_done(&summary);
    assert_int_equal(
        pods_summary_all(fixture.decisions, NULL, fixture.view, fixture.arena, &summary), 0);
    assert_int_equal(summary.n, 0);
    pods_summary_done(&summary);
    note(&fixture, VERB_FILTER, "a", "a", GOOD);
    assert_int_equal(pods_summary_one(fixture.decisions, NULL, fixture.view, STR("default"),
                         STR("b"), fixture.arena, &summary),
        0);
    assert_int_equal(summary.n, 0);
    assert_int_equal(summary.n_decisions, 1);
    pods_summary_done(&summary);
    fixture_done(&fixture);
}

static uint64_t id_of(const FoundDecision *found) {
    return found->past ? found->past->id : 0;
}

/* A pod whose filter was dropped, two attempts, then another pod with the same name. */
static void test_attempts_of_one_pod(void **state) {
    static const struct {
        uint64_t filter, prioritize, bind;
    } want[] = {{6, 0, 0}, {4, 5, 0}, {2, 0, 3}, {0, 1, 0}};
    PodsSummary summary;
    ViewFixture fixture;

    (void)state;
    open_fixture(&fixture);
    note(&fixture, VERB_PRIORITIZE, "a", "a", GOOD);
    note(&fixture, VERB_FILTER, "a", "a", BAD);
    note_bind(&fixture, "a", "n1", "refused");
    note(&fixture, VERB_FILTER, "a", "a", GOOD);
    note(&fixture, VERB_PRIORITIZE, "a", "a", GOOD);
    note(&fixture, VERB_FILTER, "a", "other", BAD);
    note(&fixture, VERB_FILTER, "b", "b", BAD);
    assert_int_equal(pods_summary_one(fixture.decisions, NULL, fixture.view, STR("default"),
                         STR("a"), fixture.arena, &summary),
        0);
    assert_int_equal(summary.n, 1);
    assert_int_equal(summary.pods[0].n_attempts, ELEMENTS_OF(want));
    assert_true(summary.pods[0].is_waiting);
    assert_text("uid", summary.pods[0].uid, "uid-other");
    for (size_t i = 0; i < ELEMENTS_OF(want); i++) {
        assert_int_equal(id_of(&summary.pods[0].attempts[i].verbs[VERB_FILTER]), want[i].filter);
        assert_int_equal(
            id_of(&summary.pods[0].attempts[i].verbs[VERB_PRIORITIZE]), want[i].prioritize);
        assert_int_equal(id_of(&summary.pods[0].attempts[i].verbs[VERB_BIND]), want[i].bind);
        assert_int_equal(id_of(&summary.pods[0].attempts[i].verbs[VERB_PREEMPT]), 0);
    }
    pods_summary_done(&summary);
    fixture_done(&fixture);
}

/* Equal reasons are grouped, and groups are sorted as text. */
static void test_groups_reasons(void **state) {
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
    ViewFixture fixture;

    (void)state;
    open_fixture(&fixture);
    note(&fixture, VERB_FILTER, "a", "a", "\"n1\"," BAD ",\"ghost\"");
    assert_true(decisions_find(fixture.decisions, 1, &found));
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
    fixture_done(&fixture);
}

/* There are more decisions than are read: only the newest count. */
static void test_reads_only_the_newest_decisions(void **state) {
    PodsSummary summary;
    ViewFixture fixture;
    char name[32];

    (void)state;
    open_fixture(&fixture);
    for (unsigned i = 0; i < PODS_SUMMARY_DECISIONS_MAX + 100; i++) {
        (void)snprintf(name, sizeof(name), "p%u", i / 2);
        note(&fixture, VERB_FILTER, name, name, "\"n4\"");
    }
    assert_int_equal(
        pods_summary_all(fixture.decisions, NULL, fixture.view, fixture.arena, &summary), 0);
    assert_int_equal(summary.n_decisions, PODS_SUMMARY_DECISIONS_MAX);
    assert_int_equal(summary.n, PODS_SUMMARY_DECISIONS_MAX / 2);
    assert_int_equal(summary.n_waiting, PODS_SUMMARY_DECISIONS_MAX / 2);
    assert_text("newest", summary.pods[0].name, name);
    pods_summary_done(&summary);
    fixture_done(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_pending_pods_first),
        cmocka_unit_test(test_pods_bound_by_others),
        cmocka_unit_test(test_finds_main_reasons),
        cmocka_unit_test(test_deleted_pods_are_not_pending),
        cmocka_unit_test(test_no_pods_without_decisions),
        cmocka_unit_test(test_attempts_of_one_pod),
        cmocka_unit_test(test_groups_reasons),
        cmocka_unit_test(test_reads_only_the_newest_decisions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
