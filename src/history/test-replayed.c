/*
 * Replays the history with other policies (replay/what-if.h), and explains its decisions
 * (replay/replayed-decision.h).
 */

#include "history/test-random-decisions.h"
#include "replay/replayed-decision.h"
#include "json/read.h"

#define SEEDS 8u

/* --- other policies --------------------------------------------------------------------------- */

static const WhatIfRule *find_rule(const WhatIfReport *report, const char *name) {
    for (size_t i = 0; i < report->n_rules; i++)
        if (str_is(report->rules[i].name, name))
            return &report->rules[i];
    return NULL;
}

/* No node has so much free CPU, so the rule rejects every node. */
static void test_stricter_policy_rejects(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, HISTORY_BYTES);
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    RandomPolicy policy = open_policy();
    _cleanup_(program_unrefp) Program *stricter = NULL;
    WhatIfReport report;
    size_t n_bound = 0;
    RandomCluster cluster;

    random_cluster_open(&cluster, 77, 100);
    use_policy(&cluster, &policy);
    (void)decide_steps(decisions, &cluster, DECIDE_STEPS);
    for (uint64_t id = 1; id < 100; id++) {
        FoundDecision found;

        if (!decisions_find(decisions, id, &found))
            break;
        n_bound += found.past->verb == VERB_BIND;
        found_done(&found);
    }
    assert_true(n_bound > 3);
    policy.free_milli = 100000;
    stricter = random_cluster_compile(&policy);
    replay_all(decisions, stricter, 1000, arena, &report);
    assert_int_equal(report.n, 2 * DECIDE_STEPS);
    assert_int_equal(report.n_changes[WHAT_IF_NEWLY_REJECTED], DECIDE_STEPS);
    assert_int_equal(report.n_changes[WHAT_IF_EQUAL], DECIDE_STEPS); /* scores are as they were */
    assert_int_equal(report.n_moved, n_bound);
    assert_int_equal(report.n_cases, DECIDE_STEPS);
    for (size_t i = 0; i < report.n_cases; i++) {
        assert_text("rule", report.cases[i].rule, "room/free");
        assert_true(report.cases[i].n_before > 0);
        assert_int_equal(report.cases[i].n_after, 0);
        assert_int_equal(report.cases[i].was_chosen, report.cases[i].chosen_lost);
        assert_true(i == 0 || report.cases[i - 1].decision->id > report.cases[i].decision->id);
    }
    assert_int_equal(find_rule(&report, "free")->n_newly_rejected, DECIDE_STEPS / 2);
    assert_true(find_rule(&report, "free")->n_rejected_before <
                find_rule(&report, "free")->n_rejected_after);
    assert_null(find_rule(&report, "hot"));
    random_cluster_close(&cluster);
}

/* The reverse: nodes pass that only this rule rejected. */
static void test_laxer_policy_passes(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, HISTORY_BYTES);
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    RandomPolicy policy = open_policy();
    _cleanup_(program_unrefp) Program *laxer = random_cluster_compile(&policy);
    WhatIfReport report;
    RandomCluster cluster;

    policy.free_milli = 100000;
    random_cluster_open(&cluster, 78, 100);
    use_policy(&cluster, &policy);
    (void)decide_steps(decisions, &cluster, DECIDE_STEPS);
    replay_all(decisions, laxer, 1000, arena, &report);
    assert_int_equal(report.n_changes[WHAT_IF_NEWLY_PASSING], DECIDE_STEPS);
    assert_int_equal(find_rule(&report, "free")->n_newly_passing, DECIDE_STEPS / 2);
    assert_int_equal(find_rule(&report, "free")->n_rejected_after, 0);
    assert_text("rule", report.cases[0].rule, "room/free");
    /* Replays only the newest decisions. */
    replay_all(decisions, laxer, 3, arena, &report);
    assert_int_equal(report.n, 3);
    random_cluster_close(&cluster);
}

/* Scores choose other best nodes, and some pods would have had a better node. */
static void test_scores_change_best_nodes(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, HISTORY_BYTES);
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    _cleanup_(buf_done) Buf json = BUF_INIT((size_t)1 << 20);
    RandomPolicy policy = open_policy();
    _cleanup_(program_unrefp) Program *other = NULL;
    size_t n_before = 0, n_after = 0;
    JsonReader reader;
    WhatIfReport report;
    RandomCluster cluster;

    random_cluster_open(&cluster, 79, 100);
    use_policy(&cluster, &policy);
    (void)decide_steps(decisions, &cluster, DECIDE_STEPS);
    policy.is_normalised = policy.has_other_metric = true;
    other = random_cluster_compile(&policy);
    replay_all(decisions, other, 1000, arena, &report);
    assert_int_equal(report.n_unmeasured, 1);
    assert_int_equal(report.n_changes[WHAT_IF_EQUAL], DECIDE_STEPS); /* filters */
    assert_true(report.n_changes[WHAT_IF_BEST] > 0);
    assert_int_equal(
        report.n_changes[WHAT_IF_BEST] + report.n_changes[WHAT_IF_SCORES], report.n_cases);
    for (size_t i = 0; i < report.n_nodes; i++) {
        n_before += report.nodes[i].n_best_before;
        n_after += report.nodes[i].n_best_after;
    }
    assert_int_equal(n_before, n_after);
    what_if_write(&report, &json);
    json_reader_init(&reader, buf_str(&json));
    json_skip(&reader, NULL);
    json_end(&reader);
    assert_int_equal(json_error(&reader), JSON_OK);
    assert_int_equal(buf_error(&json), 0);
    random_cluster_close(&cluster);
}

