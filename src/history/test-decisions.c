#include "history/decisions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history/test-decided.h"

/* The same cluster with other rules. */
static const char other_text[] =
    "policies:\n"
    "  later:\n"
    "    filters:\n"
    "      - {name: no-hdd, nodeLabels: {disk: ssd}, reason: spinning rust}\n"
    "nodes:\n"
    "  n1: {labels: {zone: a, disk: ssd}}\n"
    "  n3: {labels: {zone: b, disk: hdd}}\n"
    "  n9: {labels: {disk: hdd}}\n";

static size_t bytes_without_inputs(Decisions *decisions) {
    DecisionsFigures figures = figures_of(decisions);

    return figures.bytes - figures.inputs_bytes;
}

/* Describes the outcome of a node, in @text: "rejected by POLICY/RULE: REASON", "scored 10", … */
static const char *outcome_text(
    Decisions *decisions, uint64_t id, const char *node, char text[static 128]) {
    FoundDecision found;
    Outcome outcome;

    (void)snprintf(text, 128, "gone");
    if (!decisions_find(decisions, id, &found))
        return text;
    if (found.outcomes) {
        outcome = outcomes_find(
            found.outcomes, decisions_number(decisions, found.outcomes, str_from_c(node)));
        (void)snprintf(text, 128, "%s", outcome_names[outcome.kind]);
        if (outcome.kind == OUTCOME_REJECTED)
            (void)snprintf(text, 128, "rejected by %.*s/%.*s: %.*s",
                STR_FMT(past_rule_of(found.past, outcome)->policy),
                STR_FMT(past_rule_of(found.past, outcome)->name),
                STR_FMT(past_rule_of(found.past, outcome)->reason));
        else if (outcome.has_score)
            (void)snprintf(text, 128, "%s %u", outcome_names[outcome.kind], outcome.score);
        if (outcome.rank)
            (void)snprintf(text, 128, "%s, rank %u", outcome_names[outcome.kind], outcome.rank);
    } else {
        (void)snprintf(text, 128, "summary only");
    }
    found_done(&found);
    return text;
}

static void test_outcomes(void **state) {
    static const struct {
        uint64_t id;
        const char *node, *want;
    } cases[] = {
        {1, "n1", "passed"},
        {1, "n2", "passed"},
        {1, "n3", "rejected by zones/disk: slow disk"},
        {1, "n4", "rejected by zones/zone: wrong zone"},
        {1, "ghost", "unknown"},
        {1, "n5", "not-asked"},
        {1, "", "not-asked"},
        {2, "n1", "scored 10"},
        {2, "n2", "scored 0"},
        {2, "n3", "not-asked"},
        {3, "n1", "passed"}, /* Node objects, also unknown ones */
        {3, "stranger", "rejected by zones/zone: wrong zone"},
        {3, "n2", "not-asked"},
        {4, "n1", "summary only"}, /* preempt */
        {5, "n1", "summary only"}, /* bind */
        {6, "n1", "summary only"}, /* malformed */
        {7, "n1", "gone"},
    };
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, BYTES_MAX);
    char text[128];
    ViewFixture fixture;

    fixture_init(&fixture, scene_text);
    note(decisions, fixture.view, VERB_FILTER, "a", ALL_NAMES);
    note(decisions, fixture.view, VERB_PRIORITIZE, "a", "\"NodeNames\":[\"n1\",\"n2\"]");
    note(decisions, fixture.view, VERB_FILTER, "b",
        "\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"stranger\"}},"
        "{\"metadata\":{\"name\":\"n1\",\"labels\":{\"zone\":\"a\",\"disk\":\"ssd\"}}}]}");
    note(decisions, fixture.view, VERB_PREEMPT, "a",
        "\"NodeNameToMetaVictims\":{\"n1\":{\"Pods\":[{\"UID\":\"u\"}]}}");
    note_bind(decisions, fixture.view, "a", "n1");
    note(decisions, fixture.view, VERB_FILTER, "c", "\"NodeNames\":7");
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_text(cases[i].node,
            str_from_c(outcome_text(decisions, cases[i].id, cases[i].node, text)), cases[i].want);
    assert_int_equal(figures_of(decisions).n, 6);
    assert_int_equal(figures_of(decisions).n_with_outcomes, 3);
    fixture_done(&fixture);
}

