/* Exempt pods: every verb, in both node modes. */

#include "base/test-assert.h"
#include "extender/verbs.h"
#include "policy/test-scene.h"

#define BUDGET ((size_t)64 * 1024 * 1024)

static const char text[] = "policies:\n"
                           "  none:\n"
                           "    filters: [{name: never, expression: 'false', unresolvable: true}]\n"
                           "    scores: [{name: full, expression: '100'}]\n"
                           "    onTimeout: reject\n"
                           "    bind: {annotations: {a: b}}\n"
                           "  trial:\n"
                           "    mode: Observe\n"
                           "    filters: [{name: never, expression: 'false'}]\n"
                           "nodes: {n1: {}, n2: {}}\n";

#define POD(namespace) "\"Pod\":{\"metadata\":{\"name\":\"p\",\"namespace\":\"" namespace "\"}}"
#define NAMES ",\"NodeNames\":[\"n1\",\"n2\",\"ghost\"]}"
#define NODES                                                                                      \
    ",\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"n1\"}},{\"metadata\":{\"name\":\"ghost\"}}]" \
    "}}"

typedef struct Fixture {
    TestScene scene;
    Exemption exemption;
    Exemptions exemptions;
    View *view;
} Fixture;

static int setup(void **state) {
    Fixture *fixture = test_calloc(1, sizeof(*fixture));

    scene_init_text(&fixture->scene, text);
    assert_true(exemption_parse(STR("free"), &fixture->exemption));
    fixture->exemptions = (Exemptions){.items = &fixture->exemption, .n = 1};
    assert_int_equal(view_new(&(ViewParts){.snapshot = fixture->scene.snapshot,
                                  .program = fixture->scene.program,
                                  .exemptions = &fixture->exemptions},
                         /* before= */ NULL, &fixture->view),
        0);
    *state = fixture;
    return 0;
}

static int teardown(void **state) {
    Fixture *fixture = *state;

    view_unref(fixture->view);
    scene_done(&fixture->scene);
    test_free(fixture);
    return 0;
}

static bool is_over(void *context) {
    (void)context;
    return true;
}

static void check_filter(const Fixture *fixture, const char *body, size_t n_passing, bool is_late) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    const RequestTime late = {.is_over = is_over};
    Answer answer;

    extender_filter(fixture->view, is_late ? &late : NULL, str_from_c(body), arena, &answer);
    assert_int_equal(answer.status, 200);
    assert_case(body, str_is_empty(answer.decision.error));
    assert_case(body, answer.decision.summary.n_out == n_passing);
    assert_case(body, answer.decision.notes.is_exempt == (n_passing > 0));
    if (n_passing == 0)
        return;
    assert_false(answer.decision.applied[0] || answer.decision.applied[1]);
    assert_null(answer.decision.observed);
}

static void test_filter_passes_exempt_pods(void **state) {
    const Fixture *fixture = *state;

    check_filter(fixture, "{" POD("free") NAMES, 3, false);
    check_filter(fixture, "{" POD("free") NODES, 2, false);
    check_filter(fixture, "{" POD("free") NAMES, 3, true);
    check_filter(fixture, "{" POD("bound") NAMES, 0, false);
    check_filter(fixture, "{" POD("bound") NODES, 0, false);
    check_filter(fixture, "{" POD("bound") NAMES, 0, true);
}

static void test_filter_passes_exempt_pods_before_the_cluster_is_listed(void **state) {
    Fixture *fixture = *state;
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    _cleanup_(view_unrefp) View *view = NULL;
    Answer answer;

    assert_int_equal(view_new(&(ViewParts){.program = fixture->scene.program,
                                  .exemptions = &fixture->exemptions},
                         /* before= */ NULL, &view),
        0);
    view->awaits_cluster = true;
    extender_filter(view, NULL, STR("{" POD("free") NAMES), arena, &answer);
    assert_true(str_is_empty(answer.decision.error));
    assert_int_equal(answer.decision.summary.n_out, 3);
    extender_filter(view, NULL, STR("{" POD("bound") NAMES), arena, &answer);
    assert_false(str_is_empty(answer.decision.error));
}

static void test_prioritize_sends_no_scores_for_exempt_pods(void **state) {
    const Fixture *fixture = *state;
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    Answer answer;

    extender_prioritize(fixture->view, NULL, STR("{" POD("free") NAMES), arena, &answer);
    assert_int_equal(answer.decision.summary.n_out, 0);
    assert_true(answer.decision.notes.is_exempt);
    extender_prioritize(fixture->view, NULL, STR("{" POD("bound") NAMES), arena, &answer);
    assert_int_equal(answer.decision.summary.n_out, 2);
}

static void test_preempt_keeps_nodes_for_exempt_pods(void **state) {
#define VICTIMS ",\"NodeNameToMetaVictims\":{\"n1\":{\"Pods\":[{\"UID\":\"u\"}]}}}"
    const Fixture *fixture = *state;
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    Answer answer;

    extender_preempt(fixture->view, NULL, STR("{" POD("free") VICTIMS), arena, &answer);
    assert_int_equal(answer.decision.summary.n_out, 1);
    assert_true(answer.decision.notes.is_exempt);
    extender_preempt(fixture->view, NULL, STR("{" POD("bound") VICTIMS), arena, &answer);
    assert_int_equal(answer.decision.summary.n_out, 0);
}

static void test_exempt_pods_may_be_bound_anywhere(void **state) {
    static const struct {
        const char *namespace, *node;
        bool may;
    } cases[] = {
        {"free", "n1", true},
        {"free", "ghost", true},
        {"bound", "n1", false},
        {"bound", "ghost", false},
    };
    const Fixture *fixture = *state;
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const Pod pod = {.namespace = str_from_c(cases[i].namespace), .uid = STR("u")};
        BindVerdict verdict;
        bool may = extender_may_bind(
            fixture->view, NULL, &pod, str_from_c(cases[i].node), arena, &verdict);

        assert_case(cases[i].namespace, may == cases[i].may);
        assert_case(cases[i].namespace, !may || verdict.annotations.n == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_filter_passes_exempt_pods, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_filter_passes_exempt_pods_before_the_cluster_is_listed, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_prioritize_sends_no_scores_for_exempt_pods, setup, teardown),
        cmocka_unit_test_setup_teardown(test_preempt_keeps_nodes_for_exempt_pods, setup, teardown),
        cmocka_unit_test_setup_teardown(test_exempt_pods_may_be_bound_anywhere, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
