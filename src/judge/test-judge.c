/* Order of rows, errors and narrowing. Verdicts and scores are tested in suite/test-cases.c,
 * deadlines in test-late.c. */

#include "judge/test-fixture.h"

/* --- order ---------------------------------------------------------------------------- */

/* Few or many rows, in any order, some repeated or unknown: each gets its own verdict. */
static void test_rows_in_any_order_get_their_own_verdict(void **state) {
    static const char policies[] =
        "p: {filters: [{name: pool, nodeLabels: {pool: a}},"
        "              {name: room, headroom: {cpu: 3}}],"
        "    scores: [{name: pack, binPack: {cpu: 1}},"
        "             {name: number, expression: 'double(node.metadata.labels[\"n\"])',"
        "              normalize: rank}]}";
    static const size_t counts[] = {1, 2, 63, 64, 65, 300, 700, NODES};
    uint32_t rows[NODES];
    uint16_t verdicts[NODES];
    double scores[NODES];
    JudgeFixture fixture;

    (void)state;
    fixture_init(&fixture, policies, NODES);
    for (size_t c = 0; c < ELEMENTS_OF(counts); c++) {
        size_t n = counts[c];
        Judge *judge;

        for (size_t i = 0; i < n; i++)
            rows[i] = i % 50 == 7 ? (uint32_t)fixture.table->n_rows
                                  : row_of(&fixture, (unsigned)(i * 611 % NODES));
        judge = fixture_open(&fixture, rows, n);
        assert_int_equal(judge_filters(judge, verdicts), 0);
        assert_int_equal(judge_scores(judge, scores), 0);
        for (size_t i = 0; i < n; i++) {
            unsigned number = (unsigned)(i * 611 % NODES);
            uint16_t want = number % 3 != 0 ? 0 : number % 16 + 1 < 1 + 3 ? 1 : VERDICT_PASS;

            if (rows[i] == fixture.table->n_rows)
                assert_int_equal(verdicts[i], VERDICT_PASS);
            else
                assert_int_equal(verdicts[i], want);
            assert_true(scores[i] >= 0 && scores[i] <= 100);
        }
    }
    fixture_done(&fixture);
}

/* --- errors ---------------------------------------------------------------------------------- */

static void test_on_error_decides_and_errors_are_counted(void **state) {
    static const char policies[] =
        "p: {filters: [{name: a, expression: \"node.metadata.labels['pool'] == 'a'\"},"
        "              {name: b, expression: \"node.metadata.labels['pool'] == 'a'\","
        "               onError: allow},"
        "              {name: c, expression: \"node.metadata.labels['pool'] =="
        "                 pod.metadata.labels['app'].replace('web', 'a')\", onError: allow}],"
        "    scores: [{name: s, expression: \"node.metadata.labels['pool'] == 'a' ? 10 : 20\","
        "              onError: 70},"
        "             {name: nan, expression: '0.0 / (node.free.cpu - node.free.cpu)',"
        "              onError: 30}]}";
    uint32_t rows[9];
    uint16_t verdicts[9];
    double scores[9];
    JudgeFixture fixture;
    Judge *judge;

    (void)state;
    fixture_init(&fixture, policies, 9);
    fixture_rows(&fixture, rows, 9);
    judge = fixture_open(&fixture, rows, 9);
    assert_int_equal(judge_filters(judge, verdicts), 0);
    assert_int_equal(judge_scores(judge, scores), 0);
    for (unsigned i = 0; i < 9; i++) {
        assert_int_equal(verdicts[i], i % 3 == 0 ? VERDICT_PASS : 0);
        assert_true(scores[i] == (i % 3 == 0 ? (10.0 + 30) / 2 : (70.0 + 30) / 2));
    }
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(judge_notes(judge).filter_errors[i], 6);
    assert_int_equal(judge_notes(judge).score_errors[0], 6);
    fixture_done(&fixture);
}

/* Each product is rounded before it is added, on every processor (-ffp-contract=off). Rounded once,
 * the sum would be 2.333333333333333. */
