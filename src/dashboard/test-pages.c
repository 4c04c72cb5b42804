#include "dashboard/test-dashboard-fixture.h"

/* n1 is best, n2 passes, n3 fails one rule and n4 both. Reasons contain markup. */
static const char scene_text[] =
    "policies:\n"
    "  disks:\n"
    "    match: {expression: \"pod.metadata.name != 'free'\"}\n"
    "    filters:\n"
    "      - {name: zone, nodeLabels: {zone: a}, reason: 'wrong <b>zone</b>', unresolvable: true}\n"
    "      - {name: disk, nodeLabels: {disk: ssd}, reason: slow & old}\n"
    "    scores:\n"
    "      - {name: near, expression: \"node.metadata.name == 'n1' ? 100 : 40\", weight: 3}\n"
    "      - {name: flat, expression: '20', weight: 1}\n"
    "nodes:\n"
    "  n1: {labels: {zone: a, disk: ssd}, allocatable: {cpu: 4}}\n"
    "  n2: {labels: {zone: a, disk: ssd}, taints: [{key: gpu, value: 'yes', effect: NoSchedule}]}\n"
    "  n3: {labels: {zone: a, disk: hdd, note: '<i>'}}\n"
    "  n4: {labels: {zone: b}}\n";

static void fixture_init(DashboardFixture *fixture) {
    fixture_init_text(fixture, scene_text);
}

#define ALL "\"n1\",\"n2\",\"n3\",\"n4\""
#define BAD "\"n3\",\"n4\""

/* --- pages ------------------------------------------------------------------------------------ */

static void test_pages_without_decisions(void **state) {
    static const char *const paths[] = {"/", "/pods", "/policies", "/nodes"};
    DashboardFixture fixture;

    (void)state;
    fixture_init(&fixture);
    for (size_t i = 0; i < ELEMENTS_OF(paths); i++) {
        const char *page = get(&fixture, paths[i], "", 200);

        assert_has(page, "<!DOCTYPE html>\n<html lang=\"en\">");
        assert_has(page, "id=\"health-summary\"");
        assert_has(page, "aria-current=\"page\"");
        assert_has(page, "<h1>");
        assert_has(page, "</body></html>\n");
    }
    assert_has(get(&fixture, "/", "", 200), "No decisions yet.");
    assert_has(get(&fixture, "/pod", "namespace=a&name=b", 404), "No decisions about");
    fixture_done(&fixture);
}

static void test_query_parameters(void **state) {
    static const struct {
        const char *path, *query, *said;
    } cases[] = {
        {"/", "x=1", "unknown parameter"},
        {"/", "at=yesterday", "a time like"},
        {"/pods", "state=odd", "pending or all"},
        {"/pods", "page=0", "&quot;page&quot; must be a whole number from 1 to"},
        {"/pods", "q=a&q=b", "&quot;q&quot; is given twice"},
        {"/pods", "q=%zz", "has a broken escape"},
        {"/pod", "", "namespace and name are required"},
        {"/pod", "namespace=a", "namespace and name are required"},
        {"/pod", "namespace=a&name=b&id=x", "&quot;id&quot; must be a whole number from 1 to"},
    };
    DashboardFixture fixture;

    (void)state;
    fixture_init(&fixture);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const char *page = get(&fixture, cases[i].path, cases[i].query, 400);

        assert_has(page, cases[i].said);
        assert_has(page, "href=\"/\"");
    }
    /* Empty fields of a form count as not given. */
    (void)get(&fixture, "/pods", "q=&state=&page=", 200);
    (void)get(&fixture, "/pods", "&&q=", 200);
    (void)get(&fixture, "/assets/none.js", "", 404);
    fixture_done(&fixture);
}

