/* PolicyDiff: which parts of policies differ, whatever their style. */

#include "input/policy-diff.h"

#include "base/buf.h"
#include "base/test-assert.h"

#define POLICY(name, spec)                                                                         \
    "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: " name                \
    "}\nspec: " spec "\n"
#define READY "{name: ready, nodeReady: true}"

static void assert_diff(const char *before, const char *after, const char *expected) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 24);
    _cleanup_(buf_done) Buf text = BUF_INIT(1 << 16);
    PolicySource old = {.file = STR("old.yaml"), .text = str_from_c(before)};
    PolicySource new = {.file = STR("new.yaml"), .text = str_from_c(after)};
    PolicyDiff diff;

    assert_int_equal(policy_diff(&old, 1, &new, 1, arena, &diff), 0);
    for (size_t i = 0; i < diff.n; i++) {
        buf_printf(&text, "%s%s %.*s", i > 0 ? "; " : "", policy_change_name(diff.items[i].kind),
            STR_FMT(diff.items[i].name));
        for (size_t j = 0; j < diff.items[i].n_parts; j++)
            buf_printf(&text, ", %s %.*s", policy_change_name(diff.items[i].parts[j].kind),
                STR_FMT(diff.items[i].parts[j].path));
    }
    buf_printf(&text, "; equal %zu", diff.n_equal);
    assert_text("difference", buf_str(&text), expected);
}

static void test_style_does_not_matter(void **state) {
    assert_diff(POLICY("a", "{mode: Observe, filters: [" READY "], params: {x: '1'}}"),
        POLICY("a", "\n  # a comment\n  params:\n    x: 1\n  filters:\n  - nodeReady: true\n"
                    "    name: ready\n  mode: \"Observe\""),
        "; equal 1");
}

static void test_lists_policies_by_name(void **state) {
    assert_diff(POLICY("c", "{filters: [" READY "]}") "---\n" POLICY("a", "{mode: Observe}"),
        POLICY("b", "{}") "---\n" POLICY("c", "{filters: [" READY "]}"),
        "removed a; added b; equal 1");
}

static void test_names_rules_and_fields(void **state) {
    assert_diff(POLICY("a", "{mode: Observe, match: {namespaces: [x]}, filters: [" READY
                            ", {name: old, nodeReady: true}, {name: x, maxPods: {limit: 1}}]}"),
        POLICY("a", "{params: {p: 1}, match: {namespaces: [y]}, filters: [" READY
                    ", {name: x, maxPods: {limit: 2}}, {name: new, nodeReady: true}]}"),
        "changed a, removed filters/old, changed filters/x, added filters/new, changed match, "
        "removed mode, added params; equal 0");
}

static void test_order_of_rules_is_a_change(void **state) {
    assert_diff(POLICY("a", "{filters: [" READY ", {name: x, nodeReady: true}]}"),
        POLICY("a", "{filters: [{name: x, nodeReady: true}, " READY "]}"),
        "changed a, changed filters; equal 0");
}

/* Policies that are not in the new files stay, as after `kubectl apply`. */
static void test_keeps_others(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 24);
    PolicySource old = {.file = STR("old.yaml"),
        .text = STR(POLICY("a", "{mode: Observe}") "---\n" POLICY("b", "{mode: Observe}"))};
    PolicySource new = {.file = STR("new.yaml"), .text = STR(POLICY("a", "{mode: Enforce}"))};
    const PolicySource *sources;
    size_t n;

    assert_int_equal(policy_diff_keep_others(&old, 1, &new, 1, arena, &sources, &n), 0);
    assert_int_equal(n, 2);
    assert_true(str_eq(sources[0].text, new.text));
    assert_text("kept", sources[1].text,
        "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata:\n  name: b\n"
        "spec:\n  mode: Observe\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_style_does_not_matter),
        cmocka_unit_test(test_lists_policies_by_name),
        cmocka_unit_test(test_names_rules_and_fields),
        cmocka_unit_test(test_order_of_rules_is_a_change),
        cmocka_unit_test(test_keeps_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