static void test_products_are_rounded_before_they_are_added(void **state) {
    uint32_t row;
    double score;
    JudgeFixture fixture;
    Judge *judge;

    (void)state;
    fixture_init(&fixture,
        "p: {scores: [{name: one, expression: '1'}, {name: three, expression: '3', weight: 2}]}",
        1);
    fixture_rows(&fixture, &row, 1);
    judge = fixture_open(&fixture, &row, 1);
    assert_int_equal(judge_scores(judge, &score), 0);
    assert_true(score == 2.3333333333333335);
    fixture_done(&fixture);
}

static const char missing_text[] =
    "policy:\n"
    "  metrics: [{name: load, prometheus: {query: load}}, {name: other, prometheus: {query: "
    "x}}]\n"
    "  filters:\n"
    "    - {name: a, expression: \"metrics.load < int(node.metadata.labels['n'])\","
    "       onMissing: allow}\n"
    "    - {name: b, expression: \"metrics.load < pod.requests.cpu + "
    "       double(node.metadata.labels['n'])\", onMissing: allow, onError: allow}\n"
    "    - {name: c, expression: node.ready}\n"
    "  scores: [{name: s, expression: \"metrics.load * metrics.other\", onMissing: 7}]\n"
    "nodes:\n"
    "  good: {labels: {n: '1'}}\n"
    "  wrong: {labels: {n: x}}\n"
    "  silent: {labels: {n: '1'}}\n"
    "  both: {}\n"
    "  spare: {}\n" /* not a candidate: so one candidate of five nodes is few (SPARSE) */
    "measured: {load: {good: 0.5, wrong: 0.5}, other: {good: 2}}\n"
    "pod: {requests: {cpu: 1}}\n";
static const char *const missing_nodes[] = {"good", "wrong", "silent", "both"};

/* Failures caused by a missing metric are counted separately, for rules that read only the node and
 * for rules that also read the pod. */
static void test_missing_metric_is_counted_separately(void **state) {
    static const uint16_t want[] = {VERDICT_PASS, 0, VERDICT_PASS, VERDICT_PASS};
    _cleanup_(buf_done) Buf absent = BUF_INIT(256);
    uint32_t rows[5];
    uint16_t verdicts[5];
    double scores[5];
    JudgeFixture fixture;
    Judge *judge;
    JudgeNotes notes;

    (void)state;
    fixture_set(&fixture, missing_text);
    for (unsigned i = 0; i < 4; i++)
        rows[i] = table_find(fixture.table, str_from_c(missing_nodes[i]));
    rows[4] = (uint32_t)fixture.table->n_rows; /* the unknown node */
    judge = fixture_open(&fixture, rows, 5);
    assert_int_equal(judge_filters(judge, verdicts), 0);
    assert_int_equal(judge_scores(judge, scores), 0);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(verdicts[i], want[i]);
        assert_true(scores[i] == (i == 0 ? 1 : 7));
    }
    notes = judge_notes(judge);
    assert_int_equal(notes.filter_errors[0], 1);
    assert_int_equal(notes.filter_missing[0], 2);
    assert_int_equal(notes.filter_errors[1], 1);
    assert_int_equal(notes.filter_missing[1], 2);
    assert_int_equal(notes.filter_missing[2], 0);
    assert_null(notes.score_errors);
    assert_int_equal(notes.score_missing[0], 3);
    assert_int_equal(
        judge_absent(judge, &fixture.scene.program->scores[0]->value, rows[2], &absent), 2);
    assert_text("absent", buf_str(&absent), "load, other");
    fixture_done(&fixture);
}

