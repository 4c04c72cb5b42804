/* InterPodAffinity: cases with numbers computed by hand from its rules. */

#include "simulate/test-simulation.h"

#define NODE(name, labels)                                                                         \
    "---\nkind: Node\nmetadata: {name: " name ", labels: {host: " name labels                      \
    "}}\nstatus: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}\n"
#define RUNNING(name, namespace, node, labels, affinity)                                           \
    "---\nkind: Pod\nmetadata: {name: " name                                                       \
    ", namespace: " namespace ", labels: {" labels "}}\nspec: {nodeName: " node                    \
                              ", containers: [{name: c}], affinity: {" affinity "}}\n"
#define NAMESPACE(name, labels)                                                                    \
    "---\nkind: Namespace\nmetadata: {name: " name ", labels: {" labels "}}\n"
#define NODES NODE("a", ", zone: x") NODE("b", ", zone: x") NODE("c", ", zone: y") NODE("d", "")
#define CLUSTER                                                                                    \
    NODES RUNNING("web", "default", "a", "app: web", "") RUNNING("db", "default", "c",             \
        "app: db, tier: back", "") RUNNING("shop", "shop", "b", "app: shop", "")

#define TERM(key, selector, more) "{topologyKey: " key ", labelSelector: {" selector "}" more "}"
#define APP(name) "matchLabels: {app: " name "}"
#define REQUIRED "{requiredDuringSchedulingIgnoredDuringExecution: ["
#define PREFERRED "{preferredDuringSchedulingIgnoredDuringExecution: ["
#define NEAR(terms) "podAffinity: " REQUIRED terms "]}"
#define APART(terms) "podAntiAffinity: " REQUIRED terms "]}"
#define LIKES(weight, term)                                                                        \
    "podAffinity: " PREFERRED "{weight: " weight ", podAffinityTerm: " term "}]}"
#define DISLIKES(weight, term)                                                                     \
    "podAntiAffinity: " PREFERRED "{weight: " weight ", podAffinityTerm: " term "}]}"

static void open_with(
    TestSimulation *simulation, const char *cluster, const char *labels, const char *affinity) {
    char pods[4096];

    (void)snprintf(pods, sizeof(pods),
        "kind: Pod\nmetadata: {name: p, labels: {%s}}\nspec: {containers: [{name: c}], affinity: "
        "{%s}}\n",
        labels, affinity);
    test_simulation_open(simulation, cluster, pods);
}

static Choice inspect(TestSimulation *simulation, uint32_t row) {
    Choice choice;

    assert_int_equal(scheduler_choose(simulation->scheduler, simulation->input->arrivals[0].request,
                         0, row, &choice),
        0);
    return choice;
}

/* --- filter -------------------------------------------------------------------- */

static void check_filter(const char *name, const char *cluster, const char *labels,
    const char *affinity, const char *expected) {
    char got[8] = "";
    size_t n = 0;
    TestSimulation simulation;

    open_with(&simulation, cluster, labels, affinity);
    for (uint32_t row = 0; row < 4; row++)
        if (inspect(&simulation, row).is_feasible)
            got[n++] = (char)('a' + row);
    assert_text(name, str_from_c(got), expected);
    test_simulation_done(&simulation);
}