static void test_pending_pod(void **state) {
    const char *page;
    DashboardFixture fixture;

    (void)state;
    fixture_init(&fixture);
    decide(&fixture, VERB_FILTER, "stuck", BAD);
    decide(&fixture, VERB_FILTER, "stuck", BAD);
    assert_has(get(&fixture, "/", "", 200), "wrong &lt;b&gt;zone&lt;/b&gt;");
    assert_has(get(&fixture, "/pods", "state=waiting", 200), "namespace=team&amp;name=stuck");
    page = get(&fixture, "/pod", "namespace=team&name=stuck", 200);
    assert_has(page, " pending</strong> since ");
    assert_has(page, "0 of 2 nodes passed; 1 node: slow &amp; old");
    assert_has(page, "kube-scheduler retries when the cluster changes, at the latest at ");
    assert_has(page, "<samp>1 slow &amp; old, 1 wrong &lt;b&gt;zone&lt;/b&gt;.</samp>");
    assert_has(page, "kube-scheduler did not send 2 of 4 nodes");
    assert_has(page, "Attempt 2");
    assert_has(page, "label disk is &quot;hdd&quot;, must be &quot;ssd&quot;");
    assert_has(page, "<strong>label disk=ssd on the node</strong>: then ");
    assert_has(page, "berth explain --last team/stuck");
    assert_has_not(page, "no longer kept");
    assert_has_not(page, "Why was this node chosen?");
    assert_has_not(page, "<b>zone</b>");
    fixture_done(&fixture);
}

/* kube-scheduler tries the nominated node alone. */
static void test_nominated(void **state) {
    static const char body[] =
        "{\"Pod\":{\"metadata\":{\"namespace\":\"team\",\"name\":\"ahead\",\"uid\":\"u\"},"
        "\"status\":{\"nominatedNodeName\":\"n1\"}},\"NodeNames\":[\"n1\"]}";
    NominationRecord record = {.namespace = STR("team"),
        .name = STR("ahead"),
        .uid = STR("u"),
        .node = STR("n1"),
        .at_nsec = AT(1767225600),
        .n_feasible = 3,
        .n_best = 2};
    _cleanup_(nomination_log_freep) NominationLog *log = nomination_log_new();
    DashboardFixture fixture;
    const char *page;
    Answer answer;

    (void)state;
    fixture_init(&fixture);
    fixture.api.nominated = log;
    nomination_log_add(log, &record);
    page = get(&fixture, "/pod", "namespace=team&name=ahead", 404);
    assert_has(page, " by berth at ");
    assert_has(page, "best of 3 nodes that can take the pod");
    assert_has(page, "(2 are equal); the pod has no node yet.");
    extender_filter(
        fixture.view, /* time= */ NULL, str_of(body, sizeof(body) - 1), fixture.arena, &answer);
    note(&fixture, VERB_FILTER, &answer.decision);
    nomination_log_end(log, STR("u"), NOMINATION_USED);
    page = get(&fixture, "/pod", "namespace=team&name=ahead", 200);
    assert_has(page, "used: the pod got this node.");
    assert_has(page, "Only the nominated node was a candidate");
    assert_has(page, "the other 3 of 4 nodes only if it is rejected");
    assert_has_not(page, "percentageOfNodesToScore");
    fixture.api.nominated = NULL;
    page = get(&fixture, "/pod", "namespace=team&name=ahead", 200);
    assert_has(page, "but not by this berth (status.nominatedNodeName)");
    fixture_done(&fixture);
}

/* An attempt is found by the id of one of its decisions, or by the time. */
static void test_attempts(void **state) {
    const char *page;
    DashboardFixture fixture;

    (void)state;
    fixture_init(&fixture);
    decide(&fixture, VERB_FILTER, "twice", BAD);
    decide(&fixture, VERB_FILTER, "twice", ALL);
    page = get(&fixture, "/pod", "namespace=team&name=twice", 200);
    assert_has(page, "2 of 4 nodes passed; berth has not seen which node kube-scheduler chose");
    assert_has(page, "Attempt 2 of 2");
    page = get(&fixture, "/pod", "namespace=team&name=twice&id=1", 200);
    assert_has(page, "Attempt 1 of 2");
    assert_has(page, "follow the newest");
    (void)get(&fixture, "/pod", "namespace=team&name=twice&id=77", 404);
    /* Before the first decision. */
    (void)get(&fixture, "/pod", "namespace=team&name=twice&at=1970-01-01T00:00:07Z", 404);
    page = get(&fixture, "/pod", "namespace=team&name=twice&at=2999-01-01T00:00:00Z", 400);
    assert_has(page, "a time like");
    fixture_done(&fixture);
}