/* Verdicts that filters give only if policies narrow, or after the deadline. */
static void test_narrowed_and_late(void **state) {
    static const uint16_t verdicts[] = {VERDICT_NARROWED, VERDICT_PASS, VERDICT_LATE, 1};
    static const double narrowed[] = {12.5, 12.4, -1, -1};
    static const uint8_t scores[] = {3, 9, 0, 0};
    static const uint32_t rows[] = {0, 1, 2, 3}, rejected[] = {0, 1};
    static uint32_t errors[] = {2, 0}, missing[] = {0, 3};
    static const struct {
        const char *node, *want;
    } cases[] = {
        {"n1", "narrowed, rank 2"},
        {"n2", "passed, rank 1"},
        {"n3", "late"},
        {"n4", "rejected by zones/disk: slow disk"},
    };
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, BYTES_MAX);
    FilterArgs args = {.has_names = true, .n = 4, .rows = rows};
    Decision decision = {
        .summary =
            {.n_in = 4, .n_out = 1, .n_rejected = 1, .n_narrowed = 1, .n_late = 1, .n_unjudged = 3},
        .args = &args,
        .verdicts = verdicts,
        .scores = scores,
        .narrowed = narrowed,
        .notes = {.filter_errors = errors, .filter_missing = missing},
        .rejected = rejected};
    FoundDecision found;
    char text[128];
    ViewFixture fixture;

    fixture_init(&fixture, scene_text);
    args.node_set.table = fixture.view->table;
    decisions_note(decisions, fixture.view, VERB_FILTER, &decision, (PastTimes){0});
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_text(cases[i].node, str_from_c(outcome_text(decisions, 1, cases[i].node, text)),
            cases[i].want);
    assert_true(decisions_find(decisions, 1, &found));
    assert_int_equal(found.past->summary.n_narrowed, 1);
    assert_int_equal(found.past->summary.n_late, 1);
    assert_int_equal(found.past->summary.n_unjudged, 3);
    assert_int_equal(found.past->n_rules, 2);
    assert_int_equal(found.past->rules[0].failed, 2);
    assert_int_equal(found.past->rules[1].missing, 3);
    assert_int_equal(found.past->summary.n_rejected, 1);
    found_done(&found);

    /* A rule that lets nodes pass although a metric is missing is recorded too. */
    decision = (Decision){.summary = {.n_in = 4, .n_out = 4}, .notes = {.filter_missing = missing}};
    decisions_note(decisions, fixture.view, VERB_FILTER, &decision, (PastTimes){0});
    assert_true(decisions_find(decisions, 2, &found));
    assert_int_equal(found.past->n_rules, 1);
    assert_int_equal(found.past->rules[0].missing, 3);
    found_done(&found);
    fixture_done(&fixture);
}

/* Ranks come from narrowing, and are found by row or by name. */
static void test_ranks(void **state) {
    static const uint32_t rows[] = {3, 1, 0, 2};
    static const uint16_t verdicts[] = {
        VERDICT_NARROWED, VERDICT_PASS, VERDICT_NARROWED, VERDICT_PASS};
    static const double narrowed[] = {50, 99, 49.9, 50};
    static const uint32_t want[] = {4, 1, 2, 3}; /* by row */
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, BYTES_MAX);
    _cleanup_(arena_freep) Arena *arena = arena_new(FIXTURE_BUDGET);
    FilterArgs args = {.has_names = true, .rows = rows};
    Decision decision = {.args = &args, .verdicts = verdicts, .narrowed = narrowed};
    const uint32_t *ranks;
    FoundDecision found;
    ViewFixture fixture;

    fixture_init(&fixture, scene_text);
    args.node_set.table = fixture.view->table;
    args.n = decision.summary.n_in = 4;
    decisions_note(decisions, fixture.view, VERB_FILTER, &decision, (PastTimes){0});
    assert_true(decisions_find(decisions, 1, &found));
    assert_int_equal(outcomes_ranks(found.outcomes, arena, &ranks), 0);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t number;

        (void)outcomes_at(found.outcomes, i, &number);
        assert_int_equal(ranks[i], want[number - 1]);
        assert_int_equal(outcomes_find(found.outcomes, number).rank, want[number - 1]);
    }
    found_done(&found);
    fixture_done(&fixture);
}

