/* Whole runs: invariants, and the order of events in time. */

#include "simulate/run.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "scheduler/queues.h"
#include "simulate/test-simulation.h"

#define TEXT_MAX ((size_t)1024 * 1024)

#define NODES(n)                                                                                   \
    "---\nkind: Node\nmetadata: {name: " n ", labels: {host: " n                                   \
    "}}\nstatus: {allocatable: {cpu: 2, memory: 4Gi, pods: "                                       \
    "10}}\n"

static SimulationResult *play(const SimulationInput *input, uint64_t seed, Program *program) {
    ViewParts parts = {.program = program};
    RunOptions options = {.scheduler = {.weight = 1, .seed = seed}, .until = -1};
    SimulationResult *result = NULL;

    assert_int_equal(run_simulation(input, program ? &parts : NULL, &options, &result), 0);
    return result;
}

static Program *compile(const char *text) {
    PolicySource source = {.file = STR("test.yaml"), .text = str_from_c(text)};
    _cleanup_(arena_freep) Arena *arena = arena_new(TEXT_MAX);
    DiagList diags = DIAG_LIST_IN(arena);
    Program *program = NULL;

    assert_int_equal(program_compile(&source, 1, &diags, &program), 0);
    return program;
}

#define HEAD "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: p}\nspec:\n"
#define PACK HEAD "  scores: [{name: pack, binPack: {cpu: 1}}]\n"

/* --- invariants ---------------------------------------------------------------- */

static void random_trace(Rng *rng, Buf *out) {
    for (size_t i = 0; i < 60; i++) {
        buf_printf(out,
            "- {at: %zu, count: %zu, pod: {metadata: {name: p%zu}, spec: {priority: %zu, "
            "containers: [{name: c, resources: {requests: {cpu: %zum, memory: %zuMi}}}]}}",
            rng_pick(rng, 100), 1 + rng_pick(rng, 4), i, rng_pick(rng, 2), rng_pick(rng, 1200),
            rng_pick(rng, 2000));
        if (rng_pick(rng, 2))
            buf_printf(out, ", lifetime: %zu", 1 + rng_pick(rng, 50));
        buf_append(out, STR("}\n"));
    }
    buf_append_char(out, '\0');
}

/* Pods that run at the end are on nodes with enough capacity. */
static void check_amounts(const SimulationInput *input, const SimulationResult *result) {
    int64_t cpu[8] = {0}, memory[8] = {0}, pods[8] = {0};

    for (size_t i = 0; i < result->n_pods; i++) {
        const PodResult *pod_result = &result->pods[i];
        const Resources *requests = &input->arrivals[i].request->pod.requests;

        assert_true((pod_result->row == NO_ROW) == (pod_result->kind == RESULT_PENDING));
        if (pod_result->kind != RESULT_PLACED)
            continue;
        cpu[pod_result->row] += resources_get(requests, STR("cpu"));
        memory[pod_result->row] += resources_get(requests, STR("memory"));
        pods[pod_result->row]++;
    }
    for (uint32_t row = 0; row < 8; row++) {
        assert_true(cpu[row] <= 2000);
        assert_true(memory[row] <= (int64_t)4 * 1024 * 1024 * 1024);
        assert_true(pods[row] <= 10);
    }
}

static void check_invariants(const SimulationInput *input, const SimulationResult *result) {
    size_t n_pending = 0;

    assert_int_equal(result->n_reached, input->n_arrivals);
    assert_int_equal(result->n_placed + result->n_pending, input->n_arrivals);
    assert_true(result->n_ended <= result->n_placed);
    for (size_t i = 0; i < result->n_reasons; i++)
        n_pending += result->reasons[i].n_pods;
    assert_int_equal(n_pending, result->n_pending);
    assert_true(result->n_used <= result->n_used_most);
    assert_true(result->n_used_mean <= (double)result->n_used_most + 1e-9);
    assert_true(result->cpu.highest <= 1 && result->memory.highest <= 1);
    check_amounts(input, result);
}

static void test_random_runs_keep_invariants(void **state) {
    _cleanup_(program_unrefp) Program *pack = compile(PACK);
    Rng rng = {.state = 42};

    (void)state;
    for (size_t round = 0; round < 20; round++) {
        _cleanup_(buf_done) Buf trace = BUF_INIT(TEXT_MAX);
        TestSimulation simulation;

        random_trace(&rng, &trace);
        test_simulation_load(&simulation,
            NODES("a") NODES("b") NODES("c") NODES("d") NODES("e") NODES("f") NODES("g") NODES("h"),
            NULL, trace.data);
        for (int with = 0; with < 2; with++) {
            SimulationResult *first = play(simulation.input, 1, with ? pack : NULL);
            SimulationResult *again = play(simulation.input, 1, with ? pack : NULL);

            check_invariants(simulation.input, first);
            assert_memory_equal(first->pods, again->pods, first->n_pods * sizeof(PodResult));
            assert_int_equal(simulation_result_moves(first, again), 0);
            simulation_result_free(first);
            simulation_result_free(again);
        }
        test_simulation_done(&simulation);
    }
}