static void test_explains_the_chosen_node(void **state) {
    const char *page;
    DashboardFixture fixture;

    (void)state;
    fixture_init(&fixture);
    decide(&fixture, VERB_FILTER, "placed", ALL);
    decide(&fixture, VERB_PRIORITIZE, "placed", "\"n1\",\"n2\"");
    bind(&fixture, "placed", "n2");
    page = get(&fixture, "/pod", "namespace=team&name=placed", 200);
    assert_has(page, "✓ on node ");
    assert_has(page, "Why was this node chosen?");
    assert_has(page, ": 35.0 = 30.0 near + 5.0 flat, rank 2 of 2.");
    assert_has(page, "outweighed berth&#39;s by at least ");
    assert_has(page, "← chosen");
    assert_has(page, "at weight 1 kube-scheduler adds the score sent × 10 (0 to 100)");
    assert_has_not(page, "The smallest change");
    fixture_done(&fixture);
}

static void test_why_not(void **state) {
    static const struct {
        const char *node, *said;
    } cases[] = {
        {"n1", "✓ passed"},
        {"n3", "<strong>label disk=ssd on the node</strong>"},
        {"n4", "<strong>label zone=a on the node</strong>"},
        {"n2", "⊘ not evaluated by berth"},
        {"n2", "gpu=yes:NoSchedule"},
        {"n3", "note=&lt;i&gt;"},
        {"%3Cscript%3E", "The cluster had no node with this name then."},
    };
    char query[128];
    DashboardFixture fixture;

    (void)state;
    fixture_init(&fixture);
    decide(&fixture, VERB_FILTER, "p", "\"n1\",\"n3\",\"n4\"");
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const char *page;

        (void)snprintf(query, sizeof(query), "namespace=team&name=p&node=%s", cases[i].node);
        page = get(&fixture, "/pod", query, 200);
        assert_has(page, cases[i].said);
        assert_has_not(page, "<script>");
    }
    assert_has(get(&fixture, "/pod", "namespace=team&name=p&node=n4", 200), "label disk is absent");
    fixture_done(&fixture);
}

/* Narrowed nodes are distinguished from rejected ones. */
static void test_narrowed(void **state) {
    static const char text[] = "policies:\n"
                               "  few:\n"
                               "    scores:\n"
                               "      - {name: low, expression: \"node.metadata.name == 'n2' ? 90 "
                               ": node.metadata.name == 'n1' ? 50 : 10\"}\n"
                               "    narrow: {to: 1}\n"
                               "nodes: {n1: {}, n2: {}, n3: {}}\n";
    const char *page;
    DashboardFixture fixture;

    (void)state;
    fixture_init_text(&fixture, text);
    decide(&fixture, VERB_FILTER, "p", "\"n1\",\"n2\",\"n3\"");
    assert_has(get(&fixture, "/", "", 200), "passed</span>, only the best returned");
    page = get(&fixture, "/pod", "namespace=team&name=p&node=n1", 200);
    assert_has(page, "Not returned: 2 nodes passed, but a policy returns only the best 1");
    assert_has(page, "⊘ passed, but not returned</strong>: other nodes scored higher");
    assert_has(page, ">n1</a> (not returned)");
    assert_has(page, "; rank 2 of 3 among all nodes");
    assert_has_not(page, ">n2</a> (not returned)");
    assert_has(get(&fixture, "/node", "name=n3", 200), "passed, but not among the best");
    fixture_done(&fixture);
}