/* Rule names outlive their policy, and a row with another node now must not mislead. */
static void test_rule_names_outlive_their_policy(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, BYTES_MAX);
    char text[128];
    ViewFixture before, after, again;

    fixture_init(&before, scene_text);
    note(decisions, before.view, VERB_FILTER, "a", ALL_NAMES);
    fixture_done(&before);
    fixture_init(&after, other_text);
    note(decisions, after.view, VERB_FILTER, "a", "\"NodeNames\":[\"n3\",\"n9\",\"n1\"]");
    assert_string_equal(
        outcome_text(decisions, 1, "n4", text), "rejected by zones/zone: wrong zone");
    assert_string_equal(outcome_text(decisions, 1, "n9", text), "not-asked");
    assert_string_equal(
        outcome_text(decisions, 2, "n3", text), "rejected by later/no-hdd: spinning rust");
    assert_string_equal(
        outcome_text(decisions, 2, "n9", text), "rejected by later/no-hdd: spinning rust");
    assert_string_equal(outcome_text(decisions, 2, "n1", text), "passed");
    assert_string_equal(outcome_text(decisions, 2, "n2", text), "not-asked");
    fixture_done(&after);
    /* Equal policies share their rule names. */
    fixture_init(&again, other_text);
    {
        size_t bytes = bytes_without_inputs(decisions), one;

        note(decisions, again.view, VERB_FILTER, "a", "\"NodeNames\":[]");
        one = bytes_without_inputs(decisions) - bytes;
        note(decisions, again.view, VERB_FILTER, "a", "\"NodeNames\":[]");
        assert_int_equal(bytes_without_inputs(decisions) - bytes, 2 * one);
    }
    fixture_done(&again);
}

static void test_keeps_the_last_decisions(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(3, BYTES_MAX);
    FoundDecision found[8];
    char text[128];
    ViewFixture fixture;

    fixture_init(&fixture, scene_text);
    for (size_t i = 0; i < 5; i++)
        note(decisions, fixture.view, VERB_FILTER, "a", ALL_NAMES);
    assert_int_equal(figures_of(decisions).n, 3);
    assert_int_equal(figures_of(decisions).oldest, 3);
    assert_int_equal(figures_of(decisions).newest, 5);
    assert_int_equal(figures_of(decisions).n_outcomes_dropped, 0); /* the ring dropped them */
    assert_string_equal(outcome_text(decisions, 2, "n1", text), "gone");
    assert_string_equal(outcome_text(decisions, 3, "n1", text), "passed");
    assert_int_equal(decisions_read(decisions, 0, found, 8), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(found[i].past->id, 5 - i);
        found_done(&found[i]);
    }
    assert_int_equal(decisions_read(decisions, 4, found, 8), 1);
    assert_int_equal(found[0].past->id, 3);
    found_done(&found[0]);
    assert_int_equal(decisions_read(decisions, 3, found, 8), 0);
    assert_int_equal(decisions_read(decisions, 1, found, 8), 0);
    fixture_done(&fixture);
}

static void test_limit_of_bytes(void **state) {
    char text[128];
    size_t one, fixed;
    ViewFixture fixture;

    fixture_init(&fixture, scene_text);
    fixed = fixed_bytes(&fixture, 20, &one);
    for (size_t n_fit = 1; n_fit <= 6; n_fit++) {
        _cleanup_(decisions_freep) Decisions *decisions = decisions_new(20, fixed + n_fit * one);

        for (uint64_t id = 1; id <= 30; id++) {
            note(decisions, fixture.view, VERB_FILTER, "a", ALL_NAMES);
            assert_true(figures_of(decisions).bytes <= fixed + n_fit * one);
            assert_string_not_equal(outcome_text(decisions, id, "n1", text), "gone");
        }
        /* Outcomes are dropped first, then whole decisions. */
        assert_true(figures_of(decisions).n_outcomes_dropped > 0);
        assert_true(figures_of(decisions).n >= n_fit);
        assert_true(figures_of(decisions).n_with_outcomes <= n_fit);
        assert_string_equal(outcome_text(decisions, 30, "n1", text), "passed");
        assert_true(figures_of(decisions).n < 20);
        assert_true(figures_of(decisions).n_dropped > 0);
    }
    fixture_done(&fixture);
}

#define N_REJECTED 20u

/* Notes filters that reject all nodes. */
static void note_rejected(Decisions *decisions, const View *view) {
    for (size_t i = 0; i < N_REJECTED; i++)
        note(decisions, view, VERB_FILTER, "a", "\"NodeNames\":[\"n3\",\"n4\"]");
}

