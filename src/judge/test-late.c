/* After the deadline: verdicts of nodes that were not evaluated, and how they are counted. */

#include "judge/test-fixture.h"

static bool over_after_n_calls(void *context) {
    unsigned *left = context;

    return (*left)-- == 0;
}

/* onTimeout decides for nodes that were not evaluated before the deadline; precomputed rules still
 * reject. The slow rule runs in the scalar machine, which checks the deadline. */
static void test_on_timeout_decides_after_the_deadline(void **state) {
    static const struct {
        const char *on_timeout;
        uint16_t want;
    } cases[] = {{"reject", VERDICT_LATE}, {"allow", VERDICT_PASS}};
    uint32_t rows[NODES];
    uint16_t verdicts[NODES];

    (void)state;
    for (size_t c = 0; c < ELEMENTS_OF(cases); c++) {
        char policies[512];
        JudgeInput input;
        unsigned left = 0;
        JudgeFixture fixture;
        Judge *judge;

        (void)snprintf(policies, sizeof(policies),
            "p: {onTimeout: %s, filters: [{name: known, nodeLabels: {pool: a}}, {name: slow, "
            "expression: 'node.metadata.name.replace(\"n\", pod.metadata.namespace) != \"\"'}]}",
            cases[c].on_timeout);
        fixture_init(&fixture, policies, NODES);
        fixture_rows(&fixture, rows, NODES);
        input = fixture_input(&fixture, rows, NODES);
        input.is_over = over_after_n_calls;
        input.context = &left;
        assert_int_equal(judge_open(&input, &judge), 0);
        assert_int_equal(judge_filters(judge, verdicts), 0);
        assert_int_equal(count_verdicts(verdicts, NODES, 0), 1000);
        assert_int_equal(count_verdicts(verdicts, NODES, cases[c].want), 500);
        assert_int_equal(judge_notes(judge).n_late, NODES);
        fixture_done(&fixture);
    }
}

static bool always_over(void *context) {
    (void)context;
    return true;
}

/* Each candidate counts once, also if both a filter and a score are late. Other rows do not count,
 * although the whole table is evaluated when there are many candidates. */
static void test_late_rows_are_counted_once(void **state) {
    static const char policies[] =
        "p: {onTimeout: allow, narrow: {to: 1},"
        "    filters: [{name: slow, expression: 'node.metadata.name.replace(\"n\", "
        "pod.metadata.namespace) != \"\"'}],"
        "    scores: [{name: slow-too, expression: 'node.metadata.name.replace(\"n\", "
        "pod.metadata.namespace).size()'}]}";
    static const size_t candidates[] = {0, 1, 50, 600, NODES};
    uint32_t rows[NODES];
    uint16_t verdicts[NODES];

    (void)state;
    for (size_t c = 0; c < ELEMENTS_OF(candidates); c++) {
        size_t n = candidates[c], unknown = 0;
        JudgeInput input;
        JudgeFixture fixture;
        Judge *judge;

        fixture_init(&fixture, policies, NODES);
        for (unsigned i = 0; i < n; i++) {
            rows[i] =
                i % 10 == 9 ? (uint32_t)fixture.table->n_rows : row_of(&fixture, i * 7 % NODES);
            unknown += i % 10 == 9;
        }
        input = fixture_input(&fixture, rows, n);
        input.is_over = always_over;
        assert_int_equal(judge_open(&input, &judge), 0);
        assert_int_equal(judge_filters(judge, verdicts), 0);
        assert_int_equal(judge_narrow(judge, 1, verdicts, NULL), 0);
        assert_int_equal(judge_notes(judge).n_late, n - unknown);
        assert_int_equal(count_verdicts(verdicts, n, VERDICT_NARROWED), 0);
        fixture_done(&fixture);
    }
}

/* The deadline passes before match.expression is evaluated. Precomputed rejections (here of six
 * nodes) count only with onTimeout: reject. */
static void test_on_timeout_decides_when_match_is_late(void **state) {
    static const struct {
        const char *on_timeout;
        size_t passing, late, failing;
    } cases[] = {{"reject", 0, 3, 6}, {"allow", 9, 0, 0}};
    uint32_t rows[9];
    uint16_t verdicts[9];

    (void)state;
    for (size_t c = 0; c < ELEMENTS_OF(cases); c++) {
        char policies[512];
        JudgeInput input;
        JudgeFixture fixture;
        Judge *judge;

        (void)snprintf(policies, sizeof(policies),
            "p: {onTimeout: %s, match: {expression: 'pod.metadata.name.replace(\"a\", \"b\") "
            "!= \"x\"'}, filters: [{name: known, nodeLabels: {pool: a}}, {name: slow, "
            "expression: 'node.metadata.name.replace(\"n\", pod.metadata.namespace) != "
            "\"\"'}]}",
            cases[c].on_timeout);
        fixture_init(&fixture, policies, 9);
        fixture_rows(&fixture, rows, 9);
        input = fixture_input(&fixture, rows, 9);
        input.is_over = always_over;
        assert_int_equal(judge_open(&input, &judge), 0);
        assert_int_equal(judge_filters(judge, verdicts), 0);
        assert_int_equal(count_verdicts(verdicts, 9, VERDICT_PASS), cases[c].passing);
        assert_int_equal(count_verdicts(verdicts, 9, VERDICT_LATE), cases[c].late);
        assert_int_equal(count_verdicts(verdicts, 9, 0), cases[c].failing);
        assert_int_equal(judge_notes(judge).n_late, 9);
        fixture_done(&fixture);
    }
}