/* Among nodes that fail the same number of rules the nearest is shown, whatever their order. */
static void test_smallest_change(void **state) {
    static const char text[] = "policies:\n"
                               "  room:\n"
                               "    filters:\n"
                               "      - {name: room, expression: \"node.allocatable.cpu >= 8.0\", "
                               "reason: too small}\n"
                               "nodes:\n"
                               "  n1: {allocatable: {cpu: 2}}\n"
                               "  n2: {allocatable: {cpu: 7}}\n"
                               "  n3: {allocatable: {cpu: 4}}\n";
    const char *page;
    DashboardFixture fixture;

    (void)state;
    fixture_init_text(&fixture, text);
    decide(&fixture, VERB_FILTER, "p", "\"n1\",\"n2\",\"n3\"");
    page = strstr(get(&fixture, "/pod", "namespace=team&name=p", 200), "id=\"suggestions\"");
    assert_non_null(page);
    assert_has(page, "The smallest change that would make a node eligible");
    assert_has(page, "</strong>: then <a href=\"/node?name=n2\"");
    assert_has_not(page, "then <a href=\"/node?name=n1\"");
    fixture_done(&fixture);
}

/* Names of pods and nodes come from users, and need not be valid names. */
static void test_escapes_hostile_names(void **state) {
    static const char *const pages[] = {"/", "/pods", "/policies", "/nodes"};
    static const struct {
        const char *json, *query, *shown;
    } names[] = {
        {"<script>alert(1)</script>", "%3Cscript%3Ealert(1)%3C/script%3E",
            "&lt;script&gt;alert(1)&lt;/script&gt;"},
        {"\\\" onload=\\\"x", "%22%20onload=%22x", "&quot; onload=&quot;x"},
        {"a\\u202eb", "a%E2%80%AEb", "a\\u202eb"},
        {"--flag; rm -rf $HOME", "--flag;%20rm%20-rf%20$HOME",
            "&#39;team/--flag; rm -rf $HOME&#39;"},
    };
    DashboardFixture fixture;

    (void)state;
    fixture_init(&fixture);
    for (size_t i = 0; i < ELEMENTS_OF(names); i++) {
        char nodes[256], query[256];
        const char *page;

        (void)snprintf(nodes, sizeof(nodes), "\"n3\",\"%s\"", names[i].json);
        decide(&fixture, VERB_FILTER, names[i].json, nodes);
        (void)snprintf(
            query, sizeof(query), "namespace=team&name=%s&node=%s", names[i].query, names[i].query);
        page = get(&fixture, "/pod", query, 200);
        assert_has(page, names[i].shown);
        assert_has(page, "node is not known to berth");
        assert_has_not(page, "<script>a");
        assert_has_not(page, "\" onload=");
    }
    assert_has(get(&fixture, "/pod", "namespace=%3Ci%3E&name=a%00b", 404), "a\\x00b");
    for (size_t i = 0; i < ELEMENTS_OF(pages); i++) {
        const char *page = get(&fixture, pages[i], "", 200);

        assert_has_not(page, "<script>a");
        assert_has_not(page, "\" onload=");
        assert_has_not(page, "\xe2\x80\xae");
    }
    fixture_done(&fixture);
}

/* --- many ------------------------------------------------------------------------------------- */

static void test_paging(void **state) {
    const char *page;
    char name[16];
    DashboardFixture fixture;

    (void)state;
    fixture_init(&fixture);
    for (int i = 0; i < 250; i++) {
        (void)snprintf(name, sizeof(name), "pod-%03d", i);
        decide(&fixture, VERB_FILTER, name, BAD);
    }
    page = get(&fixture, "/pods", "", 200);
    assert_has(page, "250 pods. ");
    assert_has(page, "pod-249");
    assert_has_not(page, "pod-149<");
    assert_has(page, "href=\"/pods?page=2\"");
    page = get(&fixture, "/pods", "page=3", 200);
    assert_has(page, "team/pod-000<");
    assert_has_not(page, "page=4");
    (void)get(&fixture, "/pods", "page=4", 404);
    page = get(&fixture, "/pods", "q=POD-12", 200);
    assert_has(page, "10 pods. ");
    page = get(&fixture, "/pods", "q=team/pod-123", 200);
    assert_has(page, "1 pod. ");
    page = get(&fixture, "/pods", "q=wrong+%3Cb%3E&state=waiting&page=2", 200);
    assert_has(page, "q=wrong%20%3Cb%3E&amp;state=pending&amp;page=3");
    assert_has(get(&fixture, "/pods", "q=nothing", 200), "No matching pods.");
    fixture_done(&fixture);
}