/* Main reasons are found later; no further decision makes room for them. */
static void test_limit_includes_main_reasons(void **state) {
    _cleanup_(decisions_freep) Decisions *roomy = decisions_new(N_REJECTED, BYTES_MAX);
    _cleanup_(decisions_freep) Decisions *decisions = NULL;
    size_t bytes_max;
    FoundDecision found;
    ViewFixture fixture;

    (void)state;
    fixture_init(&fixture, scene_text);
    note_rejected(roomy, fixture.view);
    bytes_max = figures_of(roomy).bytes;
    decisions = decisions_new(N_REJECTED, bytes_max);
    note_rejected(decisions, fixture.view);
    assert_int_equal(figures_of(decisions).bytes, bytes_max);
    assert_int_equal(figures_of(decisions).n_replayable, N_REJECTED);
    assert_true(decisions_find_reasons(decisions, fixture.view, NULL));
    assert_true(figures_of(decisions).bytes <= bytes_max);
    assert_true(decisions_find(decisions, N_REJECTED, &found));
    assert_non_null(past_main(found.past));
    found_done(&found);
    fixture_done(&fixture);
}

/* The limit is too small for anything: the newest decision stays, without its outcomes. */
static void test_tiny_limit_keeps_the_newest_summary(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(4, 1);
    char text[128];
    ViewFixture fixture;

    fixture_init(&fixture, scene_text);
    for (size_t i = 0; i < 9; i++)
        note(decisions, fixture.view, VERB_FILTER, "a", ALL_NAMES);
    assert_int_equal(figures_of(decisions).n, 1);
    assert_int_equal(figures_of(decisions).n_with_outcomes, 0);
    assert_string_equal(outcome_text(decisions, 9, "n1", text), "summary only");
    fixture_done(&fixture);
}

/* Names of nodes that are not used any more are dropped. */
static void test_unused_names_are_dropped(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(10, BYTES_MAX);
    _cleanup_(buf_done) Buf names = BUF_INIT(BYTES_MAX);
    char text[128];
    size_t most = 0;
    ViewFixture fixture;

    fixture_init(&fixture, scene_text);
    for (size_t round = 0; round < 60; round++) {
        buf_reset(&names);
        buf_append(&names, STR("\"NodeNames\":[\"n1\""));
        for (size_t i = 0; i < 1000; i++)
            buf_printf(&names, ",\"node-%zu-%zu\"", round, i);
        buf_append(&names, STR("]"));
        buf_append_char(&names, '\0');
        note(decisions, fixture.view, VERB_FILTER, "a", names.data);
        most = figures_of(decisions).bytes > most ? figures_of(decisions).bytes : most;
    }
    assert_string_equal(outcome_text(decisions, 60, "node-59-999", text), "unknown");
    assert_string_equal(outcome_text(decisions, 60, "node-58-999", text), "not-asked");
    assert_string_equal(outcome_text(decisions, 51, "node-50-0", text), "unknown");
    assert_true(most < 10u * 1024 * 1024);
    fixture_done(&fixture);
}

static void test_cuts_long_texts(void **state) {
    static char long_text[100000];
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(10, BYTES_MAX);
    Decision decision = {0};
    FoundDecision found;
    ViewFixture fixture;

    for (size_t i = 0; i + 1 < sizeof(long_text); i += 2)
        memcpy(long_text + i, "\xC3\xA4", 2); /* one character of two bytes */
    decision.pod_name = decision.error = str_of(long_text, sizeof(long_text));
    fixture_init(&fixture, scene_text);
    decisions_note(decisions, fixture.view, VERB_FILTER, &decision, (PastTimes){0});
    assert_true(decisions_find(decisions, 1, &found));
    assert_int_equal(found.past->pod_name.len, 252);
    assert_int_equal(found.past->error.len, PAST_ERROR_MAX);
    found_done(&found);
    fixture_done(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_narrowed_and_late),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_rule_names_outlive_their_policy),
        cmocka_unit_test(test_keeps_the_last_decisions),
        cmocka_unit_test(test_limit_of_bytes),
        cmocka_unit_test(test_limit_includes_main_reasons),
        cmocka_unit_test(test_tiny_limit_keeps_the_newest_summary),
        cmocka_unit_test(test_unused_names_are_dropped),
        cmocka_unit_test(test_cuts_long_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
