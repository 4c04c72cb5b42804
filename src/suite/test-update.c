#include "suite/test-fixture.h"

/* Checks @text after an update, and the number of replaced values. */
static void check(const char *text, const char *wanted, size_t n_wanted) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    Fixture fixture;
    size_t n;

    fixture_init(&fixture);
    fixture_run(&fixture, text);
    assert_int_equal(fixture.r, 0);
    assert_int_equal(suite_update(&fixture.suite, fixture.arena, &out, &n), 0);
    assert_text(text, buf_str(&out), wanted);
    assert_int_equal(n, n_wanted);
    fixture_done(&fixture);
}

#define HEAD SCENE "# stays\ncases:\n  - name: n\n    expect:\n"

static void test_values_are_replaced_in_place(void **state) {
    (void)state;
    check(HEAD "      nodes: {a: rejected, b: {rule: pool}, c: passes}   # stays, too\n",
        HEAD "      nodes: {a: passes, b: passes, c: passes}   # stays, too\n", 2);
    check(HEAD "      nodes:\n        d: passes\n        'e': {reason: \"no\", detail: x}  # é\n",
        HEAD
        "      nodes:\n        d: {rule: pool, reason: \"node is not in the pool\"}\n"
        "        'e': {rule: pool, reason: \"node is not in the pool\", detail: \"label pool is "
        "absent, must be \\\"x\\\"\"}  # é\n",
        2);
    check(HEAD "      scores: {a: 1.00, b: [1, 2], c: 40}\n",
        HEAD "      scores: {a: 10.00, b: [40, 40], c: 40}\n", 2);
    check(HEAD "      best: a\n      ranking: [a, b]\n",
        HEAD "      best: [b, c]\n      ranking: [b, a]\n", 2);
    check(HEAD
        "      best: d\n    policies:\n      " INLINE("p", "filters: [{name: r, maxPods: 0}]") "\n",
        HEAD "      best: []\n    policies:\n      " INLINE(
            "p", "filters: [{name: r, maxPods: 0}]") "\n",
        1);
}

static void test_right_values_stay(void **state) {
    (void)state;
    check("\xef\xbb\xbf" HEAD "      best: a\n", "\xef\xbb\xbf" HEAD "      best: [b, c]\n", 1);
    check(HEAD "      best: [c,   b]\r\n\n\n", HEAD "      best: [c,   b]\r\n\n\n", 0);
}

/* Values that cannot be replaced byte by byte are not updated. */
static void test_values_of_several_lines_stay(void **state) {
    (void)state;
    check(HEAD "      best: [a,\n        d]\n      nodes:\n        a:\n          rule: pool\n",
        HEAD "      best: [a,\n        d]\n      nodes:\n        a:\n          rule: pool\n", 0);
    check(HEAD "      nodes: {\"*\": passes}\n", HEAD "      nodes: {\"*\": passes}\n", 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_replaced_in_place),
        cmocka_unit_test(test_right_values_stay),
        cmocka_unit_test(test_values_of_several_lines_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