static void test_filters_by_the_pods_own_terms(void **state) {
    static const struct {
        const char *name, *labels, *affinity, *expected;
    } cases[] = {
        {"nothing", "app: web", "", "abcd"},
        {"apart by host", "", APART(TERM("host", APP("web"), "")), "bcd"},
        {"apart by zone; a node without the label passes", "", APART(TERM("zone", APP("web"), "")),
            "cd"},
        {"apart from none", "", APART(TERM("zone", APP("api"), "")), "abcd"},
        {"apart, each of two terms", "",
            APART(TERM("host", APP("web"), "") ", " TERM("host", APP("db"), "")), "bd"},
        {"In", "",
            APART(TERM(
                "host", "matchExpressions: [{key: app, operator: In, values: [web, db]}]", "")),
            "bd"},
        {"NotIn", "",
            APART(
                TERM("host", "matchExpressions: [{key: app, operator: NotIn, values: [db]}]", "")),
            "bcd"},
        {"Exists", "", APART(TERM("host", "matchExpressions: [{key: tier, operator: Exists}]", "")),
            "abd"},
        {"DoesNotExist", "",
            APART(TERM("host", "matchExpressions: [{key: tier, operator: DoesNotExist}]", "")),
            "bcd"},
        {"an invalid operator selects none", "",
            APART(TERM("host", "matchExpressions: [{key: app, operator: Gt, values: ['1']}]", "")),
            "abcd"},
        {"an empty selector selects all of the namespace", "", APART(TERM("host", "", "")), "bd"},
        {"no selector selects none", "", APART("{topologyKey: host}"), "abcd"},
        {"other namespaces do not count", "", APART(TERM("host", APP("shop"), "")), "abcd"},
        {"namespaces", "", APART(TERM("host", APP("shop"), ", namespaces: [shop]")), "acd"},
        {"namespaces: not its own then", "",
            APART(TERM("host", APP("web"), ", namespaces: [shop]")), "abcd"},
        {"all namespaces", "", APART(TERM("host", "", ", namespaceSelector: {}")), "d"},
        {"near by zone; a node without the label fails", "", NEAR(TERM("zone", APP("web"), "")),
            "ab"},
        {"near by host", "", NEAR(TERM("host", APP("db"), "")), "c"},
        {"near no pod", "", NEAR(TERM("zone", APP("api"), "")), ""},
        {"the first of its group goes anywhere with the label", "app: api",
            NEAR(TERM("zone", APP("api"), "")), "abc"},
        {"but the second does not", "app: web", NEAR(TERM("zone", APP("web"), "")), "ab"},
        {"two terms: one pod must match both", "",
            NEAR(TERM("zone", APP("db"), "") ", " TERM("zone", "matchLabels: {tier: back}", "")),
            "c"},
        {"two terms: two pods are not enough", "",
            NEAR(TERM("zone", APP("web"), "") ", " TERM("zone", "matchLabels: {tier: back}", "")),
            ""},
        {"near and apart", "",
            NEAR(TERM("zone", APP("web"), "")) ", " APART(TERM("host", APP("web"), "")), "b"},
        {"matchLabelKeys", "app: web, tier: back",
            APART(TERM("host", "matchExpressions: [{key: app, operator: Exists}]",
                ", matchLabelKeys: [tier, none]")),
            "abd"},
        {"mismatchLabelKeys", "tier: back",
            APART(TERM("host", "matchExpressions: [{key: app, operator: Exists}]",
                ", mismatchLabelKeys: [tier]")),
            "bcd"},
        {"preferred terms do not filter", "", DISLIKES("100", TERM("host", APP("web"), "")),
            "abcd"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        check_filter(cases[i].name, CLUSTER, cases[i].labels, cases[i].affinity, cases[i].expected);
}

static void test_filters_by_the_terms_of_running_pods(void **state) {
    static const struct {
        const char *name, *running, *labels, *expected;
    } cases[] = {
        {"anti-affinity by zone",
            RUNNING("r", "default", "a", "", APART(TERM("zone", APP("web"), ""))), "app: web",
            "cd"},
        {"not of other pods", RUNNING("r", "default", "a", "", APART(TERM("zone", APP("web"), ""))),
            "app: api", "abcd"},
        {"of another namespace", RUNNING("r", "shop", "a", "", APART(TERM("zone", APP("web"), ""))),
            "app: web", "abcd"},
        {"of another namespace, for this one",
            RUNNING(
                "r", "shop", "a", "", APART(TERM("zone", APP("web"), ", namespaces: [default]"))),
            "app: web", "cd"},
        {"of a node without the label",
            RUNNING("r", "default", "d", "", APART(TERM("zone", APP("web"), ""))), "app: web",
            "abcd"},
        {"by labels of the namespace",
            NAMESPACE("default", "team: one") RUNNING("r", "shop", "c", "",
                APART(TERM("host", APP("web"), ", namespaceSelector: {matchLabels: {team: one}}"))),
            "app: web", "abd"},
        {"by other labels of the namespace",
            NAMESPACE("default", "team: two") RUNNING("r", "shop", "c", "",
                APART(TERM("host", APP("web"), ", namespaceSelector: {matchLabels: {team: one}}"))),
            "app: web", "abcd"},
        {"required affinity keeps none off",
            RUNNING("r", "default", "a", "", NEAR(TERM("zone", APP("web"), ""))), "app: web",
            "abcd"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char cluster[8192];

        (void)snprintf(cluster, sizeof(cluster), "%s%s", NODES, cases[i].running);
        check_filter(cases[i].name, cluster, cases[i].labels, "", cases[i].expected);
    }
}

static void test_reasons_are_those_of_the_plugin(void **state) {
    static const struct {
        const char *running, *affinity, *expected;
    } cases[] = {
        {"", NEAR(TERM("host", APP("none"), "")),
            "0/4 nodes are available: 4 node(s) didn't match pod affinity rules."},
        {RUNNING("r", "default", "a", "app: x", ""), APART(TERM("zone", APP("x"), "")),
            "0/4 nodes are available: 2 node(s) didn't match pod anti-affinity rules."},
        {RUNNING("r", "default", "a", "app: x", APART(TERM("zone", APP("web"), ""))), "",
            "0/4 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules."},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(1024);
        TestSimulation simulation;
        char cluster[8192];

        (void)snprintf(cluster, sizeof(cluster), "%s%s", NODES, cases[i].running);
        open_with(&simulation, cluster, "app: web", cases[i].affinity);
        (void)inspect(&simulation, 0);
        scheduler_print_fit_error(simulation.scheduler, &text);
        assert_text(cases[i].expected, buf_str(&text), cases[i].expected);
        test_simulation_done(&simulation);
    }
}

/* --- score --------------------------------------------------------------------- */

/* Compares with a pod that the plugin does not score: the other plugins score both alike. */
static void test_scores_by_both_sides(void **state) {
    static const struct {
        const char *name, *running, *labels, *affinity;
        int64_t expected[4];
    } cases[] = {
        {"none", "", "app: web", "", {0, 0, 0, 0}},
        {"its own, by zone", RUNNING("r", "default", "a", "app: x", ""), "",
            LIKES("10", TERM("zone", APP("x"), "")), {200, 200, 0, 0}},
        {"its own, against", RUNNING("r", "default", "a", "app: x", ""), "",
            DISLIKES("10", TERM("zone", APP("x"), "")), {0, 0, 200, 200}},
        {"two pods in x, one in y: 100 and 50",
            RUNNING("r", "default", "a", "app: x", "") RUNNING("s", "default", "b", "app: x", "")
                RUNNING("t", "default", "c", "app: x", ""),
            "", LIKES("7", TERM("zone", APP("x"), "")), {200, 200, 100, 0}},
        {"two terms: 30 and -20 on a, 30 on b: from -20",
            RUNNING("r", "default", "a", "app: x", ""), "",
            LIKES("30", TERM("zone", APP("x"), "")) ", " DISLIKES("50", TERM("host", APP("x"), "")),
            {0, 200, 80, 80}},
        {"a running pod likes it",
            RUNNING("r", "default", "c", "", LIKES("3", TERM("zone", APP("web"), ""))), "app: web",
            "", {0, 0, 200, 0}},
        {"a running pod dislikes it",
            RUNNING("r", "default", "c", "", DISLIKES("3", TERM("zone", APP("web"), ""))),
            "app: web", "", {200, 200, 0, 200}},
        {"a running pod requires it: weight 1, of 2",
            RUNNING("r", "default", "c", "", NEAR(TERM("zone", APP("web"), "")))
                RUNNING("s", "default", "a", "", LIKES("2", TERM("host", APP("web"), ""))),
            "app: web", "", {200, 0, 100, 0}},
        {"not it", RUNNING("r", "default", "c", "", LIKES("3", TERM("zone", APP("api"), ""))),
            "app: web", "", {0, 0, 0, 0}},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char cluster[8192], plain[8192];
        TestSimulation simulation, other;

        (void)snprintf(cluster, sizeof(cluster), "%s%s", NODES, cases[i].running);
        (void)snprintf(plain, sizeof(plain), "%s%s", NODES, cases[i].running);
        open_with(&simulation, cluster, cases[i].labels, cases[i].affinity);
        open_with(&other, plain, "other: pod", "");
        for (uint32_t row = 0; row < 4; row++) {
            int64_t got =
                inspect(&simulation, row).inspected_score - inspect(&other, row).inspected_score;

            if (got != cases[i].expected[row])
                print_error("%s: row %u: %lld\n", cases[i].name, row, (long long)got);
            assert_case(cases[i].name, got == cases[i].expected[row]);
        }
        test_simulation_done(&simulation);
        test_simulation_done(&other);
    }
}

/* --- counting ------------------------------------------------------------------ */

/* A pod that ends counts no more, in any role. */
static void test_pods_that_end_do_not_count(void **state) {
    TestSimulation simulation;

    (void)state;
    open_with(&simulation,
        NODES RUNNING("r", "default", "a", "app: x",
            APART(TERM("zone", APP("web"), "")) ", " LIKES("3", TERM("host", APP("web"), ""))),
        "app: web", APART(TERM("host", APP("x"), "")));
    assert_false(inspect(&simulation, 0).is_feasible);
    assert_false(inspect(&simulation, 1).is_feasible);
    cluster_state_remove(simulation.cluster, 0, &simulation.input->existing[0].footprint);
    for (uint32_t row = 0; row < 4; row++)
        assert_true(inspect(&simulation, row).is_best);
    test_simulation_done(&simulation);
}

static void test_pods_of_unknown_namespaces_are_reported(void **state) {
    static const struct {
        const char *name, *cluster, *labels, *affinity;
        size_t expected;
    } cases[] = {
        {"its own term", NODES, "",
            APART(TERM("zone", APP("x"), ", namespaceSelector: {matchLabels: {a: b}}")), 1},
        {"with Namespaces", NODES NAMESPACE("default", ""), "",
            APART(TERM("zone", APP("x"), ", namespaceSelector: {matchLabels: {a: b}}")), 0},
        {"all namespaces", NODES, "", APART(TERM("zone", APP("x"), ", namespaceSelector: {}")), 0},
        {"a running pod's term that may select it",
            NODES RUNNING("r", "shop", "a", "",
                APART(TERM("zone", APP("x"), ", namespaceSelector: {matchLabels: {a: b}}"))),
            "app: x", "", 1},
        {"a running pod's term that cannot select it",
            NODES RUNNING("r", "shop", "a", "",
                APART(TERM("zone", APP("x"), ", namespaceSelector: {matchLabels: {a: b}}"))),
            "app: y", "", 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        TestSimulation simulation;

        open_with(&simulation, cases[i].cluster, cases[i].labels, cases[i].affinity);
        assert_case(cases[i].name,
            simulation.input->n_unmodelled[UNMODELLED_NAMESPACES] == cases[i].expected);
        test_simulation_done(&simulation);
    }
}

/* More different terms than are counted: all pods are reported. */
static void test_reports_too_many_terms(void **state) {
    _cleanup_(buf_done) Buf pods = BUF_INIT(16 * 1024 * 1024);
    TestSimulation simulation;

    (void)state;
    for (unsigned i = 0; i <= TERM_INDEX_TERMS_MAX; i++)
        buf_printf(&pods,
            "---\nkind: Pod\nmetadata: {name: p%u}\nspec: {affinity: {podAntiAffinity: "
            "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: host, labelSelector: "
            "{matchLabels: {n: '%u'}}}]}}}\n",
            i, i);
    buf_append_char(&pods, '\0');
    test_simulation_load(&simulation, NODES, buf_str(&pods).ptr, NULL);
    assert_int_equal(simulation.input->n_unmodelled[UNMODELLED_TERMS], TERM_INDEX_TERMS_MAX + 1);
    test_simulation_done(&simulation);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filters_by_the_pods_own_terms),
        cmocka_unit_test(test_filters_by_the_terms_of_running_pods),
        cmocka_unit_test(test_reasons_are_those_of_the_plugin),
        cmocka_unit_test(test_scores_by_both_sides),
        cmocka_unit_test(test_pods_that_end_do_not_count),
        cmocka_unit_test(test_pods_of_unknown_namespaces_are_reported),
        cmocka_unit_test(test_reports_too_many_terms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
