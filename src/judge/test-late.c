/* When time is up: what counts for what was not judged, and how it is counted. */

#include "judge/test-court.h"

static bool runs_out(void *context) {
    unsigned *left = context;

    return (*left)-- == 0;
}

/* What counts for nodes that were not judged in time, by policy; what is known without judging
 * holds all the same. The slow rule runs in the scalar machine, which asks for the time. */
static void test_time_is_up(void **state) {
    static const struct {
        const char *on_timeout;
        uint16_t want;
    } cases[] = {{"reject", VERDICT_LATE}, {"allow", VERDICT_PASS}};
    uint32_t rows[NODES];
    uint16_t verdicts[NODES];

    (void)state;
    for (size_t c = 0; c < ELEMENTS_OF(cases); c++) {
        char policies[512];
        Question question;
        unsigned left = 0;
        Court court;
        Judge *judge;

        (void)snprintf(policies,
            sizeof(policies),
            "p: {onTimeout: %s, filters: [{name: known, nodeLabels: {pool: a}}, {name: slow, "
            "expression: 'node.metadata.name.replace(\"n\", pod.metadata.namespace) != \"\"'}]}",
            cases[c].on_timeout);
        court_init(&court, policies, NODES);
        court_rows(&court, rows, NODES);
        question = court_question(&court, rows, NODES);
        question.is_over = runs_out;
        question.context = &left;
        assert_int_equal(judge_open(&question, &judge), 0);
        assert_int_equal(judge_filters(judge, verdicts), 0);
        assert_int_equal(count_verdicts(verdicts, NODES, 0), 1000);
        assert_int_equal(count_verdicts(verdicts, NODES, cases[c].want), 500);
        assert_int_equal(judge_notes(judge).n_late, NODES);
        court_done(&court);
    }
}

static bool is_up(void *context) {
    (void)context;
    return true;
}

/* Nodes that were asked about are counted, each once: no others, though all of the table are judged
 * when many are asked about, and not again because they were not scored either. */
static void test_late_rows(void **state) {
    static const char policies[] =
        "p: {onTimeout: allow, narrow: {to: 1},"
        "    filters: [{name: slow, expression: 'node.metadata.name.replace(\"n\", "
        "pod.metadata.namespace) != \"\"'}],"
        "    scores: [{name: slow-too, expression: 'node.metadata.name.replace(\"n\", "
        "pod.metadata.namespace).size()'}]}";
    static const size_t asked[] = {0, 1, 50, 600, NODES};
    uint32_t rows[NODES];
    uint16_t verdicts[NODES];

    (void)state;
    for (size_t c = 0; c < ELEMENTS_OF(asked); c++) {
        size_t n = asked[c], unknown = 0;
        Question question;
        Court court;
        Judge *judge;

        court_init(&court, policies, NODES);
        for (unsigned i = 0; i < n; i++) {
            rows[i] = i % 10 == 9 ? (uint32_t)court.table->n_rows : row_of(&court, i * 7 % NODES);
            unknown += i % 10 == 9;
        }
        question = court_question(&court, rows, n);
        question.is_over = is_up;
        assert_int_equal(judge_open(&question, &judge), 0);
        assert_int_equal(judge_filters(judge, verdicts), 0);
        assert_int_equal(judge_narrow(judge, 1, verdicts, NULL), 0);
        assert_int_equal(judge_notes(judge).n_late, n - unknown);
        assert_int_equal(count_verdicts(verdicts, n, VERDICT_NARROWED), 0);
        court_done(&court);
    }
}

/* A policy of which it is not even known whether it is for the pod. What is known of it
 * beforehand (here: six nodes fail) holds only if it means to reject. */
static void test_time_is_up_for_match(void **state) {
    static const struct {
        const char *on_timeout;
        size_t passing, late, failing;
    } cases[] = {{"reject", 0, 3, 6}, {"allow", 9, 0, 0}};
    uint32_t rows[9];
    uint16_t verdicts[9];

    (void)state;
    for (size_t c = 0; c < ELEMENTS_OF(cases); c++) {
        char policies[512];
        Question question;
        Court court;
        Judge *judge;

        (void)snprintf(policies,
            sizeof(policies),
            "p: {onTimeout: %s, match: {expression: 'pod.metadata.name.replace(\"a\", \"b\") "
            "!= \"x\"'}, filters: [{name: known, nodeLabels: {pool: a}}, {name: slow, "
            "expression: 'node.metadata.name.replace(\"n\", pod.metadata.namespace) != "
            "\"\"'}]}",
            cases[c].on_timeout);
        court_init(&court, policies, 9);
        court_rows(&court, rows, 9);
        question = court_question(&court, rows, 9);
        question.is_over = is_up;
        assert_int_equal(judge_open(&question, &judge), 0);
        assert_int_equal(judge_filters(judge, verdicts), 0);
        assert_int_equal(count_verdicts(verdicts, 9, VERDICT_PASS), cases[c].passing);
        assert_int_equal(count_verdicts(verdicts, 9, VERDICT_LATE), cases[c].late);
        assert_int_equal(count_verdicts(verdicts, 9, 0), cases[c].failing);
        assert_int_equal(judge_notes(judge).n_late, 9);
        court_done(&court);
    }
}

/* Facts that were not ready in time are none: nothing is judged, and onTimeout decides. */
static void test_late_facts(void **state) {
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
        FactsOptions options = {.clock = {.is_over = runs_out, .context = &left}};
        uint32_t rows[] = {1, 4, 70};
        uint16_t verdicts[3];
        double scores[3];
        char text[512];
        Court court;
        Judge *judge;

        (void)snprintf(text, sizeof(text), policies, cases[c].on_timeout);
        court_init(&court, text, 70);
        assert_int_equal(
            facts_build(
                court.scene.program, court.table, &options, court.scene.arena, &court.facts),
            0);
        assert_true(court.facts.is_late);
        judge = court_open(&court, rows, 3);
        assert_int_equal(judge_filters(judge, verdicts), 0);
        assert_int_equal(verdicts[0], cases[c].want);
        assert_int_equal(verdicts[1], cases[c].want);
        assert_int_equal(verdicts[2], VERDICT_PASS); /* the node nobody knows */
        assert_int_equal(judge_narrow(judge, 1, verdicts, NULL), 0);
        assert_int_equal(verdicts[1], cases[c].want);
        assert_int_equal(judge_scores(judge, scores), 0);
        assert_true(scores[0] == 0);
        assert_int_equal(judge_notes(judge).n_late, 3);
        court_done(&court);
    }
}

/* Time that runs out while rows are scored: all that pass stay, for nobody knows the best. */
static void test_narrow_late(void **state) {
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
        Question question;
        Court court;
        Judge *judge;

        court_init(&court, policies, NODES);
        court_rows(&court, rows, NODES);
        question = court_question(&court, rows, NODES);
        question.is_over = runs_out;
        question.context = &left;
        assert_int_equal(judge_open(&question, &judge), 0);
        assert_int_equal(judge_filters(judge, verdicts), 0);
        assert_int_equal(judge_narrow(judge, 2, verdicts, &scores), 0);
        assert_true(judge_notes(judge).n_late > 0);
        assert_null(scores);
        assert_int_equal(count_verdicts(verdicts, NODES, VERDICT_PASS), 500);
        assert_int_equal(count_verdicts(verdicts, NODES, 0), 1000);
        court_done(&court);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_is_up),
        cmocka_unit_test(test_late_facts),
        cmocka_unit_test(test_late_rows),
        cmocka_unit_test(test_time_is_up_for_match),
        cmocka_unit_test(test_narrow_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
