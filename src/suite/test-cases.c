/*
 * The project's own test files: of single rules (test/data/policy) and of the presets
 * (policies/tests). Each case passes, and the scalar machine, which evaluates rules one by one,
 * gives the same verdicts and scores. Rejections by built-in rules have a detail.
 */

#include <string.h>

#include "base/test-assert.h"
#include "suite/suite-files.h"
#include "suite/suite.h"

#define BUDGET ((size_t)1 << 30)
#define TEXT_MAX ((size_t)1 << 20)

/* A decision, judged once more. */
typedef struct Rejudged {
    const SuiteDecision *decision;
    const char *name;
    Arena *arena;
    RequestTime time;
    NodeSet node_set;
    uint32_t *rows; /* of the explained nodes */
    Judge *judge;
} Rejudged;

static void rejudge(const SuiteDecision *decision, Arena *arena, Rejudged *ret) {
    const View *view = decision->view;
    const Explanation *explanation = decision->explanation;
    JudgeInput input;

    *ret = (Rejudged){
        .decision = decision,
        .name = arena_copy(arena, decision->test->name).ptr,
        .arena = arena,
        .time = {.now_nsec = decision->now_nsec},
        .node_set = {.table = view->table, .facts = &view->facts},
        .rows = ARENA_ARRAY(arena, uint32_t, explanation->n_nodes),
    };
    for (size_t i = 0; i < explanation->n_nodes; i++)
        ret->rows[i] = explanation->nodes[i].row;
    assert_int_equal(
        view_adjust(view, &ret->time, decision->pod, NULL, 0, arena, &ret->node_set), 0);
    input = view_judge_input(
        view, &ret->time, &ret->node_set, decision->pod, ret->rows, explanation->n_nodes, arena);
    assert_int_equal(judge_open(&input, &ret->judge), 0);
}

/* --- the scalar machine ---------------------------------------------------------------------- */

static bool passes(const Rejudged *again, const Filter *filter, uint32_t row) {
    CelValue value = judge_value(again->judge, &filter->test, row, again->arena);
    Fallback otherwise = filter->on_error;

    if (value.kind == CEL_ERROR && expression_is_given(&filter->missing) &&
        cel_is_true(judge_value(again->judge, &filter->missing, row, again->arena)))
        otherwise = filter->on_missing;
    return cel_is_true(value) || (value.kind == CEL_ERROR && otherwise == FALLBACK_ALLOW);
}

/* The verdict is the first filter, by number, that rejects; NULL: none does. */
static const Filter *first_rejecting(const Rejudged *again, uint32_t row, bool is_observed) {
    const Program *program = again->decision->view->program;

    for (size_t i = 0; i < program->n_filters; i++) {
        const Filter *filter = program->filters[i];

        if (filter->policy->is_observed == is_observed &&
            judge_applies(again->judge, filter->policy) && !passes(again, filter, row))
            return filter;
    }
    return NULL;
}

/* The first rejecting filter, by the explanation. */
static const Filter *first_failed(const NodeExplanation *node, bool is_observed) {
    const Filter *first = NULL;

    for (size_t i = 0; i < node->n_failed; i++) {
        const Filter *filter = node->failed[i].filter;

        if (filter->policy->is_observed == is_observed &&
            (!first || filter->number < first->number))
            first = filter;
    }
    return first;
}

static void check_verdict(const Rejudged *again, const NodeExplanation *node) {
    assert_case(again->name, node->verdict == first_rejecting(again, node->row, false));
    assert_case(again->name, node->verdict == first_failed(node, false));
    assert_case(again->name, first_failed(node, true) == first_rejecting(again, node->row, true));
    for (size_t i = 0; i < node->n_failed; i++)
        assert_case(again->name, !node->failed[i].filter->kind || node->failed[i].detail.len > 0);
}

static double number_of(CelValue value) {
    return value.kind == CEL_INT    ? (double)value.i
           : value.kind == CEL_UINT ? (double)value.u
                                    : value.d;
}

static void check_scores(const Rejudged *again, const NodeExplanation *node) {
    const Explanation *explanation = again->decision->explanation;

    assert_case(again->name, node->score >= 0 && node->score <= 100 + 1e-9);
    for (size_t i = 0; node->is_scored && i < explanation->n_scores; i++) {
        const ScorePart *part = &node->parts[i];
        CelValue value =
            judge_value(again->judge, &explanation->scores[i]->value, node->row, again->arena);

        assert_case(again->name, cel_is_number(value) == (!part->is_error && !part->is_missing));
        assert_case(again->name, !cel_is_number(value) || number_of(value) == part->raw);
    }
}