/* The deadline passes after @left calls. */
typedef struct Deadline {
    size_t left, n_calls;
} Deadline;

static bool is_over(void *context) {
    Deadline *deadline = context;

    deadline->n_calls++;
    deadline->left -= deadline->left > 0;
    return deadline->left == 0;
}

static size_t replay_until(
    const Recording *recording, Program *program, size_t left, WhatIfReport *ret) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    Deadline deadline = {.left = left};
    RestoreOptions setting = {.clock = {.is_over = is_over, .context = &deadline}};

    assert_int_equal(what_if_run(recording, program, &setting, NULL, arena, ret), 0);
    return deadline.n_calls;
}

/* The deadline may pass between decisions, during one, or while a view is made. The report then has
 * the newest complete decisions. */
static void test_deadline_keeps_newest_decisions(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, HISTORY_BYTES);
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    size_t n, n_calls, n_last = 0, n_some = 0;
    Recording recording;
    WhatIfReport report;
    RandomCluster cluster;

    random_cluster_open(&cluster, 80, 80);
    n = decide_steps(decisions, &cluster, DECIDE_STEPS);
    assert_int_equal(decisions_record(decisions, 0, 1000, arena, &recording), 0);
    n_calls = replay_until(&recording, cluster.program, SIZE_MAX, &report);
    assert_true(report.is_whole);
    assert_int_equal(report.n, n);
    assert_true(n_calls > 3 * n); /* several calls for each */
    for (size_t left = 1; left < n_calls; left += 1 + n_calls / 200) {
        assert_true(replay_until(&recording, cluster.program, left, &report) <= n_calls);
        assert_false(report.is_whole);
        assert_true(report.n >= n_last && report.n < n);
        assert_int_equal(report.n_changes[WHAT_IF_EQUAL], report.n);
        assert_int_equal(report.n_cases, 0);
        n_last = report.n;
        n_some += report.n > 0;
    }
    assert_true(n_some > 10);
    recording_done(&recording);
    random_cluster_close(&cluster);
}

/* --- obstacles and requests ------------------------------------------------------------------- */

static void test_each_obstacle_has_its_own_text(void **state) {
    static const RecordedNode node = {0};
    static const SavedView scene;
    static const RecordedDecision good = {
        .verb = VERB_FILTER,
        .pod_text = {.ptr = "{}", .len = 2},
        .saved_view = &scene,
        .had_names = true,
        .n_in = 1,
        .nodes = &node,
        .n_nodes = 1,
    };
    RecordedDecision cases[] = {good, good, good, good, good, good, good, good};

    cases[0].verb = VERB_BIND;
    cases[1].error = STR("x");
    cases[2].is_late = true;
    cases[3].nodes = NULL;
    cases[4].had_names = false;
    cases[5].n_in = 2;
    cases[6].pod_text = STR_NULL;
    cases[7].saved_view = NULL;
    assert_null(recorded_obstacle(&good));
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        assert_non_null(recorded_obstacle(&cases[i]));
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(recorded_obstacle(&cases[i]), recorded_obstacle(&cases[j]));
    }
}

static void test_rebuilds_the_request(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    const Str names[] = {STR("n1"), STR("a\"b\\"), STR("\xC3\xA4")};
    const RecordedNode nodes[] = {
        {.name = 2, .kind = OUTCOME_NARROWED}, {.name = 0}, {.name = 1, .kind = OUTCOME_UNKNOWN}};
    Recording recording = {.names = names, .n_names = 3};
    RecordedDecision decision = {.pod_text = STR("{}"), .nodes = nodes, .n_nodes = 3};

    assert_text("request", recorded_request(&recording, &decision, arena),
        "{\"Pod\":{},\"NodeNames\":[\"n1\",\"a\\\"b\\\\\",\"\xC3\xA4\"]}");
    decision.n_nodes = 0;
    assert_text(
        "request", recorded_request(&recording, &decision, arena), "{\"Pod\":{},\"NodeNames\":[]}");
}

/* --- replayed decisions ----------------------------------------------------------------------- */

/* Explains values, limits and parts of scores at the time of the decision, after the cluster has
 * changed. */
