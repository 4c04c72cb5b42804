/*
 * The tests of the presets, policies/tests: each case passes, and each verdict is that of the
 * filters evaluated one by one by the scalar machine. Built-in rules say why they reject a node.
 */

#include "base/test-assert.h"
#include "suite/suite-files.h"
#include "suite/suite.h"

#define BUDGET ((size_t)1 << 30)

/* The scalar machine's result for one filter and one node. */
static bool passes(Judge *judge, const Filter *filter, uint32_t row, Arena *arena) {
    CelValue value = judge_value(judge, &filter->test, row, arena);
    Fallback otherwise = filter->on_error;

    if (value.kind == CEL_ERROR && expression_is_given(&filter->missing) &&
        cel_is_true(judge_value(judge, &filter->missing, row, arena)))
        otherwise = filter->on_missing;
    return cel_is_true(value) || (value.kind == CEL_ERROR && otherwise == FALLBACK_ALLOW);
}

/* The verdict is the first filter, by number, that rejects. */
static const Filter *first_rejecting(
    Judge *judge, const Program *program, uint32_t row, Arena *arena) {
    for (size_t i = 0; i < program->n_filters; i++) {
        const Filter *filter = program->filters[i];

        if (!filter->policy->is_observed && judge_applies(judge, filter->policy) &&
            !passes(judge, filter, row, arena))
            return filter;
    }
    return NULL;
}

static int check_decision(void *context, const SuiteDecision *decision) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    const View *view = decision->view;
    const Explanation *explanation = decision->explanation;
    RequestTime time = {.now_nsec = decision->now_nsec};
    NodeSet node_set = {.table = view->table, .facts = &view->facts};
    uint32_t *rows = ARENA_ARRAY(arena, uint32_t, explanation->n_nodes);
    JudgeInput input;
    Judge *judge;

    for (size_t i = 0; i < explanation->n_nodes; i++)
        rows[i] = explanation->nodes[i].row;
    assert_int_equal(view_adjust(view, &time, decision->pod, NULL, 0, arena, &node_set), 0);
    input =
        view_judge_input(view, &time, &node_set, decision->pod, rows, explanation->n_nodes, arena);
    assert_int_equal(judge_open(&input, &judge), 0);
    for (size_t i = 0; i < explanation->n_nodes; i++) {
        const NodeExplanation *node = &explanation->nodes[i];

        assert_ptr_equal(node->verdict, first_rejecting(judge, view->program, rows[i], arena));
        for (size_t k = 0; k < node->n_failed; k++)
            assert_true(!node->failed[k].filter->kind || node->failed[k].detail.len > 0);
    }
    ++*(size_t *)context;
    return 0;
}

static void test_presets(void **state) {
    static const char *const folder[] = {TEST_DATA "/../../policies/tests"};
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    _cleanup_(zones_freep) Zones *zones = zones_new();
    char error[SUITE_FILES_ERROR_MAX];
    SuiteFiles files;
    size_t n_decisions = 0;

    (void)state;
    assert_int_equal(suite_files_find(folder, 1, arena, &files, error), 0);
    for (size_t i = 0; i < files.paths.n; i++) {
        DiagList diags = DIAG_LIST_IN(arena);
        Suite suite;

        assert_int_equal(suite_run(files.paths.items[i], zones, check_decision, &n_decisions, arena,
                             &diags, &suite),
            0);
        assert_int_equal(suite.n_failed, 0);
    }
    assert_true(n_decisions > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_presets)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