/* --- search ----------------------------------------------------------------------------------- */

/* Where a search leads; NULL: to a list. */
static const char *target_of(DashboardFixture *fixture, const char *query) {
    const HttpRequest request = {
        .method = STR("GET"),
        .path = STR("/search"),
        .query = str_from_c(query),
        .arena = fixture->arena,
    };
    HttpReply reply = {0};

    dashboard_hook.show(&fixture->api, &request, &reply);
    if (reply.status != 303)
        return NULL;
    assert_string_equal(reply.headers[0].name, "Location");
    return reply.headers[0].value;
}

static void test_search(void **state) {
    static const struct {
        const char *query, *target; /* NULL: a list */
    } cases[] = {
        {"q=n3", "/node?name=n3"},
        {"q=N3", "/node?name=n3"},
        {"q=eb-10", "/pod?namespace=team&name=web-10"},
        {"q=web-1", "/pod?namespace=team&name=web-1"}, /* exactly, although web-10 is another hit */
        {"q=team/web-1", "/pod?namespace=team&name=web-1"},
        {"q=uid-web-10", "/pod?namespace=team&name=web-10"},
        {"q=a%26b", "/pod?namespace=team&name=a%26b%0Ax"},
        {"q=web", NULL},
        {"q=n", NULL},
        {"q=nothing", NULL},
        {"", NULL},
    };
    const char *page;
    DashboardFixture fixture;

    (void)state;
    fixture_init(&fixture);
    decide(&fixture, VERB_FILTER, "web-1", ALL);
    decide(&fixture, VERB_FILTER, "web-1", ALL);
    decide(&fixture, VERB_FILTER, "web-10", ALL);
    decide(&fixture, VERB_FILTER, "a&b\\nx", ALL);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const char *target = target_of(&fixture, cases[i].query);

        assert_case(cases[i].query, !target == !cases[i].target);
        if (target)
            assert_string_equal(target, cases[i].target);
    }
    page = get(&fixture, "/search", "q=n", 200);
    assert_has(page, "4 nodes.");
    assert_has(page, "href=\"/node?name=n4\"");
    page = get(&fixture, "/search", "q=web", 200);
    assert_has(page, "2 pods.");
    assert_has(page, "name=web-10\" class=\"pod\"");
    assert_has(page, "href=\"/pods?q=web\"");
    page = get(&fixture, "/search", "q=%3Cb%3E", 200);
    assert_has(page, "No node and no recent pod has such a name.");
    assert_has(page, "<b>&lt;b&gt;</b>");
    fixture_done(&fixture);
}

/* --- headers ---------------------------------------------------------------------------------- */

static void test_headers(void **state) {
    static const char *const names[] = {"Content-Security-Policy", "X-Content-Type-Options",
        "Referrer-Policy", "Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy",
        "Permissions-Policy"};
    static const char *const paths[] = {"/", "/assets/dashboard.css", "/assets/none"};
    DashboardFixture fixture;

    (void)state;
    fixture_init(&fixture);
    for (size_t i = 0; i < ELEMENTS_OF(paths); i++) {
        const HttpRequest request = {.path = str_from_c(paths[i]), .arena = fixture.arena};
        HttpReply reply = {0};

        dashboard_hook.show(&fixture.api, &request, &reply);
        for (size_t j = 0; j < ELEMENTS_OF(names); j++) {
            size_t k = 0;

            while (k < reply.n_headers && strcmp(reply.headers[k].name, names[j]) != 0)
                k++;
            assert_case(names[j], k < reply.n_headers);
        }
    }
    fixture_done(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_without_decisions),
        cmocka_unit_test(test_query_parameters),
        cmocka_unit_test(test_pending_pod),
        cmocka_unit_test(test_nominated),
        cmocka_unit_test(test_attempts),
        cmocka_unit_test(test_explains_the_chosen_node),
        cmocka_unit_test(test_why_not),
        cmocka_unit_test(test_narrowed),
        cmocka_unit_test(test_smallest_change),
        cmocka_unit_test(test_escapes_hostile_names),
        cmocka_unit_test(test_paging),
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_headers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
