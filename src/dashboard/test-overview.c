/* The overview, and the list of pods that it leads to. */

#include "dashboard/test-dashboard-fixture.h"

static const char scene_text[] =
    "policies:\n"
    "  disks:\n"
    "    filters:\n"
    "      - {name: zone, nodeLabels: {zone: a}, reason: wrong <zone>}\n"
    "      - {name: disk, nodeLabels: {disk: ssd}, reason: slow disk}\n"
    "      - {name: never, expression: 'true', reason: rejects nothing}\n"
    "  more:\n"
    "    filters:\n"
    "      - {name: size, expression: \"node.allocatable.cpu >= 2.0\", reason: too small}\n"
    "nodes:\n"
    "  n1: {labels: {zone: a, disk: ssd}, allocatable: {cpu: 4}}\n"
    "  n2: {labels: {zone: a, disk: ssd}, allocatable: {cpu: 1}}\n"
    "  n3: {labels: {zone: a}, allocatable: {cpu: 4}}\n"
    "  n4: {labels: {zone: b}, allocatable: {cpu: 4}}\n";

/* How often @part is in @page. */
static size_t count(const char *page, const char *part) {
    size_t n = 0;

    for (const char *at = strstr(page, part); at; at = strstr(at + 1, part))
        n++;
    return n;
}

/* The part of @page from @from to @to. */
static const char *cut(
    DashboardFixture *fixture, const char *page, const char *from, const char *to) {
    const char *begin = strstr(page, from), *end = begin ? strstr(begin, to) : NULL;

    if (!end)
        fail_msg("no %s to %s in %s", from, to, page);
    return arena_copy(fixture->arena, str_of(begin, (size_t)(end - begin))).ptr;
}

static void test_pending_pods_are_grouped(void **state) {
    const char *page, *waiting;
    DashboardFixture fixture;

    (void)state;
    fixture_init_text(&fixture, scene_text);
    decide_owned(&fixture, VERB_FILTER, "sum-1", "sum", "\"n3\"");
    decide_owned(&fixture, VERB_FILTER, "sum-2", "sum", "\"n3\"");
    decide_owned(&fixture, VERB_FILTER, "sum-3", "sum", "\"n4\"");
    decide_owned(&fixture, VERB_FILTER, "sum-4", "sum", "\"n1\"");
    decide(&fixture, VERB_FILTER, "sum-alone", "\"n3\"");
    page = get(&fixture, "/", "", 200);
    waiting = cut(&fixture, page, "<section id=\"wait\"", "</section>");
    assert_int_equal(count(waiting, "<tr>"), 4); /* the heading is one */
    assert_has(
        waiting, "workload=team%2FJob%2Fsum\" class=\"pod\">team/sum</a> <small>Job</small>");
    assert_has(waiting, "class=\"number\">2</td>");
    assert_has(waiting, "name=sum-3\" class=\"pod\">team/sum-3</a>"); /* alone with its reason */
    assert_has(waiting, "name=sum-alone\" class=\"pod\">");
    assert_has(waiting, "wrong &lt;zone&gt;");
    assert_has_not(waiting, "sum-4");
    page = get(&fixture, "/pods", "state=pending&workload=team/Job/sum", 200);
    assert_has(page, "3 pods. ");
    assert_has(page, "Only pods of team/Job/sum.");
    assert_has_not(page, "sum-alone");
    assert_has(get(&fixture, "/pods", "workload=team/Job/none", 200), "No matching pods.");
    fixture_done(&fixture);
}

/* More groups than are shown: the link has the number of all pods. */
static void test_many_groups(void **state) {
    DashboardFixture fixture;
    char name[32];

    (void)state;
    fixture_init_text(&fixture, scene_text);
    for (int i = 0; i < 12; i++) {
        (void)snprintf(name, sizeof(name), "alone-%d", i);
        decide(&fixture, VERB_FILTER, name, "\"n3\"");
    }
    assert_has(get(&fixture, "/", "", 200), ">All 12 pending pods</a>");
    fixture_done(&fixture);
}

/* The verbs of a pod's last attempt are in one row. */
static void test_one_row_for_a_pod(void **state) {
    const char *newest;
    DashboardFixture fixture;

    (void)state;
    fixture_init_text(&fixture, scene_text);
    decide(&fixture, VERB_FILTER, "twice", "\"n3\"");
    decide(&fixture, VERB_FILTER, "other", "\"n1\",\"n3\"");
    decide(&fixture, VERB_FILTER, "twice", "\"n1\",\"n2\",\"n3\"");
    decide(&fixture, VERB_PRIORITIZE, "twice", "\"n1\"");
    bind(&fixture, "twice", "n1");
    newest = cut(&fixture, get(&fixture, "/", "", 200), "<section id=\"newest\"", "</section>");
    assert_int_equal(count(newest, ">team/twice</a>"), 1);
    assert_int_equal(count(newest, ">team/other</a>"), 1);
    assert_has(newest, "3 → 1</td>");
    assert_has(newest, ">filter, prioritize, bind</td>");
    assert_has(newest, "✓ bound to ");
    assert_has_not(newest, "no node passed"); /* of the attempt before */
    fixture_done(&fixture);
}

static void test_rules_are_ranked_across_policies(void **state) {
    const char *rules, *size, *disk, *zone, *never;
    DashboardFixture fixture;

    (void)state;
    fixture_init_text(&fixture, scene_text);
    decide(&fixture, VERB_FILTER, "a", "\"n1\",\"n2\",\"n3\",\"n4\"");
    decide(&fixture, VERB_FILTER, "b", "\"n2\",\"n3\"");
    decide(&fixture, VERB_FILTER, "c", "\"n2\"");
    rules =
        cut(&fixture, get(&fixture, "/policies", "", 200), "<section id=\"ranked\"", "</section>");
    size = strstr(rules, ">size</th>");
    disk = strstr(rules, ">disk</th>");
    zone = strstr(rules, ">zone</th>");
    never = strstr(rules, ">never</th>");
    assert_true(size && disk && zone && never && size < disk && disk < zone && zone < never);
    fixture_done(&fixture);
}

static void test_charts(void **state) {
    const char *hour;
    DashboardFixture fixture;
    int64_t now = clock_monotonic_nsec();

    (void)state;
    fixture_init_text(&fixture, scene_text);
    hour = cut(&fixture, get(&fixture, "/", "", 200), "<section id=\"hour\"", "</section>");
    assert_has(hour, "Last 10 minutes");
    assert_has(hour, "Pending pods</span>: no data yet");
    latency_note_pending(fixture.api.latency, 7, now - AT(40));
    latency_note_pending(fixture.api.latency, 5, now - AT(20));
    hour = cut(&fixture, get(&fixture, "/", "", 200), "<section id=\"hour\"", "</section>");
    assert_has(hour, "Pending pods</span>: last <b>5</b>, highest <b>7</b>");
    assert_has(hour, "Decisions</span>");
    assert_has(hour, "Filter p99 latency</span>");
    fixture_done(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pending_pods_are_grouped),
        cmocka_unit_test(test_many_groups),
        cmocka_unit_test(test_one_row_for_a_pod),
        cmocka_unit_test(test_rules_are_ranked_across_policies),
        cmocka_unit_test(test_charts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