static void test_explains_replayed_decision(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, HISTORY_BYTES);
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    size_t n_rejected = 0, n_binds = 0;
    RandomCluster cluster;

    random_cluster_open(&cluster, 4, 100);
    (void)decide_steps(decisions, &cluster, DECIDE_STEPS);
    random_cluster_close(&cluster);
    for (uint64_t id = 1; id <= 12; id++) {
        _cleanup_(view_unrefp) View *view = NULL;
        Explanation explanation;
        FoundDecision found;
        ReplayedDecision past;
        Pod pod;

        assert_true(decisions_find(decisions, id, &found));
        past = (ReplayedDecision){
            .saved_view = found.saved_view,
            .pod_text = pod_text_str(found.pod_text),
            .now_nsec = found.past->at_nsec,
        };
        if (found.past->verb == VERB_BIND) {
            assert_int_equal(replayed_decision_explain(&past, NULL, &(RestoreOptions){0}, arena,
                                 &view, &pod, &explanation),
                REPLAY_E_NO_SCENE);
            found_done(&found);
            n_binds++;
            continue;
        }
        assert_int_equal(replayed_decision_explain(
                             &past, NULL, &(RestoreOptions){0}, arena, &view, &pod, &explanation),
            0);
        assert_true(str_eq(pod.uid, found.past->pod_uid));
        for (size_t i = 0; found.past->verb == VERB_FILTER && i < explanation.n_nodes; i++) {
            const NodeExplanation *node = &explanation.nodes[i];
            Outcome outcome = outcomes_find(
                found.outcomes, decisions_number(decisions, found.outcomes, node->node));

            if (outcome.kind != OUTCOME_REJECTED)
                continue;
            assert_true(str_eq(node->verdict->name, past_rule_of(found.past, outcome)->name));
            n_rejected++;
        }
        view = view_unref(view);
        past.pod_text = STR("{");
        assert_int_equal(replayed_decision_explain(
                             &past, NULL, &(RestoreOptions){0}, arena, &view, &pod, &explanation),
            REPLAY_E_NO_POD);
        assert_non_null(replayed_decision_error(REPLAY_E_NO_POD));
        found_done(&found);
    }
    assert_true(n_rejected > 20 && n_binds > 0);
}

/* The explanation must equal the reply for each known node of the request. */
static size_t check_request_nodes(
    const Recording *recording, const RecordedDecision *decision, Arena *arena) {
    _cleanup_(view_unrefp) View *view = NULL;
    const RecordedNode **order = recorded_order(decision, arena);
    Str *names = ARENA_RAW(arena, Str, decision->n_nodes);
    ReplayedDecision past = {
        .saved_view = decision->saved_view,
        .pod_text = decision->pod_text,
        .now_nsec = decision->now_nsec,
        .nodes = names,
        .n_nodes = decision->n_nodes,
    };
    size_t n = 0, n_narrowed = 0;
    Explanation explanation;
    Pod pod;

    for (size_t i = 0; i < decision->n_nodes; i++)
        names[i] = recording->names[order[i]->name];
    assert_int_equal(replayed_decision_explain(
                         &past, NULL, &(RestoreOptions){0}, arena, &view, &pod, &explanation),
        0);
    for (size_t i = 0; i < decision->n_nodes; i++) {
        static const uint8_t kinds[] = {
            [NODE_PASSED] = OUTCOME_PASSED,
            [NODE_NARROWED] = OUTCOME_NARROWED,
            [NODE_REJECTED] = OUTCOME_REJECTED,
        };

        if (order[i]->kind == OUTCOME_UNKNOWN)
            continue;
        assert_true(str_eq(explanation.nodes[n].node, names[i]));
        assert_int_equal(kinds[explanation.nodes[n++].outcome], order[i]->kind);
        n_narrowed += order[i]->kind == OUTCOME_NARROWED;
    }
    assert_int_equal(n, explanation.n_nodes);
    return n_narrowed;
}

static void test_explains_nodes_of_the_request(void **state) {
    size_t n_narrowed = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, HISTORY_BYTES);
        _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
        Recording recording;
        RandomCluster cluster;

        random_cluster_open(&cluster, seed, 100);
        (void)decide_steps(decisions, &cluster, 4);
        random_cluster_close(&cluster);
        assert_int_equal(decisions_record(decisions, 0, 1000, arena, &recording), 0);
        for (size_t i = 0; i < recording.n; i++)
            if (recording.decisions[i].verb == VERB_FILTER)
                n_narrowed += check_request_nodes(&recording, &recording.decisions[i], arena);
        recording_done(&recording);
    }
    assert_true(n_narrowed > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stricter_policy_rejects),
        cmocka_unit_test(test_laxer_policy_passes),
        cmocka_unit_test(test_scores_change_best_nodes),
        cmocka_unit_test(test_deadline_keeps_newest_decisions),
        cmocka_unit_test(test_each_obstacle_has_its_own_text),
        cmocka_unit_test(test_rebuilds_the_request),
        cmocka_unit_test(test_explains_replayed_decision),
        cmocka_unit_test(test_explains_nodes_of_the_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
