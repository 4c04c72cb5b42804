#include "history/pods-summary.h"

#include <stdio.h>

#include "base/nsec.h"
#include "history/test-view-fixture.h"

static const char scene_text[] =
    "policies:\n"
    "  zones:\n"
    "    filters:\n"
    "      - {name: zone, nodeLabels: {zone: a}, reason: wrong zone}\n"
    "      - {name: disk, nodeLabels: {disk: ssd}, reason: slow disk}\n"
    "nodes:\n"
    "  n1: {labels: {zone: a, disk: ssd}}\n"
    "  n2: {labels: {zone: a}}\n"
    "  n3: {labels: {zone: b}}\n";

/* Notes a filter of team/@pod, of the Job @job (empty: without an owner), for the node @node. */
static void note(ViewFixture *fixture, const char *pod, const char *job, const char *node) {
    Str owner = *job ? arena_printf(fixture->arena,
                           ",\"ownerReferences\":[{\"kind\":\"Job\",\"name\":\"%s\",\"uid\":\"%s\","
                           "\"controller\":true}]",
                           job, job)
                     : STR("");
    Str body = arena_printf(fixture->arena,
        "{\"Pod\":{\"metadata\":{\"namespace\":\"team\",\"name\":\"%s\",\"uid\":\"uid-%s\"%.*s}},"
        "\"NodeNames\":[\"%s\"]}",
        pod, pod, STR_FMT(owner), node);

    fixture->now += NSEC_PER_SEC;
    fixture_request(fixture->decisions, fixture->view, VERB_FILTER, body,
        (PastTimes){.at_nsec = fixture->now, .duration_nsec = 1000});
}

/* Prints "WORKLOAD PODS FIRST LAST RULE". */
static void print_group(const PendingGroup *group, char text[static 128]) {
    (void)snprintf(text, 128, "%.*s %zu %.*s %.*s %.*s", STR_FMT(group->workload), group->n,
        STR_FMT(group->first->name), STR_FMT(group->last->name), STR_FMT(group->last->rule));
}

static void test_groups_pods_by_workload_and_reason(void **state) {
    static const char *const want[] = {
        "team/Job/sum 3 sum-a sum-a disk",    /* most pods first */
        " 1 alone alone disk",                /* then pending longest */
        "team/Job/sum 1 sum-d sum-d zone",    /* another reason */
        " 1 alone-too alone-too disk",        /* no owner: its own group */
        "team/Job/rest 1 rest-a rest-a disk", /* another owner */
    };
    PodsSummary summary;
    PendingGroups groups;
    ViewFixture fixture;
    char text[128];

    (void)state;
    fixture_init(&fixture, scene_text);
    fixture.now = 1000 * NSEC_PER_SEC;
    fixture.decisions = decisions_new(1000, FIXTURE_HISTORY_BYTES);
    note(&fixture, "alone", "", "n2");
    note(&fixture, "sum-a", "sum", "n2");
    note(&fixture, "sum-b", "sum", "n2");
    note(&fixture, "sum-d", "sum", "n3");
    note(&fixture, "alone-too", "", "n2");
    note(&fixture, "rest-a", "rest", "n2");
    note(&fixture, "sum-c", "sum", "n2");
    note(&fixture, "sum-e", "sum", "n1"); /* passes */
    note(&fixture, "sum-a", "sum", "n2");
    assert_int_equal(
        pods_summary_all(fixture.decisions, NULL, fixture.view, fixture.arena, &summary), 0);
    assert_int_equal(pending_groups_make(&summary, fixture.arena, &groups), 0);
    assert_int_equal(groups.n_pods, 7);
    assert_int_equal(groups.n, ELEMENTS_OF(want));
    for (size_t i = 0; i < groups.n; i++) {
        print_group(&groups.groups[i], text);
        assert_text("group", str_from_c(text), want[i]);
    }
    pods_summary_done(&summary);
    fixture_done(&fixture);
}

static void test_no_groups_without_pending_pods(void **state) {
    PodsSummary summary;
    PendingGroups groups;
    ViewFixture fixture;

    (void)state;
    fixture_init(&fixture, scene_text);
    fixture.decisions = decisions_new(1000, FIXTURE_HISTORY_BYTES);
    note(&fixture, "fine", "sum", "n1");
    assert_int_equal(
        pods_summary_all(fixture.decisions, NULL, fixture.view, fixture.arena, &summary), 0);
    assert_int_equal(pending_groups_make(&summary, fixture.arena, &groups), 0);
    assert_int_equal(groups.n, 0);
    pods_summary_done(&summary);
    fixture_done(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_pods_by_workload_and_reason),
        cmocka_unit_test(test_no_groups_without_pending_pods),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