/* --- the main reason, for which test files have no field -------------------------------------- */

typedef struct WantedReason {
    const char *name;   /* of a case of main-reason.test.yaml */
    const char *wanted; /* its rule and nodes, and those that can never become eligible */
} WantedReason;

static const WantedReason main_reasons[] = {
    {"nodes of another pool are counted apart, however many they are", "devices 2, never pool 3"},
    {"a resource that a node does not offer is as permanent as a label",
        "devices 1, never nvidia.com/gpu 2"},
    {"a rule that reads labels is permanent, also as a later rule and as an expression",
        "devices 1, never arch 2"},
    {"of nodes that could become eligible, those that fail the fewest rules are closest", "few 1"},
    {"if no node can become eligible, the closest are found among all nodes",
        "taints 1, never pool 2"},
    {"a node that is not ready can become eligible", "ready 1, never pool 1"},
    {"a later rule rejects all nodes permanently, so all of them count", "arch 1, never arch 2"},
};

static void check_main_reason(const Rejudged *again, const char *wanted) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
    const View *view = again->decision->view;
    const Filter **filters = view->program->filters;
    MainReason main;

    assert_int_equal(
        extender_main_reason(view, &again->time, &again->node_set, again->decision->pod,
            again->rows, again->decision->explanation->n_nodes, again->arena, &main),
        0);
    buf_printf(&text, "%.*s %u", STR_FMT(filters[main.filter]->name), main.n_nodes);
    if (main.n_never > 0)
        buf_printf(&text, ", never %.*s %u",
            STR_FMT(str_is_empty(main.never_resource) ? filters[main.never_filter]->name
                                                      : main.never_resource),
            main.n_never);
    assert_text(again->name, buf_str(&text), wanted);
}

/* --- all files -------------------------------------------------------------------------------- */

typedef struct Counts {
    size_t n_cases, n_main_reasons;
} Counts;

static int check_decision(void *context, const SuiteDecision *decision) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    const Explanation *explanation = decision->explanation;
    Counts *counts = context;
    Rejudged again;

    rejudge(decision, arena, &again);
    for (size_t i = 0; i < explanation->n_nodes; i++) {
        check_verdict(&again, &explanation->nodes[i]);
        check_scores(&again, &explanation->nodes[i]);
    }
    for (size_t i = 0; i < ELEMENTS_OF(main_reasons); i++) {
        if (strcmp(again.name, main_reasons[i].name) != 0)
            continue;
        check_main_reason(&again, main_reasons[i].wanted);
        counts->n_main_reasons++;
    }
    counts->n_cases++;
    return 0;
}

static void check_file(const char *path, const Zones *zones, Counts *counts) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
    DiagList diags = DIAG_LIST_IN(arena);
    Suite suite;
    int r = suite_run(path, zones, check_decision, counts, arena, &diags, &suite);

    if (diags.n_errors > 0)
        diag_list_print(&diags, /* colour= */ false, &text);
    for (size_t i = 0; i < suite.n_cases; i++)
        for (size_t k = 0; k < suite.cases[i].failures.n; k++)
            suite_failure_print(&suite, &suite.cases[i].failures.items[k], false, &text);
    assert_text(path, buf_str(&text), "");
    assert_int_equal(r, 0);
}

static Counts check_folder(const char *folder) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    _cleanup_(zones_freep) Zones *zones = zones_new();
    char error[SUITE_FILES_ERROR_MAX];
    SuiteFiles files;
    Counts counts = {0};

    assert_int_equal(suite_files_find(&folder, 1, arena, &files, error), 0);
    for (size_t i = 0; i < files.paths.n; i++)
        check_file(files.paths.items[i], zones, &counts);
    print_message("%zu cases\n", counts.n_cases);
    return counts;
}

static void test_rules_agree_with_the_scalar_machine(void **state) {
    Counts counts = check_folder(TEST_DATA "/policy");

    (void)state;
    assert_true(counts.n_cases > 200);
    assert_int_equal(counts.n_main_reasons, ELEMENTS_OF(main_reasons));
}

static void test_presets_agree_with_the_scalar_machine(void **state) {
    (void)state;
    assert_true(check_folder(TEST_DATA "/../../policies/tests").n_cases > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules_agree_with_the_scalar_machine),
        cmocka_unit_test(test_presets_agree_with_the_scalar_machine)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
