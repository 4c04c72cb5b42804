/* Each plugin of kube-scheduler separately: cases with manually calculated numbers. */

#include "extender/sample.h"
#include "scheduler/fit.h"
#include "scheduler/images.h"
#include "simulate/test-simulation.h"

#define MIB ((int64_t)1024 * 1024)

/* --- formulas ------------------------------------------------------------------ */

static void test_least_allocated_rounds_like_the_plugin(void **state) {
    static const struct {
        const char *name;
        int64_t inspected[2], allocatable[2];
        int64_t expected;
    } cases[] = {
        {"nothing requested", {0, 0}, {4000, 10000}, 100},
        {"half of both", {2000, 5000}, {4000, 10000}, 50},
        {"3000 of 4000 and 5000 of 10000: (25 + 50) / 2, rounded down", {3000, 5000}, {4000, 10000},
            37},
        {"each share is rounded down: (66 + 33) / 2", {1000, 2000}, {3000, 3000}, 49},
        {"more than there is counts 0: (0 + 100) / 2", {5000, 0}, {4000, 10000}, 50},
        {"allocatable 0 does not count", {0, 2500}, {0, 10000}, 75},
        {"both allocatable 0", {0, 0}, {0, 0}, 0},
        {"all of it", {4000, 10000}, {4000, 10000}, 0},
        {"very much", {0, INT64_MAX / 2}, {INT64_MAX, INT64_MAX}, 75},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_case(cases[i].name, least_allocated_score(cases[i].inspected, cases[i].allocatable,
                                       2) == cases[i].expected);
}

static void test_balanced_prefers_even_use(void **state) {
    static const struct {
        const char *name;
        int64_t with[2], without[2], allocatable[2];
        int64_t expected;
    } cases[] = {
        {"even before and after: 50 + (50 + 100 - 100) / 2", {50, 50}, {0, 0}, {100, 100}, 75},
        {"worse: with |0.5 - 0| / 2 = 0.25 it is 75: 50 + 25 / 2", {50, 0}, {0, 0}, {100, 100}, 62},
        {"better: from 75 to 100: 50 + 75 / 2", {50, 50}, {50, 0}, {100, 100}, 87},
        {"shares stop at 1", {300, 100}, {100, 100}, {100, 100}, 75},
        {"one of both only: always even", {50, 70}, {0, 0}, {100, 0}, 75},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_case(cases[i].name, balanced_score(cases[i].with, cases[i].without,
                                       cases[i].allocatable) == cases[i].expected);
}

static void test_image_score(void **state) {
    (void)state;
    assert_int_equal(image_score(0, 1), 0);
    assert_int_equal(image_score(23 * MIB, 1), 0);
    assert_int_equal(image_score(1000 * MIB, 1), 100);
    assert_int_equal(image_score(2000 * MIB, 1), 100);
    /* 100 × (523 - 23) / (1000 - 23) */
    assert_int_equal(image_score(523 * MIB, 1), 51);
    /* 100 × (523 - 23) / (2000 - 23) */
    assert_int_equal(image_score(523 * MIB, 2), 25);
}

static void test_sample_size(void **state) {
    static const struct {
        size_t n;
        unsigned percentage;
        size_t expected;
    } cases[] = {
        {0, 0, 0},
        {99, 0, 99},
        {99, 10, 99},
        {1, 0, 1},
        {100, 0, 100}, /* 50 %, but 100 at least */
        {200, 0, 100},
        {500, 0, 230},
        {1000, 0, 420}, /* 50 - 8 */
        {5000, 0, 500}, /* 50 - 40 */
        {2000, 0, 680},
        {3125, 0, 781},
        {5625, 0, 281}, /* from here on 5 % */
        {6000, 0, 300},
        {10000, 0, 500},
        {15000, 0, 750},
        {50000, 0, 2500},
        {1000, 70, 700},
        {1000, 5, 100},
        {1000, 100, 1000},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_int_equal(sample_size(cases[i].n, cases[i].percentage), cases[i].expected);
}

/* --- filters ------------------------------------------------------------------- */

#define NODE(name, labels, spec)                                                                   \
    "---\nkind: Node\nmetadata: {name: " name ", labels: {" labels "}}\nspec: {" spec              \
    "}\nstatus: {allocatable: {cpu: 4, memory: 8Gi, pods: 3, ephemeral-storage: 10Gi}}\n"
#define POD(spec) "kind: Pod\nmetadata: {name: p}\nspec: {" spec "}\n"

#define CLUSTER                                                                                    \
    NODE("a", "zone: x, size: '4'", "")                                                            \
    NODE("b", "zone: y, size: '8', disk: ssd", "")                                                 \
    NODE("c", "zone: y", "taints: [{key: own, value: db, effect: NoSchedule}]")                    \
    NODE("d", "zone: z", "unschedulable: true")                                                    \
    NODE("e", "zone: z", "taints: [{key: gone, effect: NoExecute}]")                               \
    "---\nkind: Pod\nmetadata: {name: r}\nspec: {nodeName: a, containers: [{name: c, ports: "      \
    "[{containerPort: 80, hostPort: 80}], resources: {requests: {cpu: 3}}}]}\n"

/* Checks which nodes pass for a pod of @spec. */
static void check_filter(const char *name, const char *spec, const char *expected) {
    char pods[4096], got[16] = "";
    size_t n_got = 0;
    TestSimulation simulation;

    (void)snprintf(pods, sizeof(pods), POD("%s"), spec);
    test_simulation_open(&simulation, CLUSTER, pods);
    for (uint32_t row = 0; row < 5; row++) {
        Choice choice;

        assert_int_equal(scheduler_choose(simulation.scheduler,
                             simulation.input->arrivals[0].request, 0, row, &choice),
            0);
        if (choice.is_feasible)
            got[n_got++] = (char)('a' + row);
    }
    assert_text(name, str_from_c(got), expected);
    test_simulation_done(&simulation);
}

#define TERM(text)                                                                                 \
    "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "                   \
    "{nodeSelectorTerms: [" text "]}}}"
#define EXPRESSION(text) TERM("{matchExpressions: [{" text "}]}")

static void test_plugins_filter_nodes(void **state) {
    static const struct {
        const char *name, *spec, *expected;
    } cases[] = {
        {"nothing special: neither tainted nor cordoned", "", "ab"},
        {"tolerates a taint", "tolerations: [{key: own, operator: Exists}]", "abc"},
        {"by another value", "tolerations: [{key: own, value: web}]", "ab"},
        {"NoExecute too", "tolerations: [{key: gone, operator: Exists, effect: NoExecute}]", "abe"},
        {"of another effect", "tolerations: [{key: gone, operator: Exists, effect: NoSchedule}]",
            "ab"},
        {"everything", "tolerations: [{operator: Exists}]", "abcde"},
        {"cordoned: by its taint",
            "tolerations: [{key: node.kubernetes.io/unschedulable, operator: Exists}]", "abd"},
        {"nodeSelector", "nodeSelector: {zone: y}", "b"},
        {"nodeSelector, no node", "nodeSelector: {zone: y, disk: hdd}", ""},
        {"In", EXPRESSION("key: zone, operator: In, values: [x, z]"), "a"},
        {"NotIn, absent is not in", EXPRESSION("key: disk, operator: NotIn, values: [ssd]"), "a"},
        {"Exists", EXPRESSION("key: disk, operator: Exists"), "b"},
        {"DoesNotExist", EXPRESSION("key: disk, operator: DoesNotExist"), "a"},
        {"Gt", EXPRESSION("key: size, operator: Gt, values: ['4']"), "b"},
        {"Lt", EXPRESSION("key: size, operator: Lt, values: ['8']"), "a"},
        {"Gt of no number", EXPRESSION("key: size, operator: Gt, values: [four]"), ""},
        {"an operator that there is not", EXPRESSION("key: size, operator: Near, values: ['4']"),
            ""},
        {"one of two terms is enough",
            TERM("{matchExpressions: [{key: zone, operator: In, values: [q]}]}, "
                 "{matchExpressions: [{key: disk, operator: Exists}]}"),
            "b"},
        {"all conditions of a term",
            TERM("{matchExpressions: [{key: zone, operator: In, values: [y]}, {key: disk, "
                 "operator: DoesNotExist}]}"),
            ""},
        {"an empty term holds nowhere", TERM("{}"), ""},
        {"no terms at all", TERM(""), ""},
        {"by name", TERM("{matchFields: [{key: metadata.name, operator: In, values: [b]}]}"), "b"},
        {"not by name", TERM("{matchFields: [{key: metadata.name, operator: NotIn, values: [b]}]}"),
            "a"},
        {"selector and affinity",
            "nodeSelector: {zone: x}, " EXPRESSION("key: disk, operator: Exists"), ""},
        {"cpu: a has 1 left", "containers: [{name: c, resources: {requests: {cpu: 1001m}}}]", "b"},
        {"cpu, just", "containers: [{name: c, resources: {requests: {cpu: 1000m}}}]", "ab"},
        {"memory", "containers: [{name: c, resources: {requests: {memory: 9Gi}}}]", ""},
        {"ephemeral storage",
            "containers: [{name: c, resources: {requests: {ephemeral-storage: 11Gi}}}]", ""},
        {"a resource that no node has",
            "containers: [{name: c, resources: {requests: {nvidia.com/gpu: 1}}}]", ""},
        {"the largest init container counts",
            "initContainers: [{name: i, resources: {requests: {cpu: 2}}}], containers: [{name: c}]",
            "b"},
        {"a port in use", "containers: [{name: c, ports: [{hostPort: 80}]}]", "b"},
        {"on one address", "containers: [{name: c, ports: [{hostPort: 80, hostIP: 10.0.0.1}]}]",
            "b"},
        {"of another protocol", "containers: [{name: c, ports: [{hostPort: 80, protocol: UDP}]}]",
            "ab"},
        {"of an init container that ends",
            "initContainers: [{name: i, ports: [{hostPort: 80}]}], containers: [{name: c}]", "ab"},
        {"of a sidecar",
            "initContainers: [{name: i, restartPolicy: Always, ports: [{hostPort: 80}]}], "
            "containers: [{name: c}]",
            "b"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        check_filter(cases[i].name, cases[i].spec, cases[i].expected);
}

/* --- scores -------------------------------------------------------------------- */

#define PLAIN(name, more, labels)                                                                  \
    "---\nkind: Node\nmetadata: {name: " name ", labels: {" labels "}}\n" more                     \
    "\nstatus: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}"
#define PREFER(text)                                                                               \
    "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [" text "]}}"

/* An empty node gives a pod without requests 300 for taints and 97 for resources: its container
 * counts as 100m of 4 CPUs and 200Mi of 8Gi (97 and 97). */
#define BASE 397

static void check_score(
    const char *name, const char *cluster, const char *spec, const int64_t *expected) {
    char pods[4096];
    TestSimulation simulation;

    (void)snprintf(pods, sizeof(pods), POD("%s"), spec);
    test_simulation_open(&simulation, cluster, pods);
    for (uint32_t row = 0; row < 2; row++) {
        Choice choice;

        assert_int_equal(scheduler_choose(simulation.scheduler,
                             simulation.input->arrivals[0].request, 0, row, &choice),
            0);
        if (choice.inspected_score != expected[row])
            print_error("%s: row %u: %lld\n", name, row, (long long)choice.inspected_score);
        assert_case(name, choice.inspected_score == expected[row]);
        assert_case(name, choice.is_best == (expected[row] >= expected[1 - row]));
    }
    test_simulation_done(&simulation);
}

static void test_plugins_score_nodes(void **state) {
    static const struct {
        const char *name, *cluster, *spec;
        int64_t expected[2];
    } cases[] = {
        {"two empty nodes", PLAIN("a", "", "") "}\n" PLAIN("b", "", "") "}\n",
            "containers: [{name: c}]", {BASE, BASE}},
        {"PreferNoSchedule: the one with the most taints gets none of 300",
            PLAIN("a", "spec: {taints: [{key: x, effect: PreferNoSchedule}]}", "") "}\n" PLAIN("b",
                "spec: {taints: [{key: x, effect: PreferNoSchedule}, {key: y, effect: "
                "PreferNoSchedule}]}",
                "") "}\n",
            "containers: [{name: c}]", {BASE - 150, BASE - 300}},
        {"PreferNoSchedule, tolerated",
            PLAIN("a", "spec: {taints: [{key: x, effect: PreferNoSchedule}]}", "") "}\n" PLAIN(
                "b", "", "") "}\n",
            "containers: [{name: c}], tolerations: [{key: x, operator: Exists}]", {BASE, BASE}},
        {"preferred affinity: 30 of 80 is 37, and 80 of 80; times 2",
            PLAIN("a", "", "zone: x") "}\n" PLAIN("b", "", "zone: y, disk: ssd") "}\n",
            "containers: [{name: c}], " PREFER(
                "{weight: 30, preference: {matchExpressions: [{key: zone, operator: Exists}]}}, "
                "{weight: 50, preference: {matchExpressions: [{key: disk, operator: In, values: "
                "[ssd]}]}}"),
            {BASE + 2 * 37, BASE + 200}},
        {"images: 500 MiB on one of two nodes counts 250 MiB: 100 × 227 / 977",
            PLAIN("a", "", "") ", images: [{names: ['r/i:1'], sizeBytes: 524288000}]}\n" PLAIN(
                "b", "", "") "}\n",
            "containers: [{name: c, image: 'r/i:1'}]", {BASE + 23, BASE}},
        {"images: without a tag it is the latest",
            PLAIN("a", "",
                "") ", images: [{names: ['h:5000/i:latest'], sizeBytes: 524288000}]}\n" PLAIN("b",
                "", "") "}\n",
            "containers: [{name: c, image: 'h:5000/i'}]", {BASE + 23, BASE}},
        {"least allocated and balanced: 1 of 4 cpu on both; a has 2 of 4 cpu already",
            PLAIN("a", "", "") "}\n" PLAIN(
                "b", "", "") "}\n---\nkind: Pod\nmetadata: {name: r}\nspec: {nodeName: a, "
                             "containers: [{name: c, resources: {requests: {cpu: 2}}}]}\n",
            "containers: [{name: c, resources: {requests: {cpu: 1, memory: 2Gi}}}]",
            /* a: cpu (4-3)/4 = 25; memory (8192-200-2048)/8192 = 72; 48. Balance 75 before
             * (0.5 against 0), with the pod |0.75 - 0.25| / 2: 75 again: 75.
             * b: 75 and 75: 75; 100 before and after: 75. */
            {300 + 48 + 75, 300 + 75 + 75}},
        {"pod-level requests: half of both for balance, 100m and 200Mi for least allocated",
            PLAIN("a", "", "") "}\n" PLAIN("b", "", "") "}\n",
            "resources: {requests: {cpu: 2, memory: 4Gi}}, containers: [{name: c}]",
            {BASE + 75, BASE + 75}},
        {"pod-level requests and those of containers: least allocated has the latter",
            PLAIN("a", "", "") "}\n" PLAIN("b", "", "") "}\n",
            "resources: {requests: {cpu: 2, memory: 4Gi}}, containers: [{name: c, resources: "
            "{requests: {cpu: 1, memory: 2Gi}}}]",
            {300 + 75 + 75, 300 + 75 + 75}},
        {"a running pod with pod-level requests: its second container adds no 100m",
            PLAIN("a", "", "") "}\n" PLAIN("b", "",
                "") "}\n---\nkind: Pod\nmetadata: {name: r}\nspec: {nodeName: a, resources: "
                    "{requests: {memory: 1Gi}}, containers: [{name: c, resources: "
                    "{requests: {cpu: 1}}}, {name: d}]}\n",
            "containers: [{name: c}]",
            /* a: cpu (4-1.1)/4 = 72; memory (8192-1024-200)/8192 = 85; 78. */
            {300 + 78, BASE}},
        {"a running pod with pod-level requests of one resource: each container adds the other",
            PLAIN("a", "", "") "}\n" PLAIN("b", "",
                "") "}\n---\nkind: Pod\nmetadata: {name: r}\nspec: {nodeName: a, resources: "
                    "{requests: {memory: 1Gi}}, containers: [{name: c}, {name: d}]}\n",
            "containers: [{name: c}]",
            /* a: cpu (4-0.3)/4 = 92; memory 85; 88. */
            {300 + 88, BASE}},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        check_score(cases[i].name, cases[i].cluster, cases[i].spec, cases[i].expected);
}

/* --- order --------------------------------------------------------------------- */

static void test_nodes_alternate_between_zones(void **state) {
    static const char *const expected = "adfbec";
    char got[8] = "";
    TestSimulation simulation;

    (void)state;
    /* zone x: a b c; zone y: d e; no zone: f */
    test_simulation_open(&simulation,
        PLAIN("a", "", "topology.kubernetes.io/zone: x") "}\n" PLAIN(
            "b", "", "topology.kubernetes.io/zone: x") "}\n" PLAIN("c", "",
            "topology.kubernetes.io/zone: x") "}\n" PLAIN("d", "",
            "topology.kubernetes.io/zone: y") "}\n" PLAIN("e", "",
            "failure-domain.beta.kubernetes.io/zone: y") "}\n" PLAIN("f", "", "") "}\n",
        POD(""));
    assert_int_equal(simulation.cluster->n_order, 6);
    for (size_t i = 0; i < 6; i++)
        got[i] = simulation.input->table->names->names[simulation.cluster->order[i]].ptr[0];
    assert_string_equal(got, expected);
    test_simulation_done(&simulation);
}

static void test_most_frequent_reason_is_reported(void **state) {
    static const struct {
        const char *name, *spec, *expected;
    } cases[] = {
        {"taints", "nodeSelector: {zone: nowhere}, tolerations: [{operator: Exists}]",
            "node(s) didn't match Pod's node affinity/selector"},
        {"cpu",
            "containers: [{name: c, resources: {requests: {cpu: 9}}}], tolerations: "
            "[{operator: Exists}]",
            "Insufficient cpu"},
        {"devices",
            "containers: [{name: c, resources: {requests: {example.com/x: 9}}}], tolerations: "
            "[{operator: Exists}]",
            "Insufficient example.com/x"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(1024);
        char pods[1024];
        Choice choice;
        TestSimulation simulation;

        (void)snprintf(pods, sizeof(pods), POD("%s"), cases[i].spec);
        test_simulation_open(&simulation, CLUSTER, pods);
        assert_int_equal(scheduler_choose(simulation.scheduler,
                             simulation.input->arrivals[0].request, 0, NO_ROW, &choice),
            0);
        assert_int_equal(choice.row, NO_ROW);
        scheduling_reason_print(simulation.scheduler, choice.reason, &text);
        assert_text(cases[i].name, buf_str(&text), cases[i].expected);
        test_simulation_done(&simulation);
    }
}

static int fail_filter(void *context, const Pod *pod, int64_t now_nsec, const uint32_t *rows,
    size_t n, Arena *arena, const uint16_t **ret_verdicts) {
    return 1;
}

/* The first node passes, the others fail with reason 0. */
static int pass_first(void *context, const Pod *pod, int64_t now_nsec, const uint32_t *rows,
    size_t n, Arena *arena, const uint16_t **ret_verdicts) {
    uint16_t *verdicts = ARENA_ARRAY(arena, uint16_t, n);

    for (size_t i = 0; i < n; i++)
        verdicts[i] = rows[i] == 0 ? EXTENDER_PASSES : 0;
    *ret_verdicts = verdicts;
    return 0;
}

static void print_no(const void *context, size_t reason, Buf *out) {
    buf_append(out, STR("no"));
}

static void choose_with(TestSimulation *simulation, SchedulerOptions options,
    SchedulerExtender extender, int result, Choice *ret) {
    scheduler_free(simulation->scheduler);
    simulation->scheduler = NULL;
    assert_int_equal(
        scheduler_new(&options, simulation->cluster, extender, &simulation->scheduler), 0);
    assert_int_equal(scheduler_choose(simulation->scheduler, simulation->input->arrivals[0].request,
                         0, NO_ROW, ret),
        result);
}

/* A profile without taints tries all nodes; extended resources can be left to the extender. */
static void test_profile_leaves_checks_to_the_extender(void **state) {
    SchedulerOptions options = {
        .weight = 1,
        .plugins = {.ignores_taints = true},
        .ignores_extended_resources = true,
    };
    TestSimulation simulation;
    Choice choice;

    (void)state;
    test_simulation_open(&simulation, CLUSTER,
        POD("containers: [{name: c, resources: {requests: {example.com/x: 9}}}]"));
    choose_with(&simulation, (SchedulerOptions){.weight = 1}, (SchedulerExtender){0}, 0, &choice);
    assert_int_equal(choice.row, NO_ROW);
    choose_with(&simulation, options, (SchedulerExtender){0}, 0, &choice);
    assert_int_equal(choice.n_feasible, 5);
    test_simulation_done(&simulation);
}

static void test_extender_rejects_and_fails(void **state) {
    _cleanup_(buf_done) Buf text = BUF_INIT(1024);
    SchedulerExtender extender = {.filter = pass_first, .n_reasons = 1, .print_reason = print_no};
    TestSimulation simulation;
    Choice choice;

    (void)state;
    test_simulation_open(&simulation, CLUSTER, POD("tolerations: [{operator: Exists}]"));
    choose_with(&simulation, (SchedulerOptions){.weight = 1}, extender, 0, &choice);
    assert_int_equal(choice.row, 0);
    assert_int_equal(choice.n_feasible, 1);
    scheduler_print_fit_error(simulation.scheduler, &text);
    assert_text("fit error", buf_str(&text), "0/5 nodes are available: 4 no.");
    extender.filter = fail_filter;
    choose_with(&simulation, (SchedulerOptions){.weight = 1}, extender, 1, &choice);
    assert_int_equal(choice.row, NO_ROW);
    test_simulation_done(&simulation);
}

static void test_reports_features_that_are_not_modelled(void **state) {
    static const struct {
        const char *spec;
        uint32_t expected;
    } cases[] = {
        {"", 0},
        {"topologySpreadConstraints: [{maxSkew: 1}]", 0},
        {"affinity: {podAntiAffinity: {}}", 0},
        {"affinity: {nodeAffinity: {}}", 0},
        {"volumes: [{name: v, emptyDir: {}}]", 0},
        {"volumes: [{name: v, persistentVolumeClaim: {claimName: x}}]", 1u << UNMODELLED_VOLUMES},
        {"volumes: [{name: v, ephemeral: {volumeClaimTemplate: {}}}]", 1u << UNMODELLED_VOLUMES},
        {"volumes: [{name: v, awsElasticBlockStore: {volumeID: x}}]", 1u << UNMODELLED_VOLUMES},
        {"volumes: [{name: v, csi: {driver: x}}]", 1u << UNMODELLED_VOLUME_LIMITS},
        {"resourceClaims: [{name: x}]", 1u << UNMODELLED_CLAIMS},
        {"schedulingGates: [{name: x}]", 0},
        {"containers: [{name: c, restartPolicyRules: [{action: Restart}]}]", 0},
        {"containers: [{name: c, restartPolicyRules: [{action: RestartAllContainers}]}]",
            1u << UNMODELLED_NODE_FEATURES},
        {"initContainers: [{name: c, volumeMounts: [{name: v}, {name: w, bindMountOptions: "
         "[noexec]}]}]",
            1u << UNMODELLED_NODE_FEATURES},
        {"hostNetwork: true, hostUsers: true", 0},
        {"hostNetwork: true, hostUsers: false", 1u << UNMODELLED_NODE_FEATURES},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char pods[1024];
        TestSimulation simulation;

        (void)snprintf(pods, sizeof(pods), POD("%s"), cases[i].spec);
        test_simulation_load(&simulation, CLUSTER, pods, NULL);
        assert_case(
            cases[i].spec, simulation.input->arrivals[0].request->unmodelled == cases[i].expected);
        test_simulation_done(&simulation);
    }
}

/* --- volumes ------------------------------------------------------------------- */

#define CLAIM(more)                                                                                \
    "---\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: default}\nspec: {" more   \
    "}\n"
#define VOLUME(labels, spec)                                                                       \
    "---\nkind: PersistentVolume\nmetadata: {name: pv, labels: {" labels "}}\nspec: {" spec "}\n"
#define REACHED_IN(zone)                                                                           \
    "nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, " \
    "values: [" zone "]}]}]}}"
#define ZONED(name, zone) NODE(name, "topology.kubernetes.io/zone: " zone ", zone: " zone, "")

/* Nodes a, b and c are in zones x, y and z; d is in none. Checks where a pod with the claim may go,
 * and whether that is modelled. */
static void test_bound_volumes_restrict_nodes(void **state) {
    static const struct {
        const char *name, *objects, *expected;
        bool is_unmodelled, is_limited;
    } cases[] = {
        {"no claim in the file", "", "abcd", true},
        {"not bound", CLAIM("") VOLUME("", ""), "abcd", true},
        {"the volume is not known", CLAIM("volumeName: pv"), "abcd", true},
        {"bound, reached from everywhere", CLAIM("volumeName: pv") VOLUME("", ""), "abcd", false},
        {"by its node affinity", CLAIM("volumeName: pv") VOLUME("", REACHED_IN("x, z")), "ac",
            false},
        {"by its label", CLAIM("volumeName: pv") VOLUME("topology.kubernetes.io/zone: y", ""), "bd",
            false},
        {"by its label, two zones",
            CLAIM("volumeName: pv") VOLUME("topology.kubernetes.io/zone: x__z", ""), "acd", false},
        {"for one pod only",
            CLAIM("volumeName: pv, accessModes: [ReadWriteOncePod]") VOLUME("", REACHED_IN("x")),
            "abcd", true},
        {"of a driver that may have limits",
            CLAIM("volumeName: pv") VOLUME("", "csi: {driver: x}, " REACHED_IN("x")), "a", false,
            true},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char cluster[4096], got[8] = "";
        size_t n = 0;
        TestSimulation simulation;

        (void)snprintf(cluster, sizeof(cluster), "%s%s",
            ZONED("a", "x") ZONED("b", "y") ZONED("c", "z") NODE("d", "", ""), cases[i].objects);
        test_simulation_open(&simulation, cluster,
            POD("containers: [{name: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: "
                "data}}]"));
        for (uint32_t row = 0; row < 4; row++) {
            Choice choice;

            assert_int_equal(scheduler_choose(simulation.scheduler,
                                 simulation.input->arrivals[0].request, 0, row, &choice),
                0);
            if (choice.is_feasible)
                got[n++] = (char)('a' + row);
        }
        assert_text(cases[i].name, str_from_c(got), cases[i].expected);
        assert_case(cases[i].name,
            simulation.input->n_unmodelled[UNMODELLED_VOLUMES] == cases[i].is_unmodelled);
        assert_case(cases[i].name,
            simulation.input->n_unmodelled[UNMODELLED_VOLUME_LIMITS] == cases[i].is_limited);
        test_simulation_done(&simulation);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_least_allocated_rounds_like_the_plugin),
        cmocka_unit_test(test_balanced_prefers_even_use),
        cmocka_unit_test(test_image_score),
        cmocka_unit_test(test_sample_size),
        cmocka_unit_test(test_plugins_filter_nodes),
        cmocka_unit_test(test_plugins_score_nodes),
        cmocka_unit_test(test_nodes_alternate_between_zones),
        cmocka_unit_test(test_most_frequent_reason_is_reported),
        cmocka_unit_test(test_profile_leaves_checks_to_the_extender),
        cmocka_unit_test(test_extender_rejects_and_fails),
        cmocka_unit_test(test_reports_features_that_are_not_modelled),
        cmocka_unit_test(test_bound_volumes_restrict_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
