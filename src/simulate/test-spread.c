/* PodTopologySpread: cases with numbers computed by hand from its rules. */

#include "simulate/test-simulation.h"

#define NODE(name, labels, spec)                                                                   \
    "---\nkind: Node\nmetadata: {name: " name ", labels: {kubernetes.io/hostname: " name labels    \
    "}}\nspec: {" spec "}\nstatus: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}\n"
#define ZONE(name) ", topology.kubernetes.io/zone: " name
#define RUNNING(name, node, labels)                                                                \
    "---\nkind: Pod\nmetadata: {name: " name ", labels: {" labels "}}\nspec: {nodeName: " node     \
    ", containers: [{name: c}]}\n"
#define NODES                                                                                      \
    NODE("a", ZONE("x"), "")                                                                       \
    NODE("b", ZONE("x"), "") NODE("c", ZONE("y") ", disk: ssd", "") NODE("d", "", "")
#define POD(labels, spec)                                                                          \
    "kind: Pod\nmetadata: {name: p, labels: {" labels "}}\nspec: {containers: [{name: c}], " spec  \
    "}\n"
#define BY_ZONE "topologyKey: topology.kubernetes.io/zone"
#define BY_NODE "topologyKey: kubernetes.io/hostname"
#define WEB "labelSelector: {matchLabels: {app: web}}"
#define HARD "whenUnsatisfiable: DoNotSchedule"
#define SOFT "whenUnsatisfiable: ScheduleAnyway"
#define SPREADS(constraints) "topologySpreadConstraints: [" constraints "]"

static Choice inspect(TestSimulation *simulation, uint32_t row) {
    Choice choice;

    assert_int_equal(scheduler_choose(simulation->scheduler, simulation->input->arrivals[0].request,
                         0, row, &choice),
        0);
    return choice;
}

/* --- filter -------------------------------------------------------------------- */

static void check_filter(
    const char *name, const char *running, const char *pod, const char *expected) {
    char cluster[8192], got[8] = "";
    size_t n = 0;
    TestSimulation simulation;

    (void)snprintf(cluster, sizeof(cluster), "%s%s", NODES, running);
    test_simulation_open(&simulation, cluster, pod);
    for (uint32_t row = 0; row < 4; row++)
        if (inspect(&simulation, row).is_feasible)
            got[n++] = (char)('a' + row);
    assert_text(name, str_from_c(got), expected);
    test_simulation_done(&simulation);
}

#define ONE_IN_X RUNNING("r", "a", "app: web")
#define TWO_IN_X ONE_IN_X RUNNING("s", "b", "app: web")