/* NodeFacts that were not ready in time are not used: nothing is evaluated, and onTimeout
 * decides. */
static void test_on_timeout_decides_when_facts_are_late(void **state) {
    static const char policies[] =
        "p: {onTimeout: %s, match: {expression: 'pod.metadata.namespace != \"\"'},"
        "    filters: [{name: slow, expression: 'node.metadata.name.replace(\"n\", \"m\") == "
        "\"m\"'}],"
        "    scores: [{name: s, expression: '50'}], narrow: {to: 1}}";
    static const struct {
        const char *on_timeout;
        uint16_t want;
    } cases[] = {{"reject", VERDICT_LATE}, {"allow", VERDICT_PASS}};

    (void)state;
    for (size_t c = 0; c < ELEMENTS_OF(cases); c++) {
        unsigned left = 0;
        FactsOptions options = {.clock = {.is_over = over_after_n_calls, .context = &left}};
        uint32_t rows[] = {1, 4, 70};
        uint16_t verdicts[3];
        double scores[3];
        char text[512];
        JudgeFixture fixture;
        Judge *judge;

        (void)snprintf(text, sizeof(text), policies, cases[c].on_timeout);
        fixture_init(&fixture, text, 70);
        assert_int_equal(facts_build(fixture.scene.program, fixture.table, &options,
                             fixture.scene.arena, &fixture.facts),
            0);
        assert_true(fixture.facts.is_late);
        judge = fixture_open(&fixture, rows, 3);
        assert_int_equal(judge_filters(judge, verdicts), 0);
        assert_int_equal(verdicts[0], cases[c].want);
        assert_int_equal(verdicts[1], cases[c].want);
        assert_int_equal(verdicts[2], VERDICT_PASS); /* the unknown node */
        assert_int_equal(judge_narrow(judge, 1, verdicts, NULL), 0);
        assert_int_equal(verdicts[1], cases[c].want);
        assert_int_equal(judge_scores(judge, scores), 0);
        assert_true(scores[0] == 0);
        assert_int_equal(judge_notes(judge).n_late, 3);
        fixture_done(&fixture);
    }
}

/* The deadline passes during scoring: all passing nodes stay, because the best are not known. */
static void test_deadline_during_scoring_keeps_all_nodes(void **state) {
    static const char policies[] =
        "p: {narrow: {to: 2}, filters: [{name: pool, nodeLabels: {pool: a}}],"
        "    scores: [{name: slow, expression: 'node.metadata.name.replace(\"n\", "
        "pod.metadata.namespace).size()'}]}";
    uint32_t rows[NODES];
    uint16_t verdicts[NODES];

    (void)state;
    for (unsigned turns = 0; turns < 3; turns++) {
        const double *scores = NULL;
        unsigned left = turns;
        JudgeInput input;
        JudgeFixture fixture;
        Judge *judge;

        fixture_init(&fixture, policies, NODES);
        fixture_rows(&fixture, rows, NODES);
        input = fixture_input(&fixture, rows, NODES);
        input.is_over = over_after_n_calls;
        input.context = &left;
        assert_int_equal(judge_open(&input, &judge), 0);
        assert_int_equal(judge_filters(judge, verdicts), 0);
        assert_int_equal(judge_narrow(judge, 2, verdicts, &scores), 0);
        assert_true(judge_notes(judge).n_late > 0);
        assert_null(scores);
        assert_int_equal(count_verdicts(verdicts, NODES, VERDICT_PASS), 500);
        assert_int_equal(count_verdicts(verdicts, NODES, 0), 1000);
        fixture_done(&fixture);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_on_timeout_decides_after_the_deadline),
        cmocka_unit_test(test_on_timeout_decides_when_facts_are_late),
        cmocka_unit_test(test_late_rows_are_counted_once),
        cmocka_unit_test(test_on_timeout_decides_when_match_is_late),
        cmocka_unit_test(test_deadline_during_scoring_keeps_all_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
