/* Mistakes of a policy by the paths of its fields. */

#include "input/policy-mistakes.h"

#include "base/test-assert.h"
#include "input/policies.h"

#define HEAD "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata:\n  name: a\n"

static void test_accepts_a_good_policy(void **state) {
    _cleanup_(buf_done) Buf mistakes = BUF_INIT(POLICY_MISTAKES_MAX);
    _cleanup_(program_unrefp) Program *program = NULL;

    (void)state;
    assert_int_equal(policy_check_alone(STR("a"),
                         STR(HEAD "spec:\n  filters:\n  - name: r\n    nodeReady: true\n"),
                         &program, &mistakes, NULL),
        0);
    assert_int_equal(program->n_filters, 1);
    assert_text("file", program->policies[0].place.file, "placementpolicy/a");
    assert_int_equal(mistakes.len, 0);
}

static void test_names_the_field_of_each_mistake(void **state) {
    _cleanup_(buf_done) Buf mistakes = BUF_INIT(POLICY_MISTAKES_MAX);
    Program *program = NULL;

    (void)state;
    assert_int_equal(policy_check_alone(STR("a"),
                         STR(HEAD "spec:\n  filters:\n  - name: r\n    nodeRedy: true\n"
                                  "  - name: s\n    expression: node.nme == ''\n"),
                         &program, &mistakes, NULL),
        POLICIES_E_INVALID);
    assert_text("mistakes", buf_str(&mistakes),
        "spec.filters[0].nodeRedy: unknown field \"nodeRedy\" in a filter; did you mean "
        "\"nodeReady\"?\nspec.filters[1].expression: undefined field 'nme' of Node; it has "
        "metadata, spec, status, ready, free, requested, allocatable, capacity, pods");
}

static void test_reports_warnings_of_a_good_policy(void **state) {
    _cleanup_(buf_done) Buf mistakes = BUF_INIT(POLICY_MISTAKES_MAX);
    _cleanup_(buf_done) Buf warnings = BUF_INIT(POLICY_WARNINGS_MAX);
    _cleanup_(program_unrefp) Program *program = NULL;

    (void)state;
    assert_int_equal(policy_check_alone(STR("a"),
                         STR(HEAD "spec:\n  params: {p: 1}\n  filters:\n  - name: r\n    "
                                  "nodeReady: true\n"),
                         &program, &mistakes, &warnings),
        0);
    assert_int_equal(mistakes.len, 0);
    assert_text(
        "warnings", buf_str(&warnings), "spec.params.p: no expression uses the parameter \"p\"");
}

static void test_counts_what_is_left_out(void **state) {
    _cleanup_(buf_done) Buf mistakes = BUF_INIT(POLICY_MISTAKES_MAX), text = BUF_INIT(1 << 20);
    Program *program = NULL;

    (void)state;
    buf_append(&text, STR(HEAD "spec:\n  filters:\n"));
    for (int i = 0; i < 150; i++)
        buf_printf(&text, "  - name: r%d\n    expression: node.nothing == \"%0100d\"\n", i, i);
    assert_int_equal(policy_check_alone(STR("a"), buf_str(&text), &program, &mistakes, NULL),
        POLICIES_E_INVALID);
    assert_true(mistakes.len < POLICY_MISTAKES_MAX);
    assert_non_null(memmem(mistakes.data, mistakes.len, "\nand ", 5));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts_a_good_policy),
        cmocka_unit_test(test_names_the_field_of_each_mistake),
        cmocka_unit_test(test_reports_warnings_of_a_good_policy),
        cmocka_unit_test(test_counts_what_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