/* Like the test above, for a single node, which is evaluated without columns. */
static void test_missing_metric_is_counted_for_a_single_node(void **state) {
    uint32_t rows[ELEMENTS_OF(missing_nodes)];
    uint16_t verdict;
    double score;
    JudgeFixture fixture;
    Judge *judge;
    JudgeNotes notes;

    (void)state;
    fixture_set(&fixture, missing_text);
    for (unsigned i = 0; i < ELEMENTS_OF(rows); i++)
        rows[i] = table_find(fixture.table, str_from_c(missing_nodes[i]));
    judge = fixture_open(&fixture, &rows[2], 1);
    assert_int_equal(judge_filters(judge, &verdict), 0);
    notes = judge_notes(judge);
    assert_null(notes.filter_errors);
    assert_int_equal(notes.filter_missing[0], 1);
    assert_int_equal(notes.filter_missing[1], 1);

    judge = fixture_open(&fixture, &rows[0], 1);
    assert_int_equal(judge_filters(judge, &verdict), 0);
    assert_int_equal(judge_scores(judge, &score), 0);
    notes = judge_notes(judge);
    assert_true(!notes.filter_errors && !notes.filter_missing);
    assert_true(!notes.score_errors && !notes.score_missing);
    fixture_done(&fixture);
}

/* A policy whose match.expression fails applies to no pod, and the error is counted. */
static void test_policy_with_failing_match_applies_to_no_pod(void **state) {
    static const char policies[] =
        "yes: {match: {expression: \"pod.metadata.labels['app'] == 'web'\"},"
        "      filters: [{name: f, expression: 'false'}]},"
        "no: {match: {expression: \"pod.metadata.namespace == 'there'\"},"
        "     filters: [{name: f, expression: 'false'}]},"
        "broken: {match: {expression: \"pod.metadata.labels['tier'] == 'web'\"},"
        "         filters: [{name: f, expression: 'false'}]},"
        "watch: {mode: Observe, filters: [{name: f, expression: 'false'}]}";
    uint32_t row;
    uint16_t verdict;
    JudgeFixture fixture;
    Judge *judge;
    const Policy *all;

    (void)state;
    fixture_init(&fixture, policies, 1);
    all = fixture.scene.program->policies;
    row = row_of(&fixture, 0);
    judge = fixture_open(&fixture, &row, 1);
    assert_true(judge_applies(judge, &all[0]));
    assert_false(judge_applies(judge, &all[1]));
    assert_false(judge_applies(judge, &all[2]));
    assert_true(judge_applies(judge, &all[3]));
    assert_null(judge_match(judge)->errors[1]);
    assert_text("error", judge_match(judge)->errors[2]->text, "no such key: tier");
    assert_null(judge_notes(judge).match_errors[0]);
    assert_ptr_equal(judge_notes(judge).match_errors[2], judge_match(judge)->errors[2]);
    assert_int_equal(judge_filters(judge, &verdict), 0);
    assert_int_equal(verdict, 0);
    assert_int_equal(judge_observed(judge, &verdict), 0);
    assert_int_equal(verdict, 3);
    fixture_done(&fixture);
}

/* Elements of many rows are evaluated together. Their strings may need more memory than the limit
 * of one evaluation, without an error. */
static void test_elements_of_many_rows_fit_little_scratch(void **state) {
    _cleanup_(arena_freep) Arena *scratch = arena_new((size_t)1024 * 1024);
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)4 << 20);
    uint32_t rows[40];
    uint16_t verdicts[40];
    JudgeFixture fixture;
    JudgeInput input;
    Judge *judge;

    (void)state;
    buf_append(
        &text, STR("policies: {p: {filters: [{name: pairs, expression: '!node.pods.exists(p, "
                   "node.pods.exists(q, (p.metadata.name + q.metadata.name + pod.metadata.name)"
                   ".contains(\"nothing\")))'}]}}\nnodes:\n"));
    for (unsigned i = 0; i < ELEMENTS_OF(rows); i++)
        buf_printf(&text, "  n%u: {}\n", i);
    buf_append(&text, STR("pods:\n"));
    for (unsigned i = 0; i < 20 * ELEMENTS_OF(rows); i++)
        buf_printf(&text, "  - {on: n%u, name: some-pod-of-the-cluster-%u}\n", i / 20, i);
    buf_append(&text, STR("pod: {name: the-pod-that-is-to-be-placed}\n"));
    buf_append_char(&text, '\0');
    fixture_set(&fixture, text.data);
    fixture_rows(&fixture, rows, ELEMENTS_OF(rows));
    input = fixture_input(&fixture, rows, ELEMENTS_OF(rows));
    input.scratch = scratch;
    assert_int_equal(judge_open(&input, &judge), 0);
    assert_int_equal(judge_filters(judge, verdicts), 0);
    assert_int_equal(count_verdicts(verdicts, ELEMENTS_OF(rows), VERDICT_PASS), ELEMENTS_OF(rows));
    fixture_done(&fixture);
}