/* --- time ---------------------------------------------------------------------- */

#define LINE(at, more, name, cpu)                                                                  \
    "- {at: " at more ", pod: {metadata: {name: " name "}, spec: {containers: [{name: c, "         \
    "resources: {requests: {cpu: " cpu "}}}]}}}\n"

#define WANTS(name, other)                                                                         \
    "---\nkind: Pod\nmetadata: {name: " name ", labels: {app: " name                               \
    "}}\nspec: {containers: [{name: c}], affinity: {podAffinity: "                                 \
    "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: host, "                       \
    "labelSelector: {matchLabels: {app: " other "}}}]}}}\n"

static const PodResult *result_of(
    const TestSimulation *simulation, const SimulationResult *result, const char *name) {
    for (size_t i = 0; i < result->n_pods; i++)
        if (str_is(simulation->input->arrivals[i].name, name))
            return &result->pods[i];
    fail_msg("no pod %s", name);
    return NULL;
}

/* The second pod waits until the first ends; the third has a higher priority and goes first. */
static void test_pending_pods_go_by_priority(void **state) {
    SimulationResult *result;
    TestSimulation simulation;

    (void)state;
    test_simulation_load(&simulation, NODES("a"), NULL,
        LINE("0", ", lifetime: 10", "first", "2") LINE("1", ", lifetime: 5", "second",
            "2") "- {at: 2, lifetime: 5, pod: {metadata: {name: third}, spec: {priority: 7, "
                 "containers: "
                 "[{name: c, resources: {requests: {cpu: 2}}}]}}}\n" LINE("3", "", "fourth", "3"));
    result = play(simulation.input, 1, NULL);
    assert_int_equal(result->n_placed, 3);
    assert_int_equal(result->n_pending, 1);
    assert_true(fabsf(result_of(&simulation, result, "third")->waited - 8) < 0.001F);
    assert_true(fabsf(result_of(&simulation, result, "second")->waited - 14) < 0.001F);
    assert_int_equal(result_of(&simulation, result, "fourth")->kind, RESULT_PENDING);
    assert_true(fabs(result->end - 20) < 0.001);
    assert_int_equal(result->n_emptied, 1);
    assert_int_equal(result->n_waited, 2);
    assert_text("reason", result->reasons[0].text, "Insufficient cpu");
    simulation_result_free(result);
    test_simulation_done(&simulation);
}

/* A policy's rejection is reported with its own reason. */
static void test_reason_of_a_policy_is_reported(void **state) {
    _cleanup_(program_unrefp) Program *program =
        compile(HEAD "  filters: [{name: own, nodeLabels: {pool: mine}, reason: not my pool}]\n");
    SimulationResult *result;
    TestSimulation simulation;

    (void)state;
    test_simulation_load(
        &simulation, NODES("a") NODES("b"), NULL, LINE("0", ", count: 3", "x", "1"));
    result = play(simulation.input, 1, program);
    assert_int_equal(result->n_pending, 3);
    assert_int_equal(result->n_reasons, 1);
    assert_text("reason", result->reasons[0].text, "p/own: not my pool");
    simulation_result_free(result);
    test_simulation_done(&simulation);
}

/* A gated pod is pending, and is no attempt; others go on. */
static void test_gated_pods_are_not_placed(void **state) {
    SimulationResult *result;
    TestSimulation simulation;

    (void)state;
    test_simulation_load(&simulation, NODES("a"), NULL,
        "- {at: 0, pod: {metadata: {name: gated}, spec: {schedulingGates: [{name: example.com/g}], "
        "containers: [{name: c}]}}}\n" LINE("1", ", lifetime: 5", "x", "1")
            LINE("9", "", "y", "1"));
    result = play(simulation.input, 1, NULL);
    assert_int_equal(result_of(&simulation, result, "gated")->kind, RESULT_PENDING);
    assert_int_equal(result->n_placed, 2);
    assert_int_equal(result->n_attempts, 2);
    assert_int_equal(simulation.input->n_any_unmodelled, 0);
    assert_text(
        "reason", result->reasons[0].text, "SchedulingGated: spec.schedulingGates is not empty");
    simulation_result_free(result);
    test_simulation_done(&simulation);
}

