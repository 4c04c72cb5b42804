#include "judge/facts.h"

#include "judge/test-fixture.h"

#define N_NODES 200

/* "nested" needs the most work, "long" the most memory; "cheap" shares nothing with them. */
static const char policies[] = "p: {filters: [{name: cheap, nodeLabels: {pool: a}},"
                               "    {name: nested, expression: '[0, 1, 2].all(a, [0, 1, 2].all(b, "
                               "[0, 1, 2].all(c, a + b + c + "
                               "size(node.metadata.name) > 0)))'}],"
                               "    scores: [{name: long, expression: '(node.metadata.name + "
                               "\"0123456789012345678901234567890\""
                               ") == pod.metadata.name ? 1 : 2'}]}";

typedef struct BudgetFixture {
    JudgeFixture judge;
    FactsBudget budget;
} BudgetFixture;

static void begin(BudgetFixture *fixture) {
    fixture_init(&fixture->judge, policies, N_NODES);
    fixture->budget = (FactsBudget){.work_max = UINT64_MAX, .bytes_max = SIZE_MAX};
}

static void build(BudgetFixture *fixture, const NodeSet *known, NodeFacts *ret) {
    assert_int_equal(
        facts_build(fixture->judge.scene.program, fixture->judge.table,
            &(FactsOptions){.known = known, .budget = &fixture->budget, .is_counted = true},
            fixture->judge.scene.arena, ret),
        0);
}

static bool is_worst(const FactsBudget *budget, const char *rule) {
    return budget->n_worst > 0 && str_is(budget->worst[0].name, rule);
}

static void test_ranks_rules_by_work(void **state) {
    BudgetFixture fixture;
    NodeFacts facts;

    begin(&fixture);
    fixture.budget.is_ranked = true;
    build(&fixture, NULL, &facts);
    assert_int_equal(fixture.budget.limit, FACTS_WITHIN);
    assert_int_equal(fixture.budget.n_worst, 3);
    assert_true(is_worst(&fixture.budget, "nested"));
    assert_string_equal(fixture.budget.worst[0].type, "filter");
    assert_true(fixture.budget.worst[1].cost.work >= fixture.budget.worst[2].cost.work);
    assert_true(fixture.budget.cost.work >= fixture.budget.worst[0].cost.work);
    assert_true(fixture.budget.cost.bytes > 0);
    facts_release(&facts);
    fixture_done(&fixture.judge);
}

/* A budget of exactly the counted work is enough; with half of it the most expensive rule is
 * reported. */
static void test_work_is_the_same_each_time(void **state) {
    BudgetFixture fixture;
    NodeFacts facts;
    uint64_t work;

    begin(&fixture);
    build(&fixture, NULL, &facts);
    assert_int_equal(fixture.budget.n_worst, 0); /* is_ranked is false */
    work = fixture.budget.cost.work;
    facts_release(&facts);

    fixture.budget.work_max = work;
    build(&fixture, NULL, &facts);
    assert_false(facts.is_late);
    assert_int_equal(fixture.budget.cost.work, work);
    facts_release(&facts);

    fixture.budget.work_max = work / 2;
    build(&fixture, NULL, &facts);
    assert_true(facts.is_late);
    assert_int_equal(fixture.budget.limit, FACTS_OVER_WORK);
    assert_true(fixture.budget.n_rows < N_NODES);
    assert_true(is_worst(&fixture.budget, "nested"));
    facts_release(&facts);
    fixture_done(&fixture.judge);
}

static void test_memory_counts_shared_chunks(void **state) {
    BudgetFixture fixture;
    NodeFacts facts, again;
    NodeSet known;
    size_t bytes;

    begin(&fixture);
    build(&fixture, NULL, &facts);
    bytes = fixture.budget.cost.bytes;
    known = (NodeSet){.table = fixture.judge.table, .facts = &facts};
    build(&fixture, &known, &again);
    assert_int_equal(fixture.budget.cost.work, 0);
    assert_int_equal(fixture.budget.cost.bytes, bytes);
    facts_release(&again);

    fixture.budget.bytes_max = 1024;
    build(&fixture, NULL, &again);
    assert_true(again.is_late);
    assert_int_equal(fixture.budget.limit, FACTS_OVER_MEMORY);
    assert_true(is_worst(&fixture.budget, "long"));
    facts_release(&again);
    facts_release(&facts);
    fixture_done(&fixture.judge);
}

static bool always_over(void *context) {
    return true;
}

static void test_stops_at_the_deadline(void **state) {
    BudgetFixture fixture;
    NodeFacts facts;

    begin(&fixture);
    assert_int_equal(
        facts_build(fixture.judge.scene.program, fixture.judge.table,
            &(FactsOptions){
                .clock = {.is_over = always_over}, .budget = &fixture.budget, .is_counted = true},
            fixture.judge.scene.arena, &facts),
        0);
    assert_true(facts.is_late);
    assert_int_equal(fixture.budget.limit, FACTS_OVER_TIME);
    assert_int_equal(fixture.budget.n_rows, 0);
    facts_release(&facts);
    fixture_done(&fixture.judge);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_rules_by_work),
        cmocka_unit_test(test_work_is_the_same_each_time),
        cmocka_unit_test(test_memory_counts_shared_chunks),
        cmocka_unit_test(test_stops_at_the_deadline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