static void test_filters_by_required_constraints(void **state) {
    static const struct {
        const char *name, *running, *pod, *expected;
    } cases[] = {
        {"none runs: every node with the label", "",
            POD("app: web", SPREADS("{maxSkew: 1, " BY_ZONE ", " HARD ", " WEB "}")), "abc"},
        {"one in x", ONE_IN_X,
            POD("app: web", SPREADS("{maxSkew: 1, " BY_ZONE ", " HARD ", " WEB "}")), "c"},
        {"one in x, skew 2", ONE_IN_X,
            POD("app: web", SPREADS("{maxSkew: 2, " BY_ZONE ", " HARD ", " WEB "}")), "abc"},
        {"it does not count itself", ONE_IN_X,
            POD("app: api", SPREADS("{maxSkew: 1, " BY_ZONE ", " HARD ", " WEB "}")), "abc"},
        {"two in x", TWO_IN_X,
            POD("app: api", SPREADS("{maxSkew: 1, " BY_ZONE ", " HARD ", " WEB "}")), "c"},
        {"by node", ONE_IN_X,
            POD("app: web", SPREADS("{maxSkew: 1, " BY_NODE ", " HARD ", " WEB "}")), "bcd"},
        {"by zone and by node: d has no zone", ONE_IN_X,
            POD("app: web", SPREADS("{maxSkew: 2, " BY_ZONE ", " HARD ", " WEB
                                    "}, {maxSkew: 1, " BY_NODE ", " HARD ", " WEB "}")),
            "bc"},
        {"both: a node without a zone is no domain of the second",
            RUNNING("r", "a", "app: web") RUNNING("s", "b", "app: web")
                RUNNING("t", "c", "app: web"),
            POD("app: web", SPREADS("{maxSkew: 9, " BY_ZONE ", " HARD ", " WEB
                                    "}, {maxSkew: 1, " BY_NODE ", " HARD ", " WEB "}")),
            "abc"},
        {"an empty selector counts none", TWO_IN_X,
            POD("app: web", SPREADS("{maxSkew: 1, " BY_ZONE ", " HARD ", labelSelector: {}}")),
            "abc"},
        {"no selector selects none", TWO_IN_X,
            POD("app: web", SPREADS("{maxSkew: 1, " BY_ZONE ", " HARD "}")), "abc"},
        {"matchLabelKeys", RUNNING("r", "a", "app: web, v: '1'"),
            POD("app: web, v: '2'",
                SPREADS("{maxSkew: 1, " BY_ZONE ", " HARD ", " WEB ", matchLabelKeys: [v, none]}")),
            "abc"},
        {"matchLabelKeys, the same", RUNNING("r", "a", "app: web, v: '2'"),
            POD("app: web, v: '2'",
                SPREADS("{maxSkew: 1, " BY_ZONE ", " HARD ", " WEB ", matchLabelKeys: [v]}")),
            "c"},
        {"other namespaces do not count",
            "---\nkind: Pod\nmetadata: {name: r, namespace: shop, labels: {app: web}}\nspec: "
            "{nodeName: a}\n",
            POD("app: web", SPREADS("{maxSkew: 1, " BY_ZONE ", " HARD ", " WEB "}")), "abc"},
        {"pods that are being deleted do not count",
            "---\nkind: Pod\nmetadata: {name: r, labels: {app: web}, deletionTimestamp: "
            "'2026-01-01T00:00:00Z'}\nspec: {nodeName: a}\n",
            POD("app: web", SPREADS("{maxSkew: 1, " BY_ZONE ", " HARD ", " WEB "}")), "abc"},
        {"minDomains: the least is 0", ONE_IN_X RUNNING("s", "c", "app: web"),
            POD("app: web", SPREADS("{maxSkew: 1, minDomains: 3, " BY_ZONE ", " HARD ", " WEB "}")),
            ""},
        {"minDomains: enough", ONE_IN_X RUNNING("s", "c", "app: web"),
            POD("app: web", SPREADS("{maxSkew: 1, minDomains: 2, " BY_ZONE ", " HARD ", " WEB "}")),
            "abc"},
        {"nodeSelector: y is no domain", ONE_IN_X,
            POD("app: web", "nodeSelector: {topology.kubernetes.io/zone: x}, " SPREADS(
                                "{maxSkew: 1, " BY_ZONE ", " HARD ", " WEB "}")),
            "ab"},
        {"nodeSelector, ignored", ONE_IN_X,
            POD("app: web",
                "nodeSelector: {topology.kubernetes.io/zone: x}, " SPREADS(
                    "{maxSkew: 1, nodeAffinityPolicy: Ignore, " BY_ZONE ", " HARD ", " WEB "}")),
            ""},
        {"tainted nodes are domains",
            ONE_IN_X RUNNING("s", "b", "app: web") RUNNING("t", "c", "app: web") RUNNING("u", "d",
                "app: web") NODE("e", ZONE("z"), "taints: [{key: k, effect: NoSchedule}]"),
            POD("app: web", SPREADS("{maxSkew: 1, " BY_ZONE ", " HARD ", " WEB "}")), ""},
        {"tainted nodes, honored",
            ONE_IN_X RUNNING("t", "c", "app: web")
                NODE("e", ZONE("z"), "taints: [{key: k, effect: NoSchedule}]"),
            POD("app: web",
                SPREADS("{maxSkew: 1, nodeTaintsPolicy: Honor, " BY_ZONE ", " HARD ", " WEB "}")),
            "abc"},
        {"preferred ones do not filter", TWO_IN_X,
            POD("app: web", SPREADS("{maxSkew: 1, " BY_ZONE ", " SOFT ", " WEB "}")), "abcd"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        check_filter(cases[i].name, cases[i].running, cases[i].pod, cases[i].expected);
}

/* --- score --------------------------------------------------------------------- */

/* Compares with a pod that the plugin does not score: the other plugins score both alike. */
static void test_scores_by_preferred_constraints(void **state) {
    static const struct {
        const char *name, *running, *pod;
        int64_t expected[4];
    } cases[] = {
        {"none runs: all are best; d has no zone", "",
            POD("app: web", SPREADS("{maxSkew: 1, " BY_ZONE ", " SOFT ", " WEB "}")),
            {200, 200, 200, 0}},
        /* log(2 + 2) = 1.386: 1 in x, 0 in y */
        {"one in x", ONE_IN_X,
            POD("app: web", SPREADS("{maxSkew: 1, " BY_ZONE ", " SOFT ", " WEB "}")),
            {0, 0, 200, 0}},
        /* 2.77 in x, 1.39 in y: 3 and 1: 100 * (3 + 1 - 3) / 3 = 33 */
        {"two in x, one in y", TWO_IN_X RUNNING("t", "c", "app: web"),
            POD("app: web", SPREADS("{maxSkew: 1, " BY_ZONE ", " SOFT ", " WEB "}")),
            {66, 66, 200, 0}},
        /* log(4 + 2) = 1.79, and 2 for the skew: 4, 2, 2, 2: 100 * (4 + 2 - 4) / 4 = 50 */
        {"by node, skew 3", ONE_IN_X,
            POD("app: web", SPREADS("{maxSkew: 3, " BY_NODE ", " SOFT ", " WEB "}")),
            {100, 200, 200, 200}},
        /* by node 1.79 + 2 on a, 2 elsewhere; by zone, three with the one of d, log(3 + 2)
         * = 1.61: 5.61 in x, 4 in y: 9.4, 7.61, 6, and 2 on d: 9, 8, 6, 2: 100 * (9 + 2 - s) / 9 =
         * 22, 33, 55, 100 */
        {"by default, of a Service",
            ONE_IN_X "---\nkind: Service\nmetadata: {name: s, namespace: default}\nspec: "
                     "{selector: {app: web}}\n",
            POD("app: web", ""), {44, 66, 110, 200}},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char cluster[8192];
        TestSimulation simulation, other;

        (void)snprintf(cluster, sizeof(cluster), "%s%s", NODES, cases[i].running);
        test_simulation_open(&simulation, cluster, cases[i].pod);
        test_simulation_open(&other, cluster, POD("other: pod", ""));
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

/* --- defaults ------------------------------------------------------------------ */

#define OWNED(kind, labels, spec)                                                                  \
    "kind: Pod\nmetadata: {name: p, labels: {" labels                                              \
    "}, ownerReferences: [{apiVersion: apps/v1, kind: " kind                                       \
    ", name: o, controller: true}]}\nspec: {" spec "}\n"
#define SERVICE(namespace, selector)                                                               \
    "---\nkind: Service\nmetadata: {name: s, namespace: " namespace "}\nspec: "                    \
                                                                    "{selector: " selector "}\n"
#define SPREAD SPREADS("{maxSkew: 1, topologyKey: zone}")

static void test_finds_pods_that_are_spread_by_default(void **state) {
    static const struct {
        const char *name, *services, *pod;
        size_t expected;
    } cases[] = {
        {"no owner", "", POD("", ""), 0},
        {"a ReplicaSet's", "", OWNED("ReplicaSet", "", ""), 2},
        {"a StatefulSet's", "", OWNED("StatefulSet", "", ""), 2},
        {"a Job's", "", OWNED("Job", "", ""), 0},
        {"with constraints of its own", "", OWNED("ReplicaSet", "", SPREAD), 1},
        {"of a Service", SERVICE("default", "{app: web}"),
            OWNED("Job", "app: web, tier: front", ""), 2},
        {"of a Service, with constraints of its own", SERVICE("default", "{app: web}"),
            OWNED("Job", "app: web", SPREAD), 1},
        {"of no Service: another label", SERVICE("default", "{app: web}"),
            OWNED("Job", "app: api", ""), 0},
        {"of no Service: one label is missing", SERVICE("default", "{app: web, tier: x}"),
            OWNED("Job", "app: web", ""), 0},
        {"of no Service: another namespace", SERVICE("shop", "{app: web}"),
            OWNED("Job", "app: web", ""), 0},
        {"a Service without a selector selects no pod", SERVICE("default", "null"),
            OWNED("Job", "app: web", ""), 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char cluster[8192];
        TestSimulation simulation;

        (void)snprintf(cluster, sizeof(cluster), "%s%s", NODES, cases[i].services);
        test_simulation_load(&simulation, cluster, cases[i].pod, NULL);
        assert_case(cases[i].name,
            simulation.input->arrivals[0].request->terms.n_spread == cases[i].expected);
        test_simulation_done(&simulation);
    }
}

/* Two ReplicaSets with the same labels count only their own pods. */
static void test_default_spread_counts_pods_of_the_same_owner(void **state) {
    static const char *const owned =
        "---\nkind: Pod\nmetadata: {name: r-%u, labels: {app: web}, ownerReferences: [{apiVersion: "
        "apps/v1, kind: ReplicaSet, name: %s, controller: true}]}\nspec: {nodeName: %s, "
        "containers: "
        "[{name: c}]}\n";
    char cluster[8192];
    TestSimulation simulation;
    size_t n;

    (void)state;
    n = (size_t)snprintf(cluster, sizeof(cluster), "%s", NODES);
    n += (size_t)snprintf(cluster + n, sizeof(cluster) - n, owned, 1, "o", "a");
    n += (size_t)snprintf(cluster + n, sizeof(cluster) - n, owned, 2, "o", "b");
    n += (size_t)snprintf(cluster + n, sizeof(cluster) - n, owned, 3, "other", "c");
    (void)snprintf(cluster + n, sizeof(cluster) - n, owned, 4, "other", "d");
    test_simulation_open(&simulation, cluster, OWNED("ReplicaSet", "app: web", ""));
    assert_false(inspect(&simulation, 0).is_best);
    assert_false(inspect(&simulation, 1).is_best);
    assert_false(inspect(&simulation, 2).is_best);
    assert_true(inspect(&simulation, 3).is_best); /* it is in no zone with pods */
    assert_true(inspect(&simulation, 2).inspected_score > inspect(&simulation, 1).inspected_score);
    test_simulation_done(&simulation);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filters_by_required_constraints),
        cmocka_unit_test(test_scores_by_preferred_constraints),
        cmocka_unit_test(test_finds_pods_that_are_spread_by_default),
        cmocka_unit_test(test_default_spread_counts_pods_of_the_same_owner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
