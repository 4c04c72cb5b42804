/* Runs as a whole: what must hold whatever comes, and what time does. */

#include "simulate/run.h"

#include <math.h>
#include <string.h>

#include "base/dice.h"
#include "simulate/test-stage.h"
#include "simulate/waiting.h"

#define TEXT_MAX ((size_t)1024 * 1024)

#define NODES(n)                                                                                   \
    "---\nkind: Node\nmetadata: {name: " n "}\nstatus: {allocatable: {cpu: 2, memory: 4Gi, pods: " \
    "10}}\n"

static Outcome *play(const Scenario *scenario, uint64_t seed, Program *program) {
    OursParts parts = {.table = scenario->table, .program = program};
    RunOptions options = {.scheduler = {.weight = 1, .seed = seed}, .until = -1};
    Outcome *outcome = NULL;

    assert_int_equal(run_scenario(scenario, program ? &parts : NULL, &options, &outcome), 0);
    return outcome;
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

/* --- laws ---------------------------------------------------------------------- */

static void random_trace(Dice *dice, Buf *out) {
    for (size_t i = 0; i < 60; i++) {
        buf_printf(out,
            "- {at: %zu, count: %zu, pod: {metadata: {name: p%zu}, spec: {priority: %zu, "
            "containers: [{name: c, resources: {requests: {cpu: %zum, memory: %zuMi}}}]}}",
            dice_pick(dice, 100),
            1 + dice_pick(dice, 4),
            i,
            dice_pick(dice, 2),
            dice_pick(dice, 1200),
            dice_pick(dice, 2000));
        if (dice_pick(dice, 2))
            buf_printf(out, ", lifetime: %zu", 1 + dice_pick(dice, 50));
        buf_append(out, STR("}\n"));
    }
    buf_append_char(out, '\0');
}

/* What runs at the end is on a node that can hold it. */
static void check_amounts(const Scenario *scenario, const Outcome *outcome) {
    int64_t cpu[8] = {0}, memory[8] = {0}, pods[8] = {0};

    for (size_t i = 0; i < outcome->n_pods; i++) {
        const PodFate *fate = &outcome->fates[i];
        const Resources *requests = &scenario->arrivals[i].want->pod.requests;

        assert_true((fate->row == NO_ROW) == (fate->fate == FATE_WAITING));
        if (fate->fate != FATE_PLACED)
            continue;
        cpu[fate->row] += resources_get(requests, STR("cpu"));
        memory[fate->row] += resources_get(requests, STR("memory"));
        pods[fate->row]++;
    }
    for (uint32_t row = 0; row < 8; row++) {
        assert_true(cpu[row] <= 2000);
        assert_true(memory[row] <= (int64_t)4 * 1024 * 1024 * 1024);
        assert_true(pods[row] <= 10);
    }
}

static void check_laws(const Scenario *scenario, const Outcome *outcome) {
    size_t n_pending = 0;

    assert_int_equal(outcome->n_reached, scenario->n_arrivals);
    assert_int_equal(outcome->n_placed + outcome->n_waiting, scenario->n_arrivals);
    assert_true(outcome->n_ended <= outcome->n_placed);
    for (size_t i = 0; i < outcome->n_reasons; i++)
        n_pending += outcome->reasons[i].n_pods;
    assert_int_equal(n_pending, outcome->n_waiting);
    assert_true(outcome->n_used <= outcome->n_used_most);
    assert_true(outcome->n_used_mean <= (double)outcome->n_used_most + 1e-9);
    assert_true(outcome->cpu.highest <= 1 && outcome->memory.highest <= 1);
    check_amounts(scenario, outcome);
}

static void test_laws(void **state) {
    _cleanup_(program_unrefp) Program *pack = compile(PACK);
    Dice dice = {.state = 42};

    (void)state;
    for (size_t round = 0; round < 20; round++) {
        _cleanup_(buf_done) Buf trace = BUF_INIT(TEXT_MAX);
        Stage stage;

        random_trace(&dice, &trace);
        stage_load(&stage,
            NODES("a") NODES("b") NODES("c") NODES("d") NODES("e") NODES("f") NODES("g") NODES("h"),
            NULL,
            trace.data);
        for (int with = 0; with < 2; with++) {
            Outcome *first = play(stage.scenario, 1, with ? pack : NULL);
            Outcome *again = play(stage.scenario, 1, with ? pack : NULL);

            check_laws(stage.scenario, first);
            assert_memory_equal(first->fates, again->fates, first->n_pods * sizeof(PodFate));
            assert_int_equal(outcome_moves(first, again), 0);
            outcome_free(first);
            outcome_free(again);
        }
        stage_done(&stage);
    }
}

/* --- time ---------------------------------------------------------------------- */

#define LINE(at, more, name, cpu)                                                                  \
    "- {at: " at more ", pod: {metadata: {name: " name "}, spec: {containers: [{name: c, "         \
    "resources: {requests: {cpu: " cpu "}}}]}}}\n"

static const PodFate *fate_of(const Stage *stage, const Outcome *outcome, const char *name) {
    for (size_t i = 0; i < outcome->n_pods; i++)
        if (str_is(stage->scenario->arrivals[i].name, name))
            return &outcome->fates[i];
    fail_msg("no pod %s", name);
    return NULL;
}

/* The second waits until the first is gone; the third, which is more important, goes before it. */
static void test_waiting(void **state) {
    Outcome *outcome;
    Stage stage;

    (void)state;
    stage_load(&stage,
        NODES("a"),
        NULL,
        LINE("0", ", lifetime: 10", "first", "2") LINE("1",
            ", lifetime: 5",
            "second",
            "2") "- {at: 2, lifetime: 5, pod: {metadata: {name: third}, spec: {priority: 7, "
                 "containers: "
                 "[{name: c, resources: {requests: {cpu: 2}}}]}}}\n" LINE("3", "", "fourth", "3"));
    outcome = play(stage.scenario, 1, NULL);
    assert_int_equal(outcome->n_placed, 3);
    assert_int_equal(outcome->n_waiting, 1);
    assert_true(fabsf(fate_of(&stage, outcome, "third")->waited - 8) < 0.001F);
    assert_true(fabsf(fate_of(&stage, outcome, "second")->waited - 14) < 0.001F);
    assert_int_equal(fate_of(&stage, outcome, "fourth")->fate, FATE_WAITING);
    assert_true(fabs(outcome->end - 20) < 0.001);
    assert_int_equal(outcome->n_emptied, 1);
    assert_int_equal(outcome->n_waited, 2);
    assert_text("reason", outcome->reasons[0].text, "Insufficient cpu");
    outcome_free(outcome);
    stage_done(&stage);
}

/* A policy's own filter speaks with its own words. */
static void test_policy_reason(void **state) {
    _cleanup_(program_unrefp) Program *program =
        compile(HEAD "  filters: [{name: own, nodeLabels: {pool: mine}, reason: not my pool}]\n");
    Outcome *outcome;
    Stage stage;

    (void)state;
    stage_load(&stage, NODES("a") NODES("b"), NULL, LINE("0", ", count: 3", "x", "1"));
    outcome = play(stage.scenario, 1, program);
    assert_int_equal(outcome->n_waiting, 3);
    assert_int_equal(outcome->n_reasons, 1);
    assert_text("reason", outcome->reasons[0].text, "p/own: not my pool");
    outcome_free(outcome);
    stage_done(&stage);
}

/* Packing leaves nodes that an autoscaler can remove; spreading, as is the default, does not. */
static void test_packing(void **state) {
    _cleanup_(program_unrefp) Program *pack = compile(PACK);
    Outcome *none, *packed;
    Stage stage;

    (void)state;
    stage_load(&stage,
        NODES("a") NODES("b") NODES("c") NODES("d"),
        NULL,
        LINE("0", ", count: 8, lifetime: 50", "short", "500m")
            LINE("60", ", count: 4", "long", "500m"));
    none = play(stage.scenario, 1, NULL);
    packed = play(stage.scenario, 1, pack);
    assert_int_equal(none->n_used, 4);
    assert_int_equal(packed->n_used, 1);
    assert_int_equal(none->n_emptied, 0);
    assert_true(packed->n_emptied >= 1);
    assert_true(outcome_moves(packed, none) > 0);
    outcome_free(none);
    outcome_free(packed);
    stage_done(&stage);
}

static void test_until(void **state) {
    RunOptions options = {.scheduler = {.weight = 1, .seed = 1}, .until = 5};
    Outcome *outcome = NULL;
    Stage stage;

    (void)state;
    stage_load(&stage, NODES("a"), NULL, LINE("0", "", "x", "1") LINE("6", "", "y", "1"));
    assert_int_equal(run_scenario(stage.scenario, NULL, &options, &outcome), 0);
    assert_int_equal(outcome->n_reached, 1);
    assert_int_equal(outcome->n_placed, 1);
    assert_true(fabs(outcome->end - 5) < 0.001);
    outcome_free(outcome);
    stage_done(&stage);
}

/* --- queues -------------------------------------------------------------------- */

static void test_endings(void **state) {
    Endings endings = {0};
    Dice dice = {.state = 7};
    double last = 0;

    (void)state;
    for (uint32_t i = 0; i < 500; i++) {
        Ending ending = {.at = (double)dice_pick(&dice, 100), .arrival = i};

        assert_int_equal(endings_add(&endings, ending), 0);
    }
    for (uint32_t i = 0; i < 500; i++) {
        Ending ending = endings_take(&endings);

        assert_true(ending.at >= last);
        last = ending.at;
    }
    assert_int_equal(endings.n, 0);
    endings_done(&endings);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_laws),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_policy_reason),
        cmocka_unit_test(test_packing),
        cmocka_unit_test(test_until),
        cmocka_unit_test(test_endings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