/* The first three wait for the last one, in a chain. */
static void test_pending_pods_follow_the_pod_that_they_need(void **state) {
    SimulationResult *result;
    TestSimulation simulation;

    (void)state;
    test_simulation_load(&simulation, NODES("a") NODES("b"),
        WANTS("one", "two") WANTS("two", "three") WANTS("three", "four") WANTS("four", "four")
            WANTS("alone", "nobody"),
        NULL);
    result = play(simulation.input, 1, NULL);
    assert_int_equal(result->n_placed, 4);
    assert_int_equal(result->n_pending, 1);
    for (size_t i = 1; i < 4; i++)
        assert_int_equal(result->pods[i].row, result->pods[0].row);
    assert_text("reason", result->reasons[0].text, "node(s) didn't match pod affinity rules");
    simulation_result_free(result);
    test_simulation_done(&simulation);
}

#define SPREADS(name, node)                                                                        \
    "---\nkind: Pod\nmetadata: {name: " name                                                       \
    ", labels: {app: web}}\nspec: {containers: [{name: c}], "                                      \
    "nodeSelector: {host: " node "}, topologySpreadConstraints: [{topologyKey: host, maxSkew: 1, " \
    "whenUnsatisfiable: DoNotSchedule, nodeAffinityPolicy: Ignore, labelSelector: {matchLabels: "  \
    "{app: web}}}]}\n"

/* The second is one too many on its node until the third is on the other. */
static void test_pending_pods_are_retried_when_others_spread(void **state) {
    SimulationResult *result;
    TestSimulation simulation;

    (void)state;
    test_simulation_load(&simulation, NODES("a") NODES("b"),
        SPREADS("one", "a") SPREADS("two", "a") SPREADS("three", "b"), NULL);
    result = play(simulation.input, 1, NULL);
    assert_int_equal(result->n_placed, 3);
    assert_int_equal(result->n_attempts, 4);
    simulation_result_free(result);
    test_simulation_done(&simulation);
}

/* Packing leaves empty nodes that an autoscaler can remove; the default, spreading, does not. */
static void test_packing_leaves_empty_nodes(void **state) {
    _cleanup_(program_unrefp) Program *pack = compile(PACK);
    SimulationResult *none, *packed;
    TestSimulation simulation;

    (void)state;
    test_simulation_load(&simulation, NODES("a") NODES("b") NODES("c") NODES("d"), NULL,
        LINE("0", ", count: 8, lifetime: 50", "short", "500m")
            LINE("60", ", count: 4", "long", "500m"));
    none = play(simulation.input, 1, NULL);
    packed = play(simulation.input, 1, pack);
    assert_int_equal(none->n_used, 4);
    assert_int_equal(packed->n_used, 1);
    assert_int_equal(none->n_emptied, 0);
    assert_true(packed->n_emptied >= 1);
    assert_true(simulation_result_moves(packed, none) > 0);
    simulation_result_free(none);
    simulation_result_free(packed);
    test_simulation_done(&simulation);
}

static void test_ends_at_the_given_time(void **state) {
    RunOptions options = {.scheduler = {.weight = 1, .seed = 1}, .until = 5};
    SimulationResult *result = NULL;
    TestSimulation simulation;

    (void)state;
    test_simulation_load(
        &simulation, NODES("a"), NULL, LINE("0", "", "x", "1") LINE("6", "", "y", "1"));
    assert_int_equal(run_simulation(simulation.input, NULL, &options, &result), 0);
    assert_int_equal(result->n_reached, 1);
    assert_int_equal(result->n_placed, 1);
    assert_true(fabs(result->end - 5) < 0.001);
    simulation_result_free(result);
    test_simulation_done(&simulation);
}

/* --- queues -------------------------------------------------------------------- */

static void test_pods_end_in_order_of_time(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    PodEndQueue ends = {0};
    Rng rng = {.state = 7};
    double last = 0;

    (void)state;
    for (uint32_t i = 0; i < 500; i++) {
        PodEnd end = {.at = (double)rng_pick(&rng, 100), .arrival = i};

        assert_int_equal(pod_end_queue_add(&ends, arena, end), 0);
    }
    for (uint32_t i = 0; i < 500; i++) {
        PodEnd end = pod_end_queue_take(&ends);

        assert_true(end.at >= last);
        last = end.at;
    }
    assert_int_equal(ends.n, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_runs_keep_invariants),
        cmocka_unit_test(test_pending_pods_go_by_priority),
        cmocka_unit_test(test_reason_of_a_policy_is_reported),
        cmocka_unit_test(test_gated_pods_are_not_placed),
        cmocka_unit_test(test_pending_pods_follow_the_pod_that_they_need),
        cmocka_unit_test(test_pending_pods_are_retried_when_others_spread),
        cmocka_unit_test(test_packing_leaves_empty_nodes),
        cmocka_unit_test(test_ends_at_the_given_time),
        cmocka_unit_test(test_pods_end_in_order_of_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