/* --- narrowing ------------------------------------------------------------------------- */

/* Only passing nodes count; the best stay, and of equal scores the first in the request. */
static void test_narrow_keeps_the_best_nodes(void **state) {
    static const char policies[] =
        "p: {filters: [{name: pool, nodeLabels: {pool: a}}],"
        "    scores: [{name: s, expression: 'double(int(node.metadata.labels[\"n\"]) % 4) * "
        "10.0'}],"
        "    narrow: {to: 3}},"
        "wide: {narrow: {to: 5}, scores: [{name: s, expression: '50'}]},"
        "watch: {mode: Observe, narrow: {to: 1}, scores: [{name: s, expression: '1'}]}";
    static const unsigned candidates[] = {0, 3, 1, 6, 9, 12, 15, 18, 21, 24, 2, 27};
    /*                     score:    0 30 -- 20 10  0  30  20  10  0 -- 30   */
    uint32_t rows[ELEMENTS_OF(candidates)];
    uint16_t verdicts[ELEMENTS_OF(candidates)];
    const double *scores = NULL;
    JudgeFixture fixture;
    Judge *judge;

    (void)state;
    fixture_init(&fixture, policies, 30);
    for (size_t i = 0; i < ELEMENTS_OF(candidates); i++)
        rows[i] = row_of(&fixture, candidates[i]);
    judge = fixture_open(&fixture, rows, ELEMENTS_OF(candidates));
    assert_int_equal(judge_match(judge)->narrow_to, 3);
    for (uint32_t to = 1; to <= 12; to++) {
        static const unsigned best[] = {3, 15, 27, 6, 18, 9, 21, 0, 12, 24};
        size_t n_passed = 0;

        assert_int_equal(judge_filters(judge, verdicts), 0);
        assert_int_equal(judge_narrow(judge, to, verdicts, &scores), 0);
        assert_int_equal(scores != NULL, to < 10);
        for (size_t i = 0; i < ELEMENTS_OF(candidates); i++) {
            bool stays = false;

            for (size_t j = 0; j < to && j < ELEMENTS_OF(best); j++)
                stays |= best[j] == candidates[i];
            assert_int_equal(verdicts[i], candidates[i] % 3 != 0 ? 0
                                          : stays                ? VERDICT_PASS
                                                                 : VERDICT_NARROWED);
            n_passed += verdicts[i] == VERDICT_PASS;
            if (scores)
                assert_true(scores[i] ==
                            (candidates[i] % 3 ? -1 : ((double)(candidates[i] % 4) * 10 + 50) / 2));
        }
        assert_int_equal(n_passed, to < 10 ? to : 10);
    }
    fixture_done(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_in_any_order_get_their_own_verdict),
        cmocka_unit_test(test_on_error_decides_and_errors_are_counted),
        cmocka_unit_test(test_products_are_rounded_before_they_are_added),
        cmocka_unit_test(test_missing_metric_is_counted_separately),
        cmocka_unit_test(test_missing_metric_is_counted_for_a_single_node),
        cmocka_unit_test(test_policy_with_failing_match_applies_to_no_pod),
        cmocka_unit_test(test_elements_of_many_rows_fit_little_scratch),
        cmocka_unit_test(test_narrow_keeps_the_best_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
